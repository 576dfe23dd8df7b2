"""The k nearest so far of each query, with coordinates: chunk after chunk, in any order.

Only the k smallest (squared distance, row number) are kept. That rule is associative and commutative, so the
neighbours in the end are those of a search over all rows at once, to the bit. A chunk is only asked for rows
that are no farther than the last of a full list.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..operators import Algorithm

Matrix = NDArray[np.float64]

# Columns of a box that are looked at together.
_COLUMNS = 32


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

    def __sizeof__(self) -> int:
        return self.squared.nbytes + self.rows.nbytes + self.points.nbytes


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


def extended(
    before: Candidates,
    queries: Matrix,
    query_rows: NDArray[np.int64],
    chunk: NDArray[Any],
    first: int,
    k: int,
    algorithm: Algorithm,
) -> Candidates:
    """Return the k nearest rows to each query among its candidates and one more chunk.

    Parameters
    ----------
    before : Candidates
        From other chunks. They stay as they are.
    queries : ndarray of shape (q, d)
        Points.
    query_rows : ndarray of int, shape (q,)
        Their row numbers in the whole. A row is not its own neighbour.
    chunk : ndarray of shape (n, d)
        Rows first … first + n − 1 of the whole.
    first : int
        Number of its first row.
    k : int
        How many are wanted; as many as there are if fewer have been seen.
    algorithm : str
        How to search.

    Returns
    -------
    Candidates
        The nearest, ties by the smaller row number.
    """
    width = before.squared.shape[1]
    if width < k:
        asked, bounds = np.arange(len(queries)), None
    else:
        asked = _reaching(chunk, queries, before.squared[:, -1])
        bounds = before.squared[asked, -1]
        if len(asked) == 0:
            return before
    points = np.ascontiguousarray(chunk, dtype=np.float64)
    local, squared = _core.k_neighbors(
        x=points,
        # One more than needed: the query itself may be among the rows.
        k=min(k + 1, len(points)),
        queries=queries[asked],
        points=None,
        algorithm=algorithm,
        n_jobs=1,
        progress=None,
        bounds=bounds,
    )
    # At an infinite distance the query itself is the first to go.
    squared[local + first == query_rows[asked, None]] = np.inf
    if bounds is not None:
        found = np.isfinite(squared).any(axis=1)
        asked, local, squared = asked[found], local[found], squared[found]
        if len(asked) == 0:
            return before
    return _merged(before, asked, local + first, squared, points, first, k)


def _reaching(chunk: NDArray[Any], queries: Matrix, bounds: Matrix) -> NDArray[np.intp]:
    """Return the queries that may have a row of the chunk within their bound: its box is near enough."""
    low, high = chunk.min(axis=0), chunk.max(axis=0)
    # Less what the roundings of this sum and of a distance make together.
    slack = 1 - 8 * (queries.shape[1] + 8) * np.finfo(np.float64).eps
    near, squared = np.arange(len(queries)), np.zeros(len(queries))
    # The first columns already say of most boxes that they are too far away.
    for start in range(0, queries.shape[1], _COLUMNS):
        columns = slice(start, start + _COLUMNS)
        some = queries[near, columns]
        gaps = np.maximum(np.maximum(low[columns] - some, some - high[columns]), 0.0)
        with np.errstate(over="ignore"):
            squared = squared + np.einsum("ij,ij->i", gaps, gaps)
        # What overflows is left to the search, which refuses it.
        kept = (squared * slack <= bounds[near]) | ~np.isfinite(squared)
        near, squared = near[kept], squared[kept]
    return near


def _merged(
    before: Candidates,
    asked: NDArray[np.intp],
    rows: NDArray[np.int64],
    squared: Matrix,
    points: Matrix,
    first: int,
    k: int,
) -> Candidates:
    """Return the nearest of the candidates and of the rows that were found for some queries."""
    width, dim = before.squared.shape[1], points.shape[1]
    if width < k:
        shape = (len(asked), min(k, width + rows.shape[1]))
        after = Candidates(np.empty(shape), np.empty(shape, dtype=np.int64), np.empty((*shape, dim)))
    else:
        after = Candidates(before.squared.copy(), before.rows.copy(), before.points.copy())
    count = after.squared.shape[1]
    both = np.concatenate([before.squared[asked], squared], axis=1)
    names = np.concatenate([before.rows[asked], rows], axis=1)
    order = _nearest_first(both, names, count)
    after.squared[asked] = np.take_along_axis(both, order, axis=1)
    after.rows[asked] = chosen = np.take_along_axis(names, order, axis=1)
    # Coordinates as tables with a line for each candidate: whole lines are quick to copy.
    source, target = before.points.reshape(-1, dim), after.points.reshape(-1, dim)
    lines = asked[:, None] * count + np.arange(count)
    stay = order < width
    target[lines[stay]] = source.take((asked[:, None] * width + order)[stay], axis=0)
    target[lines[~stay]] = points.take(chosen[~stay] - first, axis=0)
    return after


def _nearest_first(squared: Matrix, rows: NDArray[np.int64], count: int) -> NDArray[np.intp]:
    """Return the places of the `count` smallest (squared distance, row number) of each line."""
    # One more, to see whether the last is tied.
    order = np.argsort(squared, axis=1, kind="stable")[:, : count + 1]
    nearest = np.take_along_axis(squared, order, axis=1)
    tied = np.flatnonzero((nearest[:, 1:] == nearest[:, :-1]).any(axis=1))
    order[tied] = np.lexsort((rows[tied], squared[tied]), axis=1)[:, : count + 1]
    return order[:, :count]
