"""The k nearest so far of each query, with coordinates: found chunk by chunk, merged in any order.

What one chunk of rows has for a block of queries is independent of every other chunk. Merging keeps the k
smallest (squared distance, row number), which is associative and commutative, so the neighbours in the end
are those of a search over all rows at once, to the bit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..operators import Algorithm

Matrix = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Candidates:
    """For each query up to k rows, nearest first.

    Attributes
    ----------
    squared : ndarray of shape (q, c)
        Squared distances.
    rows : ndarray of int, shape (q, c)
        Row numbers in the whole.
    points : ndarray of shape (q, c, d)
        Their coordinates.
    """

    squared: Matrix
    rows: NDArray[np.int64]
    points: Matrix


def find(
    queries: Matrix,
    query_rows: NDArray[np.int64],
    chunk: NDArray[Any],
    first: int,
    k: int,
    algorithm: Algorithm,
) -> Candidates:
    """Return the k nearest rows of one chunk to each query, the query's own row left out.

    Parameters
    ----------
    queries : ndarray of shape (q, d)
        Points.
    query_rows : ndarray of int, shape (q,)
        Their row numbers in the whole.
    chunk : ndarray of shape (n, d)
        Rows first … first + n − 1 of the whole.
    first : int
        Number of its first row.
    k : int
        How many are wanted; as many as the chunk has if it has fewer.
    algorithm : str
        How to search.

    Returns
    -------
    Candidates
        For each query up to k rows that are not its own, in the order of search.
    """
    points = np.ascontiguousarray(chunk, dtype=np.float64)
    # One more than needed: the query itself may be among the rows.
    wanted = min(k + 1, len(points))
    local, squared = _core.k_neighbors(
        x=points, k=wanted, queries=queries, points=None, algorithm=algorithm, n_jobs=1, progress=None
    )
    rows = local + first
    # A row is not its own neighbour: at an infinite distance it is the first to go.
    squared[rows == query_rows[:, None]] = np.inf
    return Candidates(squared, rows, points[local])


def merge(one: Candidates, other: Candidates, k: int) -> Candidates:
    """Return the k nearest of two disjoint sets of candidates.

    Parameters
    ----------
    one, other : Candidates
        Of the same queries, from different rows.
    k : int
        How many to keep.

    Returns
    -------
    Candidates
        The nearest, ties by the smaller row number.
    """
    squared = np.concatenate([one.squared, other.squared], axis=1)
    rows = np.concatenate([one.rows, other.rows], axis=1)
    order = np.lexsort((rows, squared), axis=1)[:, :k]
    points = np.empty((*order.shape, one.points.shape[2]))
    width = one.rows.shape[1]
    for source, taken, shift in ((one, order < width, 0), (other, order >= width, width)):
        query, place = np.nonzero(taken)
        points[query, place] = source.points[query, order[query, place] - shift]
    return Candidates(
        np.take_along_axis(squared, order, axis=1), np.take_along_axis(rows, order, axis=1), points
    )


def none(count: int, dim: int) -> Candidates:
    """Return the candidates of queries that have seen no rows yet.

    Parameters
    ----------
    count : int
        Number of queries.
    dim : int
        Number of columns.

    Returns
    -------
    Candidates
        None for each.
    """
    return Candidates(np.empty((count, 0)), np.empty((count, 0), dtype=np.int64), np.empty((count, 0, dim)))
