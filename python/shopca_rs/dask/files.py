"""A .npy file on disk as a dask array whose tasks read their own rows."""

from __future__ import annotations

import os
from typing import Any

import dask.array as da
import numpy as np
from dask.delayed import delayed
from numpy.typing import NDArray

from ..arguments import as_count, as_path

_CHUNK_BYTES = 32 << 20


def from_npy(path: str | os.PathLike[str], rows_per_chunk: int | None = None) -> da.Array:
    """Open a .npy file as a dask array.

    Every task opens the file and reads its own rows, in other processes too. A memory-mapped array given to
    dask itself would be sent to them as a whole.

    Parameters
    ----------
    path : str or path-like
        A file that every worker sees under this name, with a 2-D array of numbers.
    rows_per_chunk : int, optional
        Rows of each chunk; about 32 MB of them if None.

    Returns
    -------
    dask array of shape (n, d)
        In the file's own dtype.

    Raises
    ------
    ValueError
        If the file is not a .npy file, or its array is empty, not 2-D or not of numbers.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "points.npy"
    ...     np.save(path, np.zeros((1000, 3), dtype=np.float32))
    ...     X = from_npy(path, rows_per_chunk=400)
    ...     print(X.chunks, X.dtype)
    ((400, 400, 200), (3,)) float32
    """
    path = os.path.abspath(as_path(path))
    size = None if rows_per_chunk is None else as_count(rows_per_chunk, "rows_per_chunk", 1)
    try:
        rows = np.load(path, mmap_mode="r", allow_pickle=False)
    except ValueError as error:
        raise ValueError(f"{path} must be a .npy file with an array of numbers: {error}.") from None
    if not isinstance(rows, np.ndarray) or rows.ndim != 2:
        raise ValueError(
            f"{path} must hold a 2-D array with points as rows, got {getattr(rows, 'shape', 'an archive')}."
        )
    count, dim = rows.shape
    if rows.size == 0 or rows.dtype.kind not in "fiub":
        raise ValueError(
            f"{path} must hold real numbers, at least one, got dtype {rows.dtype} of shape {rows.shape}."
        )
    size = size or max(_CHUNK_BYTES // (rows.itemsize * dim), 1)
    read = delayed(_read, pure=True)
    blocks = [
        da.from_delayed(
            read(path, start, min(start + size, count)), (min(size, count - start), dim), rows.dtype
        )
        for start in range(0, count, size)
    ]
    return da.concatenate(blocks, axis=0)


def _read(path: str, start: int, stop: int) -> NDArray[Any]:
    rows: NDArray[Any] = np.array(np.load(path, mmap_mode="r", allow_pickle=False)[start:stop])
    return rows
