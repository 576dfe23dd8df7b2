"""Blocks of queries walk through all chunks of rows, each thread with one block at a time.

A leg is a task: it makes some chunks, one after the other, shows each to the walk and hands it on. What a
walk looks for, and so what it carries, is up to its `Purpose`: a `Search` has queries and their
candidates, and nothing else is kept between two legs. A short walk through chunks that are recipes is a
single leg, and nothing of it is ever kept.
"""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from dask.base import tokenize
from dask.delayed import Delayed
from numpy.typing import NDArray

from ..neighbors import Algorithm
from ..operators import Degenerate
from . import candidates
from .blocks import Group, Matrix, sums_of_groups
from .candidates import Candidates, Columns
from .chunks import Chunks
from .inlined_graph import Recipe
from .internals import DataNode, Graph, List, Task, TaskRef, on_top
from .ranges import check_range
from .workers import Workers

# How a chunk is made, and the number of its first row.
Stop = tuple[Recipe, int]
# Rows of a chunk that are queries, which of them belong to a block, and their places in it.
Pick = tuple[Delayed, slice, NDArray[np.intp]]

# Multiply-adds of a leg, some seven seconds: the time between two signs of progress, and what a cancelled
# task still has to finish.
_LEG = 1 << 38


class Purpose(Protocol):
    """What a walk is for."""

    def rounds(self, queries: int) -> int:
        """Return how often a block with this number of queries goes through all chunks."""
        ...

    def set_out(self, own: Matrix, rows: NDArray[np.int64]) -> Any:
        """Return a walk that has seen nothing yet, of some queries and their row numbers."""
        ...

    def seen(self, walk: Any, chunk: NDArray[Any], first: int) -> Any:
        """Return the walk after one more chunk, with the number of its first row. The old one stays."""
        ...


@dataclass(frozen=True, eq=False)
class Walk:
    """A block of queries on its way.

    Attributes
    ----------
    queries : ndarray of shape (q, d)
        Points.
    rows : ndarray of int, shape (q,)
        Their row numbers in the whole.
    found : Candidates
        The nearest in the chunks seen so far.
    own : ndarray of shape (q, width)
        All columns of the queries.
    """

    queries: Matrix
    rows: NDArray[np.int64]
    found: Candidates
    own: Matrix

    def __sizeof__(self) -> int:
        # What a scheduler weighs before it moves a walk to another worker.
        own = 0 if self.own is self.queries else self.own.nbytes
        return own + self.queries.nbytes + self.rows.nbytes + sys.getsizeof(self.found)


@dataclass(frozen=True)
class Search:
    """What is wanted of every query.

    Attributes
    ----------
    k : int
        Number of neighbours.
    algorithm : str
        As in `shopca_rs.mean_shape_operator`.
    columns : Columns, optional
        What the columns of the rows are for.
    """

    k: int
    algorithm: Algorithm
    columns: Columns = candidates.ALL

    def rounds(self, queries: int) -> int:
        """Return 1: neighbours are found in one round."""
        return 1

    def set_out(self, own: Matrix, rows: NDArray[np.int64]) -> Walk:
        """Return a walk that has seen nothing yet.

        Parameters
        ----------
        own : ndarray of shape (q, width)
            The queries.
        rows : ndarray of int, shape (q,)
            Their row numbers.

        Returns
        -------
        Walk
            At its beginning.
        """
        columns = self.columns
        queries = own if columns == candidates.ALL else np.ascontiguousarray(own[:, columns.searched])
        count, dim = queries.shape
        nothing = candidates.none(count, dim, own[:, columns.extra].shape[1])
        return Walk(queries, rows, nothing, own)

    def seen(self, walk: Walk, chunk: NDArray[Any], first: int) -> Walk:
        """Return the walk with the nearest rows after one more chunk.

        Parameters
        ----------
        walk : Walk
            So far.
        chunk : ndarray of shape (n, width)
            Rows first … first + n − 1 of the whole.
        first : int
            Number of its first row.

        Returns
        -------
        Walk
            One chunk further.
        """
        found = candidates.extended(
            walk.found, walk.queries, walk.rows, chunk, first, self.k, self.algorithm, self.columns
        )
        return replace(walk, found=found)


