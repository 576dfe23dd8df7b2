"""A dask collection → its blocks of rows, each with its position in the whole."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from typing import Any

import dask.array as da
import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data  # type: ignore[import-untyped]

from . import inlined_graph
from .inlined_graph import Part


@dataclass(frozen=True)
class Chunks:
    """Blocks of rows that together are one table.

    Attributes
    ----------
    parts : list of Part
        The blocks, checked when they are made.
    sizes : tuple of int
        Rows of each.
    dim : int
        Columns.
    """

    parts: list[Part]
    sizes: tuple[int, ...]
    dim: int

    @property
    def rows(self) -> int:
        """Rows of all blocks together."""
        return sum(self.sizes)

    @property
    def firsts(self) -> list[int]:
        """Number of the first row of each block."""
        return [0, *accumulate(self.sizes)][:-1]


def as_chunks(X: Any, name: str = "X") -> Chunks:
    """Return the blocks of rows of a dask collection.

    Parameters
    ----------
    X : dask array of shape (n, d) or dask dataframe
        Unknown chunk sizes are computed once; chunks over columns are joined.
    name : str, default="X"
        Its name in error messages.

    Returns
    -------
    Chunks
        Its blocks.

    Raises
    ------
    TypeError
        If it is not a dask collection, or not of numbers.
    ValueError
        If it is not 2-D or a block is empty.
    """
    array = as_array(X, name)
    if array.shape[1] == 0:
        raise ValueError(f"{name} must have at least one row and one column, got shape {array.shape}.")
    sizes = tuple(int(size) for size in array.chunks[0])
    for number, size in enumerate(sizes):
        if size == 0:
            raise ValueError(
                f"Every chunk of {name} must have rows, chunk {number} has none. Drop empty partitions, for "
                f"example with {name}.repartition or {name}.rechunk."
            )
    dim = int(array.shape[1])
    blocks = array.to_delayed().ravel()
    bytes_each = [size * dim * array.dtype.itemsize for size in sizes]
    firsts = [0, *accumulate(sizes)]
    parts = [
        part.then(partial(checked, number=number, first=first, size=size, dim=dim, name=name))
        for number, (part, first, size) in enumerate(
            zip(inlined_graph.parts(blocks, bytes_each), firsts, sizes, strict=False)
        )
    ]
    return Chunks(parts, sizes, dim)


def as_array(X: Any, name: str = "X") -> da.Array:
    """Return a dask collection as a 2-D dask array with known chunks of whole rows.

    Parameters
    ----------
    X : dask array or dask dataframe
        The collection.
    name : str, default="X"
        Its name in error messages.

    Returns
    -------
    dask array of shape (n, d)
        With one chunk over the columns.
    """
    if hasattr(X, "to_dask_array"):
        X = X.to_dask_array(lengths=True)
    if not isinstance(X, da.Array):
        raise TypeError(
            f"{name} must be a dask array or a dask dataframe, got {type(X).__name__}. Use shopca_rs itself "
            "for data in memory, or dask.array.from_array."
        )
    if X.ndim != 2:
        raise ValueError(f"{name} must be 2-D with points as rows, got {X.ndim}-D of shape {X.shape}.")
    if X.dtype.kind not in "fiub":
        raise TypeError(
            f"{name} must hold real numbers, got dtype {X.dtype}. Encode or drop such columns first."
        )
    if any(math.isnan(size) for sizes in X.chunks for size in sizes):
        X = X.compute_chunk_sizes()
    return X if len(X.chunks[1]) == 1 else X.rechunk({1: -1})


def check_columns(estimator: Any, X: Any, dim: int, *, reset: bool) -> None:
    """Remember the number and the names of the columns (`reset`), or check them, as scikit-learn does.

    Parameters
    ----------
    estimator : SHOPCA or LPP
        Where they are stored.
    X : dask array or dask dataframe
        The collection; a dataframe has names.
    dim : int
        Its number of columns.
    reset : bool
        Whether this is a fit.
    """
    stand_in: Any = np.empty((0, dim))
    if hasattr(X, "columns"):
        import pandas as pd  # type: ignore[import-untyped]

        stand_in = pd.DataFrame(columns=list(X.columns))
    validate_data(estimator, stand_in, reset=reset, skip_check_array=True)


def checked(block: Any, number: int, first: int, size: int, dim: int, name: str) -> NDArray[Any]:
    """Return a block after checking that it has the announced shape and finite numbers.

    Parameters
    ----------
    block : array-like
        What a task made.
    number, first : int
        The number of the block, and of its first row.
    size, dim : int
        Rows and columns it must have.
    name : str
        The name of the whole in error messages.

    Returns
    -------
    ndarray of shape (size, dim)
        The block.
    """
    rows: NDArray[Any] = np.asarray(block)
    where = f"chunk {number} of {name} (from row {first})"
    if rows.ndim != 2 or rows.shape[1] != dim:
        raise ValueError(
            f"All chunks of {name} must have {dim} columns, {where} has shape {rows.shape}. Make the "
            "columns of all partitions the same."
        )
    if len(rows) != size:
        raise ValueError(
            f"{where} must have {size} rows as announced, got {len(rows)}. Use {name}.compute_chunk_sizes()."
        )
    if rows.dtype.kind == "f" and not np.isfinite(rows).all():
        row, column = np.argwhere(~np.isfinite(rows))[0]
        raise ValueError(
            f"{name} must hold finite numbers only, got {rows[row, column]} in {where}, row {first + row}, "
            f"column {column}. Fill or drop such rows first."
        )
    return rows
