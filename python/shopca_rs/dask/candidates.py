"""The k nearest so far of each query, with coordinates: chunk after chunk, in any order.

Only the k smallest (squared distance, row number) are kept. That rule is associative and commutative, so the
neighbours in the end are exactly those of a search over all rows at once. A chunk is only asked for rows
that are no farther than the last of a full list.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..neighbors import Algorithm
from .ranges import Box, box_of, check_range

Matrix = NDArray[np.float64]

# Columns of a box that are looked at together.
_COLUMNS = 32


class Columns(NamedTuple):
    """What the columns of a chunk are for.

    Attributes
    ----------
    searched : slice
        Coordinates.
    extra : slice
        What else is kept of a neighbour; these columns follow the coordinates.
    valid : int, optional
        The column that is 1 where a row may be a neighbour. All may if None.
    name : {"X", "Z"}, default="X"
        The name of the table in error messages.
    """

    searched: slice = slice(None)
    extra: slice = slice(0, 0)
    valid: int | None = None
    name: str = "X"

    def neighbors(self, chunk: NDArray[Any], first: int) -> tuple[NDArray[np.int64], Matrix, Matrix]:
        """Return the rows that may be neighbours.

        Parameters
        ----------
        chunk : ndarray of shape (n, width)
            Rows.
        first : int
            Number of its first row.

        Returns
        -------
        numbers : ndarray of int, shape (f,)
            Their numbers, ascending.
        points : ndarray of shape (f, d)
            Their coordinates.
        extra : ndarray of shape (f, e)
            What else is kept of them.
        """
        numbers = np.arange(first, first + len(chunk), dtype=np.int64)
        if self.valid is not None:
            kept = chunk[:, self.valid] == 1
            numbers, chunk = numbers[kept], chunk[kept]
        points = np.ascontiguousarray(chunk[:, self.searched], dtype=np.float64)
        return numbers, points, np.ascontiguousarray(chunk[:, self.extra], dtype=np.float64)


ALL = Columns()


@dataclass(frozen=True, eq=False)
class Candidates:
    """For each query up to k rows, nearest first.

    Attributes
    ----------
    squared : ndarray of shape (q, c)
        Squared distances.
    rows : ndarray of int, shape (q, c)
        Row numbers in the whole.
    points : ndarray of shape (q, c, d + e)
        Their coordinates, and what else is kept of them.
    box : Box
        Around all chunks seen so far.
    """

    squared: Matrix
    rows: NDArray[np.int64]
    points: Matrix
    box: Box

    def __sizeof__(self) -> int:
        return self.squared.nbytes + self.rows.nbytes + self.points.nbytes


def none(count: int, dim: int, extra: int = 0) -> Candidates:
    """Return the candidates of queries that have seen no rows yet.

    Parameters
    ----------
    count : int
        Number of queries.
    dim : int
        Number of coordinates.
    extra : int, default=0
        How many other numbers are kept of a neighbour.

    Returns
    -------
    Candidates
        None for each.
    """
    return Candidates(
        np.empty((count, 0)),
        np.empty((count, 0), dtype=np.int64),
        np.empty((count, 0, dim + extra)),
        Box.empty(dim),
    )


def extended(
    before: Candidates,
    queries: Matrix,
    query_rows: NDArray[np.int64],
    chunk: NDArray[Any],
    first: int,
    k: int,
    algorithm: Algorithm,
    columns: Columns = ALL,
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
    chunk : ndarray of shape (n, width)
        Rows first … first + n − 1 of the whole.
    first : int
        Number of its first row.
    k : int
        How many are wanted; as many as there are if fewer have been seen.
    algorithm : str
        How to search.
    columns : Columns, optional
        What the columns of the chunk are for. By default all are coordinates.

    Returns
    -------
    Candidates
        The nearest, ties by the smaller row number.
    """
    if columns.valid is None:
        box = box_of(chunk[:, columns.searched])
    else:
        numbers, points, extra = columns.neighbors(chunk, first)
        if len(points) == 0:
            return before
        box = box_of(points)
    width = before.squared.shape[1]
    seen = replace(before, box=before.box.around(box))
    if width < k:
        asked, bounds = np.arange(len(queries)), None
    else:
        asked = _reaching(box, queries, before.squared[:, -1])
        bounds = before.squared[asked, -1]
        if len(asked) == 0:
            return seen
    if columns.valid is None:
        numbers, points, extra = columns.neighbors(chunk, first)
    try:
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
            part=True,
        )
    except ValueError:
        # The range is refused: report that of the table, which the caller knows, not that of a chunk.
        check_range(seen.box.around(box_of(queries)), columns.name)
        raise
    # A row is not its own neighbour: an infinite distance puts the query last.
    squared[numbers[local] == query_rows[asked, None]] = np.inf
    if bounds is not None:
        found = np.isfinite(squared).any(axis=1)
        asked, local, squared = asked[found], local[found], squared[found]
        if len(asked) == 0:
            return seen
    kept = np.concatenate([points, extra], axis=1) if extra.shape[1] else points
    return _merged(seen, asked, local, numbers, squared, kept, k)