@dataclass(frozen=True, eq=False)
class Leg:
    """Chunks that one task visits.

    Attributes
    ----------
    stops : list of Stop
        The chunks, in the order of the walk.
    inputs : List
        What all the recipes are given.
    """

    stops: list[Stop]
    inputs: List


def sharded_sums(
    chunks: Chunks,
    blocks: Sequence[list[Group]],
    search: Search,
    weights: Sequence[Matrix | None],
    include_self: bool,
    degenerate: Degenerate,
    crew: Workers,
) -> list[Delayed]:
    """Build the graph of Σ S of each group, or Σ w S.

    Parameters
    ----------
    chunks, blocks, crew
        As in `sharded`.
    search : Search
        Whose neighbourhoods.
    weights : sequence of ndarray or None
        For each block the weights of its rows.
    include_self, degenerate
        As in `shopca_rs.mean_shape_operator`.

    Returns
    -------
    list of Delayed
        For each block an array of shape (groups, d, d).
    """
    summed = partial(_summed, include_self=include_self, degenerate=degenerate)
    ends = [
        partial(summed, sizes=[len(group) for group in block], weights=own)
        for block, own in zip(blocks, weights, strict=True)
    ]
    return sharded(chunks, blocks, search, crew, ends)


def sharded(
    chunks: Chunks,
    blocks: Sequence[list[Group]],
    purpose: Purpose,
    crew: Workers,
    ends_with: Sequence[Callable[[Any], Any]],
) -> list[Delayed]:
    """Build the graph of a walk for each block.

    Parameters
    ----------
    chunks : Chunks
        The rows.
    blocks : sequence of list of groups
        The queries: one group of consecutive rows of one chunk, or some groups of a sample.
    purpose : Purpose
        What is wanted of them.
    crew : Workers
        The workers that will compute.
    ends_with : sequence of callable
        For each block, the function that is called with its finished walk.

    Returns
    -------
    list of Delayed
        What these return.
    """
    token = tokenize([part.recipe for part in chunks.parts], blocks, purpose, crew.threads, ends_with)
    name, settings = f"walk-{token}", f"purpose-{token}"
    gathered = None if isinstance(blocks[0][0], range) else _gathered(chunks, blocks)
    graph: Graph = {settings: DataNode(settings, purpose)}
    ends: list[Any] = []
    for number, block in enumerate(blocks):
        queries = sum(map(len, block))
        if gathered is None:
            home = bisect_right(chunks.firsts, block[0][0]) - 1
        else:
            # Walks that begin at different chunks do not all read the same one.
            home = len(chunks.parts) * number // len(blocks)
        legs = _legs(chunks, home, queries, purpose.rounds(queries))
        # A walk that waits for its next leg keeps its place, and there is one for each thread. A walk of one
        # leg never waits, and dask itself spreads tasks that need nothing over all workers.
        turn = TaskRef(ends[-crew.threads]) if len(legs) > 1 and number >= crew.threads else None
        key = (name, number, 0)
        if gathered is None:
            walk = Task(key, _from_home, purpose, legs[0].stops, legs[0].inputs, block[0], turn)
        else:
            picks = List(*(TaskRef(pick.key) for pick, _, _ in gathered[number]))
            places = [(some, place) for _, some, place in gathered[number]]
            rows = np.concatenate(block)
            walk = Task(key, _from_sample, purpose, legs[0].stops, legs[0].inputs, rows, picks, places, turn)
        for step, leg in enumerate(legs[1:], start=1):
            graph[key], before = walk, TaskRef(key)
            key = (name, number, step)
            # The settings come from another task: dask would fuse legs with a single input into one task.
            walk = Task(key, _further, TaskRef(settings), before, leg.stops, leg.inputs)
        graph[key] = Task(key, ends_with[number], walk)
        ends.append(key)
    inputs = [each for part in chunks.parts for each in part.inputs]
    inputs += [pick for picked in gathered or () for pick, _, _ in picked]
    return on_top(name, graph, inputs, ends)


