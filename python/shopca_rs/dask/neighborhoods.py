"""The neighbourhoods of blocks of rows, in both modes, passed to a function of the caller."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from dask.delayed import Delayed, delayed
from numpy.typing import NDArray

from .. import _core
from ..neighbors import Algorithm
from .blocks import Group, Matrix, rows_of
from .candidates import ALL, Columns
from .chunks import Chunks
from .operators import join, loaded
from .ranges import check_range
from .streaming import Search, Walk, sharded
from .workers import Workers

# Row numbers, and the coordinates of these rows.
Rows = tuple[NDArray[np.int64], Matrix]


@dataclass(frozen=True, eq=False)
class Neighborhoods:
    """The neighbourhoods of a block of rows.

    Attributes
    ----------
    own : ndarray of shape (q, width)
        The rows of the block.
    table, extra : ndarray of shape (t, d) and (t, e)
        Coordinates of at least these rows and their neighbours, and what else is kept of them.
    numbers : ndarray of int, shape (t,)
        Their row numbers in the whole.
    centres : ndarray of int, shape (q,)
        The rows of the block as rows of `table`. Meaningless where a row may not be a neighbour itself.
    lists : ndarray of int, shape (q, k)
        Their neighbours, nearest first, as rows of `table`.
    squared : ndarray of shape (q, k)
        Squared distances, infinite where there are fewer than k. All lists are shorter where no row has k.
    sizes : list of int
        Rows of each group of the block.
    """

    own: Matrix
    table: Matrix
    extra: Matrix
    numbers: NDArray[np.int64]
    centres: NDArray[np.int64]
    lists: NDArray[np.int64]
    squared: Matrix
    sizes: list[int]

    @property
    def ascending(self) -> NDArray[np.int64]:
        """The lists in ascending order of the row numbers, as two stages in memory take them."""
        order = np.argsort(self.numbers[self.lists], axis=1)
        return np.take_along_axis(self.lists, order, axis=1)

    def unions(self) -> list[Rows]:
        """Return the rows of each group and all their neighbours, each once.

        Returns
        -------
        list of pair
            Row numbers, ascending, and the coordinates of these rows.
        """
        found, stop = [], 0
        for size in self.sizes:
            start, stop = stop, stop + size
            used = np.unique(np.append(self.lists[start:stop], self.centres[start:stop]))
            numbers, first = np.unique(self.numbers[used], return_index=True)
            found.append((numbers, self.table[used[first]]))
        return found


class Whole(NamedTuple):
    """All rows, as every worker gets them.

    Attributes
    ----------
    own : ndarray of shape (n, width)
        All columns.
    numbers : ndarray of int, shape (f,)
        The rows that may be neighbours.
    points, extra : ndarray of shape (f, d) and (f, e)
        Their coordinates, and what else is kept of them.
    """

    own: Matrix
    numbers: NDArray[np.int64]
    points: Matrix
    extra: Matrix


class Searcher(NamedTuple):
    """How the neighbours of blocks of rows are found.

    Attributes
    ----------
    algorithm : str
        As in `shopca_rs.curvatures`.
    mode : str
        "replicated" or "sharded".
    crew : Workers
        The workers that will compute.
    """

    algorithm: Algorithm
    mode: str
    crew: Workers

    def each(
        self,
        chunks: Chunks,
        blocks: Sequence[list[Group]],
        k: int,
        finish: Callable[[Neighborhoods], Any],
        columns: Columns = ALL,
    ) -> list[Delayed]:
        """Build the graph of a function of the neighbourhoods of each block.

        Parameters
        ----------
        chunks : Chunks
            The rows.
        blocks : sequence of list of groups
            The rows whose neighbours are wanted.
        k : int
            How many neighbours.
        finish : callable
            Called with the neighbourhoods of each block.
        columns : Columns, optional
            What the columns of the rows are for.

        Returns
        -------
        list of Delayed
            What `finish` returns for each block.
        """
        if self.mode == "sharded":
            ends = [
                partial(_at_the_end, columns=columns, sizes=[len(group) for group in block], finish=finish)
                for block in blocks
            ]
            return sharded(chunks, blocks, Search(k, self.algorithm, columns), self.crew, ends)
        whole = delayed(_whole, pure=True)(loaded(chunks), columns)
        search_in = delayed(_in_whole, pure=True)
        return [search_in(whole, block, k, self.algorithm, columns, finish) for block in blocks]


# These run on the workers, each on one thread: a worker runs as many tasks at once as it has threads.


def _at_the_end(
    walk: Walk, columns: Columns, sizes: list[int], finish: Callable[[Neighborhoods], Any]
) -> Any:
    found, (count, dim) = walk.found, walk.queries.shape
    # The walk has seen every chunk, so this is the range of the whole table, if any row may be a neighbour.
    if np.isfinite(found.box.low).all():
        check_range(found.box)
    k, width = found.points.shape[1:]
    neighbors = found.points.reshape(-1, width)
    return finish(
        Neighborhoods(
            own=walk.own,
            table=np.concatenate([walk.queries, neighbors[:, :dim]]),
            extra=np.concatenate([walk.own[:, columns.extra], neighbors[:, dim:]]),
            numbers=np.append(walk.rows, found.rows),
            centres=np.arange(count),
            lists=count + np.arange(count * k).reshape(count, k),
            squared=found.squared,
            sizes=sizes,
        )
    )


def _whole(parts: Sequence[NDArray[Any]], columns: Columns) -> Whole:
    rows = join(parts)
    return Whole(rows, *columns.neighbors(rows, 0))


def _in_whole(
    whole: Whole,
    block: Sequence[Group],
    k: int,
    algorithm: Algorithm,
    columns: Columns,
    finish: Callable[[Neighborhoods], Any],
) -> Any:
    rows = rows_of(block)
    own = whole.own[rows]
    known = np.ones(len(rows), dtype=bool) if columns.valid is None else own[:, columns.valid] == 1
    centres = np.searchsorted(whole.numbers, rows)
    # Too few rows for any list of k.
    width = k if k < len(whole.numbers) else 0
    lists, squared = np.zeros((len(rows), width), dtype=np.int64), np.full((len(rows), width), np.inf)
    if width and known.any():
        lists[known], squared[known] = _core.k_neighbors(
            x=whole.points,
            k=k,
            queries=None,
            points=centres[known],
            algorithm=algorithm,
            n_jobs=1,
            progress=None,
        )
    sizes = [len(group) for group in block]
    _, numbers, points, extra = whole
    return finish(Neighborhoods(own, points, extra, numbers, centres, lists, squared, sizes))
