"""Blocks of queries walk through all chunks of rows, one block for each thread at a time.

A step is a task: it makes one chunk, looks for neighbours in it and hands the walk on. Between two steps a
walk is its queries and their candidates, and nothing else is kept.
"""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from dask._task_spec import DataNode, GraphNode, List, Task, TaskRef
from dask.base import tokenize
from dask.delayed import Delayed, delayed
from dask.highlevelgraph import HighLevelGraph
from numpy.typing import NDArray

from ..operators import Algorithm, Degenerate
from . import candidates, groups
from .candidates import Candidates
from .chunks import Chunks
from .groups import Group, Matrix
from .recipes import Recipe
from .workers import Workers


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
    # One for each thread: it holds its queries and one chunk, and nothing waits in memory meanwhile.
    at_once = crew.threads
    token = tokenize([part.recipe for part in chunks.parts], blocks, search, at_once)
    walk, sums, settings = f"walk-{token}", f"sums-{token}", f"search-{token}"
    sample = None if isinstance(blocks[0][0], range) else _gathered(chunks, blocks)
    count, firsts = len(chunks.parts), chunks.firsts
    # An input of every step beside the walk: dask would make one task of steps with a single input.
    graph: dict[Any, GraphNode] = {settings: DataNode(settings, search)}

    def chunk(place: int) -> tuple[Recipe, GraphNode, int]:
        part = chunks.parts[place]
        return part.recipe, List(*(TaskRef(each.key) for each in part.inputs)), firsts[place]

    begun = 0
    for number, block in enumerate(blocks):
        sizes = [len(group) for group in block]
        # A walk waits for the end of an earlier one.
        turn = TaskRef((sums, number - at_once)) if number >= at_once else None
        key = (walk, number, 0)
        if sample is None:
            home = bisect_right(firsts, block[0][0]) - 1
            graph[key] = Task(key, _begun_at_home, TaskRef(settings), *chunk(home), block[0], turn)
            steps = range(home + 1, home + count)
        else:
            graph[key] = Task(key, _begun, TaskRef(sample.key), begun, np.concatenate(block), turn)
            begun += sum(sizes)
            # Walks that begin at different chunks do not all read the same one.
            home = count * number // len(blocks)
            steps = range(home, home + count)
        for step, place in enumerate(steps, start=1):
            before, key = TaskRef(key), (walk, number, step)
            graph[key] = Task(key, _extended, TaskRef(settings), before, *chunk(place % count))
        end = (sums, number)
        graph[end] = Task(end, _summed, TaskRef(settings), TaskRef(key), sizes)

    inputs = [each for part in chunks.parts for each in part.inputs]
    inputs = list({each.key: each for each in inputs}.values()) + ([] if sample is None else [sample])
    whole = HighLevelGraph.from_collections(walk, graph, dependencies=inputs)
    return [Delayed((sums, number), whole, layer=walk) for number in range(len(blocks))]


def _gathered(chunks: Chunks, blocks: Sequence[list[Group]]) -> Delayed:
    """Gather the coordinates of a sample: every chunk is made once, and a few of its rows are kept."""
    rows = np.concatenate([group for block in blocks for group in block])
    firsts = np.asarray(chunks.firsts)
    owner = np.searchsorted(firsts, rows, side="right") - 1
    numbers = np.unique(owner)
    places = [np.flatnonzero(owner == number) for number in numbers]
    picks = [
        chunks.parts[number].apply(_picked, rows[place] - firsts[number])
        for number, place in zip(numbers, places, strict=True)
    ]
    return delayed(_assembled, pure=True)(picks, places)


# What runs on the workers. Each on one thread: a worker runs as many tasks at once as it has threads.


def _picked(part: NDArray[Any], rows: NDArray[np.int64]) -> Matrix:
    return np.array(part[rows], dtype=np.float64)


def _assembled(picks: Sequence[Matrix], places: Sequence[NDArray[np.intp]]) -> Matrix:
    queries = np.empty((sum(map(len, places)), picks[0].shape[1]))
    for pick, place in zip(picks, places, strict=True):
        queries[place] = pick
    return queries


def _begun(sample: Matrix, first: int, rows: NDArray[np.int64], _turn: Any) -> Walk:
    """Set out with some of the sample."""
    queries = sample[first : first + len(rows)].copy()
    return Walk(queries, rows, candidates.none(*queries.shape))


def _begun_at_home(
    search: Search, recipe: Recipe, values: Sequence[Any], first: int, rows: range, _turn: Any
) -> Walk:
    """Set out with consecutive rows of a chunk and let them see it."""
    chunk = recipe.rows(values)
    # A copy: a view of the chunk would keep all of it.
    queries = np.array(chunk[rows.start - first : rows.stop - first], dtype=np.float64)
    walk = Walk(queries, np.asarray(rows, dtype=np.int64), candidates.none(*queries.shape))
    return _seen(search, walk, chunk, first)


def _extended(search: Search, walk: Walk, recipe: Recipe, values: Sequence[Any], first: int) -> Walk:
    """Let a block of queries see one more chunk."""
    return _seen(search, walk, recipe.rows(values), first)


def _seen(search: Search, walk: Walk, chunk: NDArray[Any], first: int) -> Walk:
    found = candidates.extended(walk.found, walk.queries, walk.rows, chunk, first, search.k, search.algorithm)
    return replace(walk, found=found)


def _summed(search: Search, walk: Walk, sizes: Sequence[int]) -> Matrix:
    """Σ S of each group, from the coordinates of the neighbours."""
    count, k, dim = walk.found.points.shape
    neighbors = np.arange(count * k, dtype=np.int64).reshape(count, k)
    return groups.sums(walk.found.points.reshape(-1, dim), neighbors, sizes, search.degenerate)
