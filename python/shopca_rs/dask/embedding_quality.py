"""How well an embedding keeps the neighbourhoods of data on dask."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, overload

import dask
import dask.array as da
import numpy as np
from dask.delayed import Delayed, delayed
from numpy.typing import NDArray

from .. import _core
from ..arguments import RandomState, as_choice, as_count, as_flag, as_points, as_sample
from ..evaluation.embedding_quality import Quality, named
from .blocks import Group, blocks_of_all, blocks_of_rows
from .chunks import Chunks, as_array, as_chunks
from .operators import MODES, Mode, chosen_mode, join, loaded
from .ranks import AllRanks, Counted, Counts, NeighborRanks, Tables
from .streaming import sharded
from .tree_reduction import reduced
from .workers import Workers, workers

# Bytes of the distances of a round, and their share of the memory that a worker has for each thread.
_BYTES, _SHARE = 64 << 20, 16


@overload
def trustworthiness(
    X: Any,
    Z: Any,
    n_neighbors: int = 5,
    *,
    sample: int | None = None,
    random_state: RandomState = 0,
    return_error: Literal[False] = False,
    mode: Mode = "auto",
) -> float: ...
@overload
def trustworthiness(
    X: Any,
    Z: Any,
    n_neighbors: int = 5,
    *,
    sample: int | None = None,
    random_state: RandomState = 0,
    return_error: Literal[True],
    mode: Mode = "auto",
) -> tuple[float, float]: ...
def trustworthiness(
    X: Any,
    Z: Any,
    n_neighbors: int = 5,
    *,
    sample: int | None = None,
    random_state: RandomState = 0,
    return_error: bool = False,
    mode: Mode = "auto",
) -> float | tuple[float, float]:
    """Trustworthiness of an embedding of a dask array or dataframe.

    It is computed when this is called, and equals that of `shopca_rs.trustworthiness` bit for bit.

    Parameters
    ----------
    X : dask array of shape (n, d) or dask dataframe
        The data, points as rows. Unknown chunk sizes are computed once.
    Z : dask array of shape (n, m), dask dataframe or array-like
        Their embedding by any method, in the same order. It is rechunked like X.
    n_neighbors, sample, random_state, return_error
        As in `shopca_rs.trustworthiness`.
    mode : {"auto", "replicated", "sharded"}, default="auto"
        As in `shopca_rs.dask.mean_shape_operator`. In "sharded" each block of queries goes through the chunks
        twice: for the neighbours in Z, then for their ranks in X.

    Returns
    -------
    value : float
        1 if all neighbours in Z are neighbours in X.
    standard_error : float
        Only with `return_error`.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> import shopca_rs
    >>> from shopca_rs.dask import trustworthiness
    >>> X = np.random.default_rng(0).normal(size=(300, 3)) * [5, 5, 1]
    >>> lazy = da.from_array(X, chunks=(100, 3))
    >>> trustworthiness(lazy, lazy[:, :2]) == shopca_rs.trustworthiness(X, X[:, :2])
    True
    """
    both = as_flag(return_error, "return_error")
    found = _one(X, Z, n_neighbors, sample, random_state, mode, reverse=False)
    return found if both else found[0]


@overload
def continuity(
    X: Any,
    Z: Any,
    n_neighbors: int = 5,
    *,
    sample: int | None = None,
    random_state: RandomState = 0,
    return_error: Literal[False] = False,
    mode: Mode = "auto",
) -> float: ...
@overload
def continuity(
    X: Any,
    Z: Any,
    n_neighbors: int = 5,
    *,
    sample: int | None = None,
    random_state: RandomState = 0,
    return_error: Literal[True],
    mode: Mode = "auto",
) -> tuple[float, float]: ...
def continuity(
    X: Any,
    Z: Any,
    n_neighbors: int = 5,
    *,
    sample: int | None = None,
    random_state: RandomState = 0,
    return_error: bool = False,
    mode: Mode = "auto",
) -> float | tuple[float, float]:
    """Continuity of an embedding of a dask array or dataframe.

    It is computed when this is called, and equals that of `shopca_rs.continuity` bit for bit.

    Parameters
    ----------
    X : dask array of shape (n, d) or dask dataframe
        The data, points as rows.
    Z : dask array of shape (n, m), dask dataframe or array-like
        Their embedding by any method, in the same order.
    n_neighbors, sample, random_state, return_error, mode
        As in `shopca_rs.dask.trustworthiness`.

    Returns
    -------
    value : float
        1 if all neighbours in X are neighbours in Z.
    standard_error : float
        Only with `return_error`.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> import shopca_rs
    >>> from shopca_rs.dask import continuity
    >>> X = np.random.default_rng(0).normal(size=(300, 3))
    >>> lazy = da.from_array(X, chunks=(100, 3))
    >>> continuity(lazy, X[:, :2]) == shopca_rs.continuity(X, X[:, :2])
    True
    """
    both = as_flag(return_error, "return_error")
    found = _one(X, Z, n_neighbors, sample, random_state, mode, reverse=True)
    return found if both else found[0]


def quality(
    X: Any,
    Z: Any,
    n_neighbors: int = 10,
    *,
    sample: int | None = None,
    random_state: RandomState = 0,
    mode: Mode = "auto",
) -> Quality:
    """Trustworthiness, continuity and the overlap of neighbourhoods of every size, of data on dask.

    It is computed when this is called, and equals what `shopca_rs.quality` returns bit for bit.

    Parameters
    ----------
    X : dask array of shape (n, d) or dask dataframe
        The data, points as rows.
    Z : dask array of shape (n, m), dask dataframe or array-like
        Their embedding by any method, in the same order.
    n_neighbors, sample, random_state
        As in `shopca_rs.quality`. The curves need all ranks: use a sample.
    mode : {"auto", "replicated", "sharded"}, default="auto"
        As in `shopca_rs.dask.mean_shape_operator`. In "sharded" a thread holds the distances of some queries
        from all rows, 16 n bytes each, and goes through the chunks once for each such batch.

    Returns
    -------
    Quality
        As `shopca_rs.quality` returns it.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> import shopca_rs
    >>> from shopca_rs.dask import quality
    >>> X = np.random.default_rng(0).normal(size=(300, 3)) * [5, 5, 1]
    >>> lazy = da.from_array(X, chunks=(100, 3))
    >>> result = quality(lazy, lazy[:, :2], sample=100)
    >>> result.auc == shopca_rs.quality(X, X[:, :2], sample=100).auc
    True
    """
    job = _job(X, Z, n_neighbors, sample, random_state, mode)
    n, k, sampled = job.tables.rows, job.k, job.chosen is not None
    if job.mode == "replicated":
        count = delayed(_counts_in_whole, pure=True)
        whole = job.whole()
        parts = [count(whole, job.tables, block, k, sampled) for block in job.blocks(1)]
    else:
        room = min(_BYTES, job.crew.memory // (_SHARE * job.crew.threads_each))
        purpose = AllRanks(job.tables, k, sampled, max(room // (16 * n), 1))
        blocks = job.blocks(1)
        parts = sharded(job.chunks, blocks, purpose, job.crew, [_counts] * len(blocks))
    counts: Counts = reduced(parts, Counts.joined).compute()
    return named(_core.quality_of_counts(*counts, k=k, n=n), k)


class _Job(NamedTuple):
    """Arguments, checked.

    Attributes
    ----------
    chunks : Chunks
        Rows with the columns of both tables.
    tables : Tables
        Where these are.
    k : int
        Number of neighbours.
    chosen : ndarray of int, optional
        The rows of a sample.
    mode : str
        "replicated" or "sharded".
    crew : Workers
        The workers that will compute.
    """

    chunks: Chunks
    tables: Tables
    k: int
    chosen: NDArray[np.int64] | None
    mode: str
    crew: Workers

    def blocks(self, k: int) -> list[list[Group]]:
        """Cut the rows to be scored into blocks whose lists of k candidates fit."""
        if self.chosen is None:
            return blocks_of_all(self.chunks, k, self.mode, self.crew)
        return blocks_of_rows(self.chosen, k, self.chunks.dim, self.crew)

    def whole(self) -> Delayed:
        """Return all rows as one table."""
        return delayed(join, pure=True)(loaded(self.chunks))


def _one(
    X: Any, Z: Any, n_neighbors: Any, sample: Any, random_state: Any, mode: Any, *, reverse: bool
) -> tuple[float, float]:
    """Return trustworthiness, or the reverse, and its standard error."""
    job = _job(X, Z, n_neighbors, sample, random_state, mode)
    tables, k, blocks = job.tables, job.k, job.blocks(job.k)
    if job.mode == "replicated":
        whole, penalties = job.whole(), delayed(_penalties_in_whole, pure=True)
        parts = [penalties(whole, tables, block, k, reverse) for block in blocks]
    else:
        near, ranked = (tables.x, tables.z) if reverse else (tables.z, tables.x)
        purpose = NeighborRanks(tables, k, near, ranked)
        parts = sharded(job.chunks, blocks, purpose, job.crew, [purpose.penalties] * len(blocks))
    return _core.penalty_estimate(np.concatenate(dask.compute(*parts)), k, tables.rows)


def _job(X: Any, Z: Any, n_neighbors: Any, sample: Any, random_state: Any, mode: Any) -> _Job:
    """Check what the three functions share."""
    k = as_count(n_neighbors, "n_neighbors", 1)
    as_choice(mode, "mode", MODES)
    x = as_array(X)
    n, d = x.shape
    z = _embedding(Z, x)
    m = z.shape[1]
    if 2 * k >= n:
        raise ValueError(
            f"n_neighbors must be at least 1 and less than n / 2 = {n / 2:g} for n = {n} rows, got {k}. "
            "Use fewer neighbours or more rows."
        )
    chosen = as_sample(sample, random_state, n)
    crew = workers()
    left, right = as_chunks(x), as_chunks(z, "Z")
    parts = [a.beside(b, _side_by_side) for a, b in zip(left.parts, right.parts, strict=True)]
    chunks = Chunks(parts, left.sizes, d + m)
    tables = Tables(n, len(parts), slice(0, d), slice(d, d + m))
    return _Job(chunks, tables, k, chosen, chosen_mode(mode, n, d + m, crew), crew)


def _embedding(Z: Any, x: da.Array) -> da.Array:
    """Return Z with the rows of each chunk of X in one chunk."""
    rows = x.chunks[0]
    if not isinstance(Z, da.Array) and not hasattr(Z, "to_dask_array"):
        points = as_points(Z, "Z")
        _check_rows(len(x), len(points))
        return da.from_array(points, chunks=(rows, -1))
    z = as_array(Z, "Z")
    _check_rows(len(x), len(z))
    return z if z.chunks[0] == rows else z.rechunk({0: rows})


def _check_rows(expected: int, given: int) -> None:
    if expected != given:
        raise ValueError(f"Z must have as many rows as X ({expected}), got {given}.")


# These run on the workers, each on one thread: a worker runs as many tasks at once as it has threads.


def _side_by_side(x: NDArray[Any], z: NDArray[Any]) -> NDArray[np.float64]:
    return np.concatenate([x, z], axis=1, dtype=np.float64)


def _rows(block: Sequence[Group]) -> NDArray[np.int64]:
    return np.concatenate([np.asarray(group, dtype=np.int64) for group in block])


def _penalties_in_whole(
    whole: NDArray[np.float64], tables: Tables, block: Sequence[Group], k: int, reverse: bool
) -> Counted:
    x, z = whole[:, tables.x], whole[:, tables.z]
    return _core.part_penalties(x=x, z=z, k=k, points=_rows(block), reverse=reverse, n_jobs=1)


def _counts_in_whole(
    whole: NDArray[np.float64], tables: Tables, block: Sequence[Group], k: int, sampled: bool
) -> Counts:
    x, z = whole[:, tables.x], whole[:, tables.z]
    return Counts(*_core.part_quality(x=x, z=z, k=k, points=_rows(block), sampled=sampled, n_jobs=1))


def _counts(walk: Any) -> Counts:
    counts: Counts = walk.counts
    return counts
