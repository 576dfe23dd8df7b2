"""The mean shape operator of a dask collection, as one lazy graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import dask.array as da
import numpy as np
from dask.delayed import Delayed, delayed
from numpy.typing import NDArray

from .. import _core
from ..arguments import RandomState, as_choice, as_count, as_flag, as_sample
from ..neighbors import ALGORITHMS, Algorithm
from ..operators import DEGENERATE, Degenerate, with_own_rows
from .blocks import (
    Group,
    Matrix,
    blocks_of_all,
    blocks_of_sample,
    mean_and_error,
    rows_of,
    sums_of_groups,
)
from .chunks import Chunks, as_chunks
from .streaming import Search, sharded_sums
from .tree_reduction import reduced
from .weighted_rows import as_weighted_chunks
from .workers import Workers, workers

Mode = Literal["auto", "replicated", "sharded"]

MODES = ("auto", "replicated", "sharded")

# The index in double precision, its parts while they are joined, and half of it again in every thread.
_COPIES, _COPIES_PER_THREAD = 2.0, 0.5
# How much of a worker's memory the index may take.
_SHARE = 0.4


def mean_shape_operator(
    X: Any,
    k: int,
    *,
    include_self: bool = False,
    degenerate: Degenerate = "average",
    algorithm: Algorithm = "auto",
    mode: Mode = "auto",
    sample: int | None = None,
    random_state: RandomState = 0,
    return_error: bool = False,
    sample_weight: Any = None,
) -> da.Array | tuple[da.Array, da.Array]:
    """Mean shape operator of a dask array or dataframe.

    The neighbours are exact over all rows, whatever the chunks: the result is that of
    `shopca_rs.mean_shape_operator` up to rounding errors of the sum.

    Parameters
    ----------
    X : dask array of shape (n, d) or dask dataframe
        Points as rows. Unknown chunk sizes are computed once.
    k : int
        Number of neighbours, from 2 to n − 1.
    include_self, degenerate, algorithm, sample, random_state, return_error
        As in `shopca_rs.mean_shape_operator`.
    mode : {"auto", "replicated", "sharded"}, default="auto"
        "replicated" sends all rows to every worker once; "sharded" compares each block of queries with one
        chunk after the other, and a thread holds one block, one chunk and their candidates, unless the rows
        are in memory already (the user guide says when). "auto" takes the first where a few copies of the
        rows fit into 40 % of the smallest worker's memory.
    sample_weight : array-like or dask array of shape (n,), optional
        Weights of the rows, as in `shopca_rs.mean_shape_operator`. Lazy ones are computed at once.

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
    chunks, weights = as_weighted_chunks(as_chunks(X), sample_weight)
    both = delayed_mean(
        chunks,
        k,
        include_self=include_self,
        degenerate=degenerate,
        algorithm=algorithm,
        mode=mode,
        sample=sample,
        random_state=random_state,
        weights=weights,
    )
    shape = (chunks.dim, chunks.dim)
    mean, error = (da.from_delayed(both[place], shape, np.float64) for place in range(2))
    return (mean, error) if return_error else mean


