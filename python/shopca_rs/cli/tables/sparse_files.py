"""SciPy's sparse .npz and Matrix Market → a sparse table, which stays sparse."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .columns import check_label, listed, no_column
from .memory import check_fits

_MATRIX_MARKET = (".mtx", ".mtx.gz", ".mtx.bz2")
# What scipy.sparse.save_npz writes.
_MEMBERS = {"format.npy", "shape.npy", "data.npy"}
# Bytes in memory for each byte of text in a Matrix Market file, at most.
_GROWTH = 4


def is_sparse_file(path: Path) -> bool:
    """Tell whether a file holds a sparse table, by its extension and the names of its arrays.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    bool
        Whether it does; False if it cannot be opened.
    """
    if path.name.lower().endswith(_MATRIX_MARKET):
        return True
    # Opening a pipe would block and consume it.
    if path.suffix.lower() != ".npz" or not path.is_file():
        return False
    try:
        with zipfile.ZipFile(path) as archive:
            return set(archive.namelist()) >= _MEMBERS
    except Exception:
        # zipfile raises errors of many kinds for damaged archives; the reader of dense arrays explains them.
        return False


def read_sparse(
    path: Path, label: str | None = None, drop: Sequence[str] = ()
) -> tuple[Any, list[str], Any, list[str]]:
    """Read a sparse table.

    Parameters
    ----------
    path : Path
        Matrix Market (.mtx, also .gz or .bz2), or what ``scipy.sparse.save_npz`` wrote.
    label : str, optional
        The column of labels: column0, column1, …
    drop : sequence of str, default=()
        Columns to leave out.

    Returns
    -------
    X : csr_matrix of shape (n, d)
        The columns that are not constant.
    names : list of str
        Their names.
    labels : ndarray of shape (n,) or None
        The column of labels.
    notes : list of str
        What was dropped.

    Raises
    ------
    OSError, ValueError
        With one sentence that says what to do.
    """
    from sklearn.utils.sparsefuncs import min_max_axis  # type: ignore[import-untyped]

    from ...sparse_tables import as_sparse

    try:
        X = as_sparse(_load(path), str(path))
    except TypeError as error:
        raise ValueError(str(error)) from None
    names = [f"column{j}" for j in range(X.shape[1])]
    check_label(label, names, str(path))
    for name in drop:
        if name not in names:
            raise ValueError(no_column(name, names, str(path)))
    labels = None if label is None else X[:, [names.index(label)]].toarray().ravel()
    low, high = min_max_axis(X, axis=0)
    constant = [name for name, a, b in zip(names, low, high, strict=True) if a == b]
    out = {*drop, *constant, *([] if label is None else [label])}
    kept = [j for j, name in enumerate(names) if name not in out]
    if not kept:
        raise ValueError(
            f"{path} must have at least one column of numbers that are not all the same, got none."
        )
    notes = []
    if constant:
        plural = "" if len(constant) == 1 else "s"
        notes.append(f"Dropped {len(constant)} column{plural} of one value only: {listed(constant)}.")
    return X[:, kept] if len(kept) < len(names) else X, [names[j] for j in kept], labels, notes


def _load(path: Path) -> Any:
    from scipy import io, sparse  # type: ignore[import-untyped]

    check_fits(path.stat().st_size * _GROWTH, str(path))
    try:
        if path.suffix.lower() == ".npz":
            return sparse.load_npz(path)
        table = io.mmread(path)
    except (MemoryError, OSError):
        raise
    except Exception as error:
        reason = " ".join(str(error).split()).rstrip(".") or type(error).__name__
        raise ValueError(f"{path} is broken or not what its extension says: {reason}.") from None
    return table if sparse.issparse(table) else sparse.csr_matrix(table)
