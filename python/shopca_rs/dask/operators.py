"""The mean shape operator of a dask collection, as one lazy graph."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Literal

import dask.array as da
import numpy as np
from dask.delayed import Delayed, delayed
from numpy.typing import NDArray

from .. import _core
from ..arguments import as_choice, as_count, as_flag, as_sample
from ..operators import ALGORITHMS, DEGENERATE, Algorithm, Degenerate
from . import candidates
from .candidates import Candidates
from .chunks import Chunks, as_chunks
from .trees import reduced
from .workers import Workers, workers

Matrix = NDArray[np.float64]
# Rows whose operators are summed together: consecutive ones, or a group of a sample.
Group = range | NDArray[np.int64]
Mode = Literal["auto", "replicated", "sharded"]

MODES = ("auto", "replicated", "sharded")

# The index in double precision, its parts while they are joined, and half of it again in every thread.
_COPIES, _COPIES_PER_THREAD = 2.0, 0.5
# How much of a worker's memory the index may take.
_SHARE = 0.4
# Bytes of one list of candidates; a task holds three while it merges two.
_LIST_BYTES = 64 << 20
# Groups of a sample, as in the Rust core.
_GROUPS = 32


def mean_shape_operator(
    X: Any,
    k: int,
    *,
    degenerate: Degenerate = "average",
    algorithm: Algorithm = "auto",
    mode: Mode = "auto",
    sample: int | None = None,
    random_state: int = 0,
    return_error: bool = False,
) -> da.Array | tuple[da.Array, da.Array]:
    """Mean shape operator of a dask array or dataframe.

    The neighbours are exact over all rows, whatever the chunks: the result is that of
    `shopca_rs.mean_shape_operator` up to rounding errors of the sum.

    Parameters
    ----------
    X : dask array of shape (n, d) or dask dataframe
        Points as rows. Unknown sizes of chunks are found by computing them once.
    k : int
        Number of neighbours, from 2 to n − 1.
    degenerate, algorithm, sample, random_state, return_error
        As in `shopca_rs.mean_shape_operator`.
    mode : {"auto", "replicated", "sharded"}, default="auto"
        "replicated" sends all rows to every worker once; "sharded" compares each block of queries with one
        chunk after the other, and no task holds more than its queries, one chunk and their candidates. "auto"
        takes the first where a few copies of the rows fit into 40 % of the smallest worker's memory.

    Returns
    -------
    mean : dask array of shape (d, d)
        S̄, not yet computed.
    standard_error : dask array of shape (d, d)
        Only with `return_error`.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from shopca_rs.dask import mean_shape_operator
    >>> t = np.linspace(-1, 1, 200)
    >>> S = mean_shape_operator(da.from_array(np.c_[t, t**2], chunks=(50, 2)), k=8)
    >>> bool(np.trace(S.compute()) < 0)
    True
    """
    as_flag(return_error, "return_error")
    chunks = as_chunks(X)
    both = delayed_mean(chunks, k, degenerate, algorithm, mode, sample, random_state)
    shape = (chunks.dim, chunks.dim)
    mean, error = (da.from_delayed(both[place], shape, np.float64) for place in range(2))
    return (mean, error) if return_error else mean


def delayed_mean(
    chunks: Chunks,
    k: int,
    degenerate: Degenerate,
    algorithm: Algorithm,
    mode: str,
    sample: int | None,
    random_state: int,
) -> Delayed:
    """Build the graph of S̄ and its standard error.

    Parameters
    ----------
    chunks : Chunks
        The rows.
    k, degenerate, algorithm, mode, sample, random_state
        As in `mean_shape_operator`.

    Returns
    -------
    Delayed
        A pair of ndarrays of shape (d, d).
    """
    k = _checked_k(k, chunks.rows)
    as_choice(degenerate, "degenerate", DEGENERATE)
    as_choice(algorithm, "algorithm", ALGORITHMS)
    as_choice(mode, "mode", MODES)
    chosen = as_sample(sample, random_state, chunks.rows)
    crew = workers()
    if mode == "auto":
        mode = "replicated" if _fits(chunks, crew) else "sharded"
    if chosen is None:
        blocks = _blocks_of_all(chunks, k, mode, crew)
    else:
        blocks = _blocks_of_sample(chosen, k, chunks.dim, crew)
    if mode == "replicated":
        whole = delayed(_join, pure=True)(chunks.parts)
        sums = [delayed(_sums_of_rows, pure=True)(whole, block, k, degenerate, algorithm) for block in blocks]
    else:
        sums = [_sharded_sums(chunks, block, k, degenerate, algorithm) for block in blocks]
    if chosen is None:
        return delayed(_mean_of_all, pure=True)(reduced(sums, np.add), chunks.rows)
    sizes = [len(group) for block in blocks for group in block]
    return delayed(_mean_of_sample, pure=True)(sums, sizes, chunks.rows)


def _checked_k(k: Any, rows: int) -> int:
    count = as_count(k, "k", 2)
    if count > rows - 1:
        raise ValueError(
            f"k must be at most n − 1 = {rows - 1} (a point is not its own neighbour), got {count}. "
            "Lower it, or give more rows."
        )
    return count


def _fits(chunks: Chunks, crew: Workers) -> bool:
    index = 8 * chunks.rows * chunks.dim
    return index * (_COPIES + _COPIES_PER_THREAD * crew.threads_each) <= _SHARE * crew.memory


def _blocks_of_all(chunks: Chunks, k: int, mode: str, crew: Workers) -> list[list[Group]]:
    """Cut all rows into blocks of one group: enough for every thread, none with more candidates than fit."""
    if mode == "replicated":
        size = min(max(-(-chunks.rows // (4 * crew.threads)), 1024), 1 << 16)
        return [[range(first, min(first + size, chunks.rows))] for first in range(0, chunks.rows, size)]
    size = max(_LIST_BYTES // _bytes_per_query(k, chunks.dim), 1)
    return [
        [range(start, min(start + size, first + rows))]
        for first, rows in zip(chunks.firsts, chunks.sizes, strict=True)
        for start in range(first, first + rows, size)
    ]


def _blocks_of_sample(chosen: NDArray[np.int64], k: int, dim: int, crew: Workers) -> list[list[Group]]:
    """Cut a sample into the groups of its standard error, and these into blocks."""
    groups: list[Group] = list(np.split(chosen, _group_cuts(len(chosen))[1:-1]))
    least = len(chosen) * _bytes_per_query(k, dim) // _LIST_BYTES
    count = min(max(crew.threads, least), len(groups))
    cuts = [len(groups) * place // count for place in range(count + 1)]
    return [groups[start:stop] for start, stop in pairwise(cuts)]


def _group_cuts(count: int) -> list[int]:
    """Return where the groups of a sample begin, and the end of the last: as in the Rust core."""
    groups = min(_GROUPS, count)
    return [group * count // groups for group in range(groups + 1)]


def _bytes_per_query(k: int, dim: int) -> int:
    return 8 * (k + 1) * (dim + 2)


def _sharded_sums(
    chunks: Chunks, block: list[Group], k: int, degenerate: Degenerate, algorithm: Algorithm
) -> Delayed:
    """Walk one block of queries through all chunks, then sum its groups."""
    rows = block[0] if len(block) == 1 else np.concatenate([np.asarray(group) for group in block])
    queries = _queries(chunks, rows)
    extend = delayed(_extended, pure=True)
    state: Any = None
    for part, first in zip(chunks.parts, chunks.firsts, strict=True):
        state = extend(state, queries, rows, part, first, k, algorithm)
    sizes = [len(group) for group in block]
    return delayed(_sums_of_candidates, pure=True)(state, sizes, degenerate)


def _queries(chunks: Chunks, rows: Group) -> Delayed:
    """Gather the coordinates of some rows: of consecutive ones within a chunk, or of any."""
    firsts = np.asarray(chunks.firsts)
    if isinstance(rows, range):
        number = int(np.searchsorted(firsts, rows.start, side="right")) - 1
        first = chunks.firsts[number]
        return delayed(_sliced, pure=True)(chunks.parts[number], rows.start - first, rows.stop - first)
    owner = np.searchsorted(firsts, rows, side="right") - 1
    places = [np.flatnonzero(owner == number) for number in np.unique(owner)]
    picks = [
        delayed(_picked, pure=True)(chunks.parts[number], rows[place] - chunks.firsts[number])
        for number, place in zip(np.unique(owner), places, strict=True)
    ]
    return delayed(_assembled, pure=True)(picks, places)


# What runs on the workers. Each on one thread: a worker runs as many tasks at once as it has threads.


def _join(parts: Sequence[NDArray[Any]]) -> Matrix:
    return np.concatenate(parts, axis=0, dtype=np.float64)


def _sliced(part: NDArray[Any], start: int, stop: int) -> Matrix:
    return np.ascontiguousarray(part[start:stop], dtype=np.float64)


def _picked(part: NDArray[Any], rows: NDArray[np.int64]) -> Matrix:
    return np.ascontiguousarray(part[rows], dtype=np.float64)


def _assembled(picks: Sequence[Matrix], places: Sequence[NDArray[np.intp]]) -> Matrix:
    queries = np.empty((sum(map(len, places)), picks[0].shape[1]))
    for pick, place in zip(picks, places, strict=True):
        queries[place] = pick
    return queries


def _sums_of_rows(
    whole: Matrix, block: Sequence[Group], k: int, degenerate: Degenerate, algorithm: Algorithm
) -> Matrix:
    """Σ S of each group, with all rows at hand."""
    rows = np.concatenate([np.asarray(group, dtype=np.int64) for group in block])
    neighbors, _ = _core.k_neighbors(
        x=whole, k=k, queries=None, points=rows, algorithm=algorithm, n_jobs=1, progress=None
    )
    return _sums(whole, neighbors, [len(group) for group in block], degenerate)


def _extended(
    state: Candidates | None,
    queries: Matrix,
    rows: Group,
    chunk: NDArray[Any],
    first: int,
    k: int,
    algorithm: Algorithm,
) -> Candidates:
    """Let a block of queries see one more chunk."""
    before = candidates.none(*queries.shape) if state is None else state
    found = candidates.find(queries, np.asarray(rows, dtype=np.int64), chunk, first, k, algorithm)
    return candidates.merge(before, found, k)


def _sums_of_candidates(state: Candidates, sizes: Sequence[int], degenerate: Degenerate) -> Matrix:
    """Σ S of each group, from the coordinates of the neighbours."""
    count, k, dim = state.points.shape
    neighbors = np.arange(count * k, dtype=np.int64).reshape(count, k)
    return _sums(state.points.reshape(-1, dim), neighbors, sizes, degenerate)


def _sums(
    points: Matrix, neighbors: NDArray[np.int64], sizes: Sequence[int], degenerate: Degenerate
) -> Matrix:
    groups = np.split(neighbors, np.cumsum(sizes)[:-1])
    return np.stack(
        [
            _core.shape_sum(x=points, neighbors=group, degenerate=degenerate, n_jobs=1, progress=None)
            for group in groups
        ]
    )


def _mean_of_all(total: Matrix, rows: int) -> tuple[Matrix, Matrix]:
    mean = total[0] / rows
    return mean, np.zeros_like(mean)


def _mean_of_sample(sums: Sequence[Matrix], sizes: Sequence[int], rows: int) -> tuple[Matrix, Matrix]:
    """S̄ and SE² = (1 − m/n) / (m (G − 1)) · Σ_g m_g (S̄_g − S̄)²."""
    by_group = np.concatenate(sums)
    weights = np.asarray(sizes, dtype=np.float64)
    count = weights.sum()
    mean = by_group.sum(axis=0) / count
    gaps = by_group / weights[:, None, None] - mean
    squares = np.einsum("g,gij,gij->ij", weights, gaps, gaps)
    return mean, np.sqrt((1 - count / rows) / (count * (len(weights) - 1)) * squares)
