"""Weights of the rows of a dask collection: rows of weight 0 are dropped, the others get a column."""

from __future__ import annotations

from functools import partial
from typing import Any

import dask
import numpy as np
from dask.delayed import delayed
from numpy.typing import NDArray

from ..arguments import as_weights
from .chunks import Chunks

Vector = NDArray[np.float64]


def as_weighted_chunks(chunks: Chunks, sample_weight: Any) -> tuple[Chunks, Vector | None]:
    """Return the rows that have a weight above 0, and their weights; None if these are all the same.

    Parameters
    ----------
    chunks : Chunks
        The rows.
    sample_weight : array-like or dask array of shape (n,), or None
        A non-negative number for each of them, computed here.

    Returns
    -------
    chunks : Chunks
        Those with a weight above 0. Blocks without any are left out.
    weights : ndarray or None
        Their weights, the largest 1.
    """
    weights = as_weights(dask.compute(sample_weight)[0], chunks.rows)
    if weights is None:
        return chunks, None
    kept = weights > 0
    if not kept.all():
        mask = delayed(kept, pure=True)
        ends = np.cumsum(chunks.sizes)
        sizes = [int(part.sum()) for part in np.split(kept, ends[:-1])]
        parts = [
            part.then(partial(_kept, first=first), mask)
            for part, first, size in zip(chunks.parts, chunks.firsts, sizes, strict=True)
            if size
        ]
        chunks, weights = Chunks(parts, tuple(size for size in sizes if size), chunks.dim), weights[kept]
    return chunks, None if (weights == 1).all() else weights


def with_weights(chunks: Chunks, weights: Vector | None) -> Chunks:
    """Return the rows with their weights as a last column that `dim` does not count.

    Parameters
    ----------
    chunks : Chunks
        The rows.
    weights : ndarray of shape (n,) or None
        Their weights.

    Returns
    -------
    Chunks
        In double precision; the rows as they are if there are no weights.
    """
    return chunks if weights is None else with_columns(chunks, delayed(weights, pure=True))


def with_columns(chunks: Chunks, table: Any) -> Chunks:
    """Return the rows with more columns.

    Parameters
    ----------
    chunks : Chunks
        The rows.
    table : Delayed
        An ndarray with a row for each of them: the columns to add.

    Returns
    -------
    Chunks
        In double precision. `dim` is that of the rows without these columns.
    """
    parts = [
        part.then(partial(_with_columns, first=first), table)
        for part, first in zip(chunks.parts, chunks.firsts, strict=True)
    ]
    return Chunks(parts, chunks.sizes, chunks.dim)


# These run on the workers.


def _kept(chunk: NDArray[Any], mask: NDArray[np.bool_], first: int) -> NDArray[Any]:
    return chunk[mask[first : first + len(chunk)]]


def _with_columns(chunk: NDArray[Any], table: NDArray[np.float64], first: int) -> NDArray[np.float64]:
    return np.column_stack([np.asarray(chunk, dtype=np.float64), table[first : first + len(chunk)]])
