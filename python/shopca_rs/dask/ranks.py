"""Ranks between the rows of two aligned tables, from walks through chunks that have the columns of both.

Ranks are counts, so they add over chunks: the numbers are those of the tables in memory. src/quality/mod.rs
has the formulas.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from .. import _core
from .blocks import Matrix
from .candidates import Columns
from .ranges import Box, box_of, check_range
from .streaming import Search, Walk

Counted = NDArray[np.uint64]


class Tables(NamedTuple):
    """Where X and Z are in the chunks of both.

    Attributes
    ----------
    rows, chunks : int
        How many there are.
    x, z : slice
        Columns.
    """

    rows: int
    chunks: int
    x: slice
    z: slice

    def name(self, columns: slice) -> str:
        """Return the name of these columns in error messages.

        Parameters
        ----------
        columns : slice
            `x` or `z`.

        Returns
        -------
        str
            "X" or "Z".
        """
        return "X" if columns == self.x else "Z"


@dataclass(frozen=True, eq=False)
class Counting:
    """A block of queries whose targets are known, on its way through the chunks that it is counted in.

    Attributes
    ----------
    queries : ndarray of shape (q, d)
        Points.
    rows : ndarray of int, shape (q,)
        Their row numbers in the whole.
    squared : ndarray of shape (q, k)
        Squared distances of their targets.
    targets : ndarray of int, shape (q, k)
        The row numbers of these.
    ranks : ndarray of int, shape (q, k)
        How many of the rows seen so far rank no later than each target.
    box : Box
        Around all chunks seen so far.
    """

    queries: Matrix
    rows: NDArray[np.int64]
    squared: Matrix
    targets: NDArray[np.int64]
    ranks: NDArray[np.int64]
    box: Box

    def __sizeof__(self) -> int:
        return self.queries.nbytes + self.rows.nbytes + 3 * self.squared.nbytes


@dataclass(frozen=True)
class NeighborRanks:
    """Find the neighbours of every query in one table, and in a second round count their ranks in the other.

    Attributes
    ----------
    tables : Tables
        Where the columns are.
    k : int
        Number of neighbours.
    near, ranked : slice
        The columns in which neighbours are found, and those in which they are ranked.
    """

    tables: Tables
    k: int
    near: slice
    ranked: slice

    def rounds(self, queries: int) -> int:
        """Return 2."""
        return 2

    def set_out(self, own: Matrix, rows: NDArray[np.int64]) -> tuple[int, Walk]:
        """Return a search, with the number of chunks it has seen."""
        return 0, self._search.set_out(own, rows)

    def seen(
        self, walk: tuple[int, Walk | Counting], chunk: NDArray[Any], first: int
    ) -> tuple[int, Walk | Counting]:
        """Return the walk after one more chunk: a search, and from its last chunk on a count."""
        count, state = walk
        if isinstance(state, Counting):
            return count + 1, self._counted(state, chunk, first)
        state = self._search.seen(state, chunk, first)
        return count + 1, state if count + 1 < self.tables.chunks else self._targets(state)

    def penalties(self, walk: tuple[int, Counting]) -> Counted:
        """Return Σ max(r − k, 0) over the ranks r of the neighbours of each query.

        Parameters
        ----------
        walk : tuple
            That has been through all chunks twice.

        Returns
        -------
        ndarray of int, shape (q,)
            The penalties.
        """
        _, state = walk
        check_range(state.box, self.tables.name(self.ranked))
        penalties: Counted = np.maximum(state.ranks - self.k, 0).sum(axis=1).astype(np.uint64)
        return penalties

    @property
    def _search(self) -> Search:
        return Search(self.k, "auto", Columns(self.near, self.ranked, name=self.tables.name(self.near)))

    def _targets(self, walk: Walk) -> Counting:
        """Turn from a search that has seen all chunks to a count."""
        found = walk.found
        check_range(found.box, self.tables.name(self.near))
        queries = np.ascontiguousarray(walk.own[:, self.ranked])
        dim = queries.shape[1]
        neighbors = found.points[:, :, -dim:].reshape(-1, dim)
        squared = _core.squared_distances(np.repeat(queries, self.k, axis=0), neighbors)
        return Counting(
            queries,
            walk.rows,
            squared.reshape(found.rows.shape),
            found.rows,
            np.zeros(found.rows.shape, dtype=np.int64),
            Box.empty(dim),
        )

    def _counted(self, state: Counting, chunk: NDArray[Any], first: int) -> Counting:
        points = np.ascontiguousarray(chunk[:, self.ranked], dtype=np.float64)
        box = state.box.around(box_of(points))
        try:
            more = _core.part_ranks(
                x=points,
                first=first,
                queries=state.queries,
                own=state.rows,
                squared=state.squared,
                targets=state.targets,
                n_jobs=1,
            )
        except ValueError:
            # The range is refused: report that of the table, which the caller knows.
            check_range(box.around(box_of(state.queries)), self.tables.name(self.ranked))
            raise
        return replace(state, ranks=state.ranks + more, box=box)


class Counts(NamedTuple):
    """What `shopca_rs.quality` counts around some rows.

    Attributes
    ----------
    pairs : ndarray of int, shape (n,)
        Pairs of rows by the larger of their two ranks.
    squares : ndarray of int, shape (2, n) or (2, 0)
        For a sample, sums of squares, below 2³² and in units of that.
    penalties : ndarray of int, shape (q, 2)
        Of trustworthiness and continuity, for each row.
    areas : ndarray of shape (q,)
        For a sample, the contribution of each row to the AUC.
    """

    pairs: Counted
    squares: Counted
    penalties: Counted
    areas: Matrix

    def joined(self, other: Self) -> Self:
        """Return the counts of these rows and of others after them.

        Parameters
        ----------
        other : Counts
            Of other rows.

        Returns
        -------
        Counts
            Of both.
        """
        return type(self)(
            self.pairs + other.pairs,
            self.squares + other.squares,
            np.concatenate([self.penalties, other.penalties]),
            np.concatenate([self.areas, other.areas]),
        )


@dataclass(frozen=True, eq=False)
class Gathering:
    """A block of queries that gathers the distances of some of them from all rows, in round after round.

    Attributes
    ----------
    own : ndarray of shape (q, width)
        The queries.
    rows : ndarray of int, shape (q,)
        Their row numbers.
    counts : Counts, optional
        Of the queries of earlier rounds.
    pieces : tuple of (int, ndarray, ndarray)
        Of the queries of this round: for each chunk seen the number of its first row and the squared
        distances in X and in Z.
    box : Box
        Around all chunks seen so far.
    """

    own: Matrix
    rows: NDArray[np.int64]
    counts: Counts | None
    pieces: tuple[tuple[int, Matrix, Matrix], ...]
    box: Box

    def __sizeof__(self) -> int:
        pieces = sum(in_x.nbytes + in_z.nbytes for _, in_x, in_z in self.pieces)
        counts = 0 if self.counts is None else sum(each.nbytes for each in self.counts)
        return sys.getsizeof(self.own) + self.rows.nbytes + pieces + counts


@dataclass(frozen=True)
class AllRanks:
    """Sort all rows around every query, in both tables, a few queries in each round.

    Attributes
    ----------
    tables : Tables
        Where the columns are.
    k : int
        Number of neighbours of trustworthiness and continuity.
    sampled : bool
        Whether the queries are those of a sample.
    at_once : int
        Queries in a round.
    """

    tables: Tables
    k: int
    sampled: bool
    at_once: int

    def rounds(self, queries: int) -> int:
        """Return how many rounds so many queries take."""
        return -(-queries // self.at_once)

    def set_out(self, own: Matrix, rows: NDArray[np.int64]) -> Gathering:
        """Return a block of queries that has seen nothing yet."""
        return Gathering(own, rows, None, (), Box.empty(own.shape[1]))

    def seen(self, walk: Gathering, chunk: NDArray[Any], first: int) -> Gathering:
        """Return the block after one more chunk, the last of a round perhaps."""
        done = 0 if walk.counts is None else len(walk.counts.areas)
        some = slice(done, done + self.at_once)
        chunk = np.ascontiguousarray(chunk, dtype=np.float64)
        in_x, in_z = (self._distances(walk.own[some], chunk, each) for each in (self.tables.x, self.tables.z))
        box = walk.box.around(box_of(chunk))
        pieces = (*walk.pieces, (first, in_x, in_z))
        if len(pieces) < self.tables.chunks:
            return replace(walk, pieces=pieces, box=box)
        for columns in (self.tables.x, self.tables.z):
            check_range(Box(box.low[columns], box.high[columns]), self.tables.name(columns))
        counts = self._counts(pieces, walk.rows[some])
        counts = counts if walk.counts is None else walk.counts.joined(counts)
        return replace(walk, counts=counts, pieces=(), box=box)

    def _distances(self, queries: Matrix, chunk: Matrix, columns: slice) -> Matrix:
        points = np.ascontiguousarray(chunk[:, columns])
        return np.stack(
            [
                _core.squared_distances(np.broadcast_to(query, points.shape), points)
                for query in np.ascontiguousarray(queries[:, columns])
            ]
        )

    def _counts(self, pieces: tuple[tuple[int, Matrix, Matrix], ...], rows: NDArray[np.int64]) -> Counts:
        distances = np.empty((2, len(rows), self.tables.rows))
        for first, *both in pieces:
            for lines, piece in zip(distances, both, strict=True):
                lines[:, first : first + piece.shape[1]] = piece
        in_x, in_z = distances
        return Counts(
            *_core.quality_of_distances(in_x=in_x, in_z=in_z, k=self.k, points=rows, sampled=self.sampled)
        )