def delayed_mean(
    chunks: Chunks,
    k: int,
    *,
    include_self: bool,
    degenerate: Degenerate,
    algorithm: Algorithm,
    mode: str,
    sample: int | None,
    random_state: RandomState,
    weights: Matrix | None,
) -> Delayed:
    """Build the graph of S̄ and its standard error.

    Parameters
    ----------
    chunks : Chunks
        The rows.
    k, include_self, degenerate, algorithm, mode, sample, random_state
        As in `mean_shape_operator`.
    weights : ndarray of shape (n,) or None
        Of the rows, all above 0.

    Returns
    -------
    Delayed
        A pair of ndarrays of shape (d, d).
    """
    k = _checked_k(k, chunks.rows)
    own = as_flag(include_self, "include_self")
    as_choice(degenerate, "degenerate", DEGENERATE)
    as_choice(algorithm, "algorithm", ALGORITHMS)
    as_choice(mode, "mode", MODES)
    chosen = as_sample(sample, random_state, chunks.rows)
    crew = workers()
    mode = chosen_mode(mode, chunks.rows, chunks.dim, crew)
    if chosen is None:
        blocks = blocks_of_all(chunks, k, mode, crew)
    else:
        blocks = blocks_of_sample(chosen, k, chunks.dim, crew)
    given = [None if weights is None else weights[rows_of(block)] for block in blocks]
    if mode == "replicated":
        whole = delayed(join, pure=True)(loaded(chunks))
        sums = [
            delayed(_sums_of_rows, pure=True)(whole, block, weight, k, own, degenerate, algorithm)
            for block, weight in zip(blocks, given, strict=True)
        ]
    else:
        sums = sharded_sums(chunks, blocks, Search(k, algorithm), given, own, degenerate, crew)
    if chosen is None:
        total = chunks.rows if weights is None else float(weights.sum())
        return delayed(_mean_of_all, pure=True)(reduced(sums, np.add), total)
    groups = [group for block in blocks for group in block]
    sizes = [len(group) for group in groups]
    totals = sizes if weights is None else [float(weights[group].sum()) for group in groups]
    return delayed(_mean_of_sample, pure=True)(sums, sizes, totals, chunks.rows)


def _checked_k(k: Any, rows: int) -> int:
    count = as_count(k, "k", 2)
    if count > rows - 1:
        raise ValueError(
            f"k must be at most n − 1 = {rows - 1} (a point is not its own neighbour), got {count}. "
            "Lower it, or give more rows."
        )
    return count


def chosen_mode(mode: str, rows: int, dim: int, crew: Workers) -> str:
    """Return "replicated" or "sharded": as given, or by the memory of the workers.

    Parameters
    ----------
    mode : str
        One of `MODES`.
    rows, dim : int
        The size of the table that would be on every worker.
    crew : Workers
        The workers that will compute.

    Returns
    -------
    str
        The mode.
    """
    if mode != "auto":
        return mode
    table = 8 * rows * dim
    fits = table * (_COPIES + _COPIES_PER_THREAD * crew.threads_each) <= _SHARE * crew.memory
    return "replicated" if fits else "sharded"


def loaded(chunks: Chunks) -> list[Delayed]:
    """Return the rows of each chunk as a task.

    Parameters
    ----------
    chunks : Chunks
        The rows.

    Returns
    -------
    list of Delayed
        ndarrays, for `join`.
    """
    return [part.apply(_loaded) for part in chunks.parts]


# These run on the workers, each on one thread: a worker runs as many tasks at once as it has threads.


def _loaded(part: NDArray[Any]) -> NDArray[Any]:
    return part


def join(parts: Sequence[NDArray[Any]]) -> Matrix:
    """Return all rows as one table.

    Parameters
    ----------
    parts : sequence of ndarray
        The rows of each chunk.

    Returns
    -------
    ndarray of shape (n, d)
        In double precision.
    """
    return np.concatenate(parts, axis=0, dtype=np.float64)


def _sums_of_rows(
    whole: Matrix,
    block: Sequence[Group],
    weights: Matrix | None,
    k: int,
    include_self: bool,
    degenerate: Degenerate,
    algorithm: Algorithm,
) -> Matrix:
    """Σ S of each group, or Σ w S, with all rows in memory."""
    rows = rows_of(block)
    neighbors, _ = _core.k_neighbors(
        x=whole, k=k, queries=None, points=rows, algorithm=algorithm, n_jobs=1, progress=None
    )
    if include_self:
        neighbors = with_own_rows(neighbors, rows)
    return sums_of_groups(whole, neighbors, [len(group) for group in block], weights, degenerate)


def _mean_of_all(sums: Matrix, weight: float) -> tuple[Matrix, Matrix]:
    mean = sums[0] / weight
    return mean, np.zeros_like(mean)


def _mean_of_sample(
    sums: Sequence[Matrix], sizes: Sequence[int], weights: Sequence[float], rows: int
) -> tuple[Matrix, Matrix]:
    return mean_and_error([group for block in sums for group in block], sizes, weights, rows)