def _legs(chunks: Chunks, home: int, queries: int, rounds: int = 1) -> list[Leg]:
    """Cut the way from one chunk through all others, repeated for each round, into legs.

    The chunks of a leg need the same inputs: a chunk that is a result of its own has a leg of its own.
    """
    count, firsts = len(chunks.parts), chunks.firsts
    legs: list[Leg] = []
    given, work = None, 0
    for place in range(home, home + rounds * count):
        part = chunks.parts[place % count]
        more = queries * chunks.sizes[place % count] * chunks.dim
        if part.recipe.given != given or work + more > _LEG:
            legs.append(Leg([], part.values))
            given, work = part.recipe.given, 0
        legs[-1].stops.append((part.recipe, firsts[place % count]))
        work += more
    return legs


def _gathered(chunks: Chunks, blocks: Sequence[list[Group]]) -> list[list[Pick]]:
    """Gather the queries of a sample, block by block: every chunk is made once, and a few rows are kept."""
    rows = [np.concatenate(block) for block in blocks]
    cuts = np.cumsum([0, *map(len, rows)])
    sample, firsts = np.concatenate(rows), np.asarray(chunks.firsts)
    owner = np.searchsorted(firsts, sample, side="right") - 1
    gathered: list[list[Pick]] = [[] for _ in blocks]
    for number in np.unique(owner):
        places = np.flatnonzero(owner == number)
        pick = chunks.parts[number].apply(_picked, sample[places] - firsts[number])
        ends = np.searchsorted(places, cuts)
        for picks, cut, (start, stop) in zip(gathered, cuts, pairwise(ends), strict=False):
            if start < stop:
                picks.append((pick, slice(start, stop), places[start:stop] - cut))
    return gathered


# These run on the workers, each on one thread: a worker runs as many tasks at once as it has threads.


def _picked(part: NDArray[Any], rows: NDArray[np.int64]) -> Matrix:
    return np.array(part[rows], dtype=np.float64)


def _from_sample(
    purpose: Purpose,
    stops: Sequence[Stop],
    values: Sequence[Any],
    rows: NDArray[np.int64],
    picks: Sequence[Matrix],
    places: Sequence[tuple[slice, NDArray[np.intp]]],
    _turn: Any,
) -> Any:
    """Start a walk with some rows of a sample."""
    queries = np.empty((len(rows), picks[0].shape[1]))
    for pick, (some, place) in zip(picks, places, strict=True):
        queries[place] = pick[some]
    return _further(purpose, purpose.set_out(queries, rows), stops, values)


def _from_home(
    purpose: Purpose, stops: Sequence[Stop], values: Sequence[Any], rows: range, _turn: Any
) -> Any:
    """Start a walk with consecutive rows of the first chunk."""
    recipe, first = stops[0]
    return _further(purpose, _at_home(purpose, recipe.rows(values), first, rows), stops[1:], values)


def _at_home(purpose: Purpose, chunk: NDArray[Any], first: int, rows: range) -> Any:
    # A copy: a view would keep the whole chunk in memory.
    own = np.array(chunk[rows.start - first : rows.stop - first], dtype=np.float64)
    return purpose.seen(purpose.set_out(own, np.asarray(rows, dtype=np.int64)), chunk, first)


def _further(purpose: Purpose, walk: Any, stops: Sequence[Stop], values: Sequence[Any]) -> Any:
    """Let a block of queries see some more chunks, one at a time."""
    for recipe, first in stops:
        walk = purpose.seen(walk, recipe.rows(values), first)
    return walk


def _summed(
    walk: Walk, sizes: Sequence[int], weights: Matrix | None, include_self: bool, degenerate: Degenerate
) -> Matrix:
    """Σ S of each group, or Σ w S, from the coordinates of the neighbours."""
    # The walk has seen every chunk, so this is the range of the whole table.
    check_range(walk.found.box)
    patches = walk.found.points
    if include_self:
        patches = np.concatenate([walk.queries[:, None], patches], axis=1)
    count, k, dim = patches.shape
    neighbors = np.arange(count * k, dtype=np.int64).reshape(count, k)
    return sums_of_groups(patches.reshape(-1, dim), neighbors, sizes, weights, degenerate)
