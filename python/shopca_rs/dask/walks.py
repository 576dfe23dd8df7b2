"""Blocks of queries walk through all chunks of rows, each thread with one block at a time.

A leg is a task: it makes some chunks, one after the other, looks for neighbours in each and hands the walk
on. Between two legs a walk is its queries and their candidates, and nothing else is kept. A short walk
through chunks that are recipes is a single leg, and nothing of it is ever kept.
"""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from dask._task_spec import DataNode, GraphNode, List, Task, TaskRef
from dask.base import tokenize
from dask.delayed import Delayed
from dask.highlevelgraph import HighLevelGraph
from numpy.typing import NDArray

from ..operators import Algorithm, Degenerate
from . import candidates, groups
from .candidates import Candidates
from .chunks import Chunks
from .groups import Group, Matrix
from .recipes import Recipe
from .workers import Workers

# How a chunk is made, and the number of its first row.
Stop = tuple[Recipe, int]
# Rows of a chunk that are queries, which of them belong to a block, and their places in it.
Pick = tuple[Delayed, slice, NDArray[np.intp]]

# Multiply-adds of a leg, some seven seconds: what lies between two signs of progress, and what a cancelled
# task still does.
_LEG = 1 << 38


@dataclass(frozen=True)
class Search:
    """What is wanted of every query.

    Attributes
    ----------
    k : int
        Number of neighbours.
    degenerate, algorithm : str
        As in `shopca_rs.mean_shape_operator`.
    """

    k: int
    degenerate: Degenerate
    algorithm: Algorithm


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
    """

    queries: Matrix
    rows: NDArray[np.int64]
    found: Candidates

    def __sizeof__(self) -> int:
        # What a scheduler weighs before it moves a walk to another worker.
        return self.queries.nbytes + self.rows.nbytes + sys.getsizeof(self.found)


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
    chunks: Chunks, blocks: Sequence[list[Group]], search: Search, crew: Workers
) -> list[Delayed]:
    """Build the graph of Σ S of each group, with a walk for each block.

    Parameters
    ----------
    chunks : Chunks
        The rows.
    blocks : sequence of list of groups
        The queries: one group of consecutive rows of one chunk, or some groups of a sample.
    search : Search
        What is wanted.
    crew : Workers
        Who walks.

    Returns
    -------
    list of Delayed
        For each block an array of shape (groups, d, d).
    """
    token = tokenize([part.recipe for part in chunks.parts], blocks, search, crew.threads)
    name, settings = f"walk-{token}", f"search-{token}"
    gathered = None if isinstance(blocks[0][0], range) else _gathered(chunks, blocks)
    graph: dict[Any, GraphNode] = {settings: DataNode(settings, search)}
    ends: list[Any] = []
    for number, block in enumerate(blocks):
        queries = sum(map(len, block))
        if gathered is None:
            home = bisect_right(chunks.firsts, block[0][0]) - 1
        else:
            # Walks that begin at different chunks do not all read the same one.
            home = len(chunks.parts) * number // len(blocks)
        legs = _legs(chunks, home, queries)
        # A walk that waits for its next leg keeps its place, and there is one for each thread. A walk of one
        # leg never waits, and dask itself spreads tasks that need nothing over all workers.
        turn = TaskRef(ends[-crew.threads]) if len(legs) > 1 and number >= crew.threads else None
        key = (name, number, 0)
        if gathered is None:
            walk = Task(key, _from_home, search, legs[0].stops, legs[0].inputs, block[0], turn)
        else:
            picks = List(*(TaskRef(pick.key) for pick, _, _ in gathered[number]))
            places = [(some, place) for _, some, place in gathered[number]]
            rows = np.concatenate(block)
            walk = Task(key, _from_sample, search, legs[0].stops, legs[0].inputs, rows, picks, places, turn)
        for step, leg in enumerate(legs[1:], start=1):
            graph[key], before = walk, TaskRef(key)
            key = (name, number, step)
            # The settings from another task: dask would make one task of legs with a single input.
            walk = Task(key, _further, TaskRef(settings), before, leg.stops, leg.inputs)
        graph[key] = Task(key, _summed, search, walk, [len(group) for group in block])
        ends.append(key)
    inputs = [each for part in chunks.parts for each in part.inputs]
    inputs += [pick for picked in gathered or () for pick, _, _ in picked]
    distinct = list({each.key: each for each in inputs}.values())
    whole = HighLevelGraph.from_collections(name, graph, dependencies=distinct)
    return [Delayed(key, whole, layer=name) for key in ends]


def _legs(chunks: Chunks, home: int, queries: int) -> list[Leg]:
    """Cut the way from one chunk through all others into legs.

    The chunks of a leg need the same inputs: a chunk that is a result of its own has a leg of its own.
    """
    count, firsts = len(chunks.parts), chunks.firsts
    legs: list[Leg] = []
    given, work = None, 0
    for place in range(home, home + count):
        part = chunks.parts[place % count]
        more = queries * chunks.sizes[place % count] * chunks.dim
        if part.recipe.given != given or work + more > _LEG:
            legs.append(Leg([], List(*(TaskRef(each.key) for each in part.inputs))))
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


# What runs on the workers. Each on one thread: a worker runs as many tasks at once as it has threads.


def _picked(part: NDArray[Any], rows: NDArray[np.int64]) -> Matrix:
    return np.array(part[rows], dtype=np.float64)


def _from_sample(
    search: Search,
    stops: Sequence[Stop],
    values: Sequence[Any],
    rows: NDArray[np.int64],
    picks: Sequence[Matrix],
    places: Sequence[tuple[slice, NDArray[np.intp]]],
    _turn: Any,
) -> Walk:
    """Set out with some of a sample."""
    queries = np.empty((len(rows), picks[0].shape[1]))
    for pick, (some, place) in zip(picks, places, strict=True):
        queries[place] = pick[some]
    return _further(search, Walk(queries, rows, candidates.none(*queries.shape)), stops, values)


def _from_home(search: Search, stops: Sequence[Stop], values: Sequence[Any], rows: range, _turn: Any) -> Walk:
    """Set out with consecutive rows of the first chunk."""
    recipe, first = stops[0]
    return _further(search, _at_home(search, recipe.rows(values), first, rows), stops[1:], values)


def _at_home(search: Search, chunk: NDArray[Any], first: int, rows: range) -> Walk:
    # A copy: a view of the chunk would keep all of it.
    queries = np.array(chunk[rows.start - first : rows.stop - first], dtype=np.float64)
    walk = Walk(queries, np.asarray(rows, dtype=np.int64), candidates.none(*queries.shape))
    return _seen(search, walk, chunk, first)


def _further(search: Search, walk: Walk, stops: Sequence[Stop], values: Sequence[Any]) -> Walk:
    """Let a block of queries see some more chunks, one at a time."""
    for recipe, first in stops:
        walk = _seen(search, walk, recipe.rows(values), first)
    return walk


def _seen(search: Search, walk: Walk, chunk: NDArray[Any], first: int) -> Walk:
    found = candidates.extended(walk.found, walk.queries, walk.rows, chunk, first, search.k, search.algorithm)
    return replace(walk, found=found)


def _summed(search: Search, walk: Walk, sizes: Sequence[int]) -> Matrix:
    """Σ S of each group, from the coordinates of the neighbours."""
    count, k, dim = walk.found.points.shape
    neighbors = np.arange(count * k, dtype=np.int64).reshape(count, k)
    return groups.sums(walk.found.points.reshape(-1, dim), neighbors, sizes, search.degenerate)