def _reaching(box: Box, queries: Matrix, bounds: Matrix) -> NDArray[np.intp]:
    """Return the queries that may have a row of the chunk within their bound: its box is near enough."""
    low, high = box.low, box.high
    # Less the rounding errors of this sum and of a distance.
    slack = 1 - 8 * (queries.shape[1] + 8) * np.finfo(np.float64).eps
    near, squared = np.arange(len(queries)), np.zeros(len(queries))
    # For most boxes the first columns already show that they are too far away.
    for start in range(0, queries.shape[1], _COLUMNS):
        columns = slice(start, start + _COLUMNS)
        some = queries[near, columns]
        gaps = np.maximum(np.maximum(low[columns] - some, some - high[columns]), 0.0)
        with np.errstate(over="ignore"):
            squared = squared + np.einsum("ij,ij->i", gaps, gaps)
        # An overflow is left to the search, which refuses it.
        kept = (squared * slack <= bounds[near]) | ~np.isfinite(squared)
        near, squared = near[kept], squared[kept]
    return near


def _merged(
    before: Candidates,
    asked: NDArray[np.intp],
    local: NDArray[np.int64],
    numbers: NDArray[np.int64],
    squared: Matrix,
    kept: Matrix,
    k: int,
) -> Candidates:
    """Return the nearest of the candidates and of the rows that were found for some queries."""
    width, dim = before.squared.shape[1], kept.shape[1]
    if width < k:
        shape = (len(asked), min(k, width + local.shape[1]))
        after = Candidates(
            np.empty(shape), np.empty(shape, dtype=np.int64), np.empty((*shape, dim)), before.box
        )
    else:
        after = Candidates(before.squared.copy(), before.rows.copy(), before.points.copy(), before.box)
    count = after.squared.shape[1]
    both = np.concatenate([before.squared[asked], squared], axis=1)
    names = np.concatenate([before.rows[asked], numbers[local]], axis=1)
    order = _nearest_first(both, names, count)
    after.squared[asked] = np.take_along_axis(both, order, axis=1)
    after.rows[asked] = np.take_along_axis(names, order, axis=1)
    # Coordinates as tables with a row for each candidate: whole rows are quick to copy.
    source, target = before.points.reshape(-1, dim), after.points.reshape(-1, dim)
    lines = asked[:, None] * count + np.arange(count)
    stay = order < width
    target[lines[stay]] = source.take((asked[:, None] * width + order)[stay], axis=0)
    new = np.take_along_axis(local, np.maximum(order - width, 0), axis=1)
    target[lines[~stay]] = kept.take(new[~stay], axis=0)
    return after


def _nearest_first(squared: Matrix, rows: NDArray[np.int64], count: int) -> NDArray[np.intp]:
    """Return the positions of the `count` smallest (squared distance, row number) of each row."""
    # One more, to see whether the last is tied.
    order = np.argsort(squared, axis=1, kind="stable")[:, : count + 1]
    nearest = np.take_along_axis(squared, order, axis=1)
    tied = np.flatnonzero((nearest[:, 1:] == nearest[:, :-1]).any(axis=1))
    order[tied] = np.lexsort((rows[tied], squared[tied]), axis=1)[:, : count + 1]
    return order[:, :count]
