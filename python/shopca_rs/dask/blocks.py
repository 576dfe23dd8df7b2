"""Rows whose operators are summed together, and the blocks of them that are computed at once."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..operators import Degenerate
from .chunks import Chunks
from .workers import Workers

Matrix = NDArray[np.float64]
# Consecutive rows, or a group of a sample.
Group = range | NDArray[np.int64]

# Bytes of one list of candidates, and their share of the memory that a worker has for each thread.
_LIST_BYTES, _LIST_SHARE = 64 << 20, 16


def blocks_of_all(chunks: Chunks, k: int, mode: str, crew: Workers) -> list[list[Group]]:
    """Cut all rows into blocks of one group: enough for every thread, none with more candidates than fit.

    Parameters
    ----------
    chunks : Chunks
        The rows.
    k : int
        Number of neighbours.
    mode : str
        In "sharded" no block has rows of two chunks.
    crew : Workers
        The workers that will compute.

    Returns
    -------
    list of list of range
        The blocks, each with its one group.
    """
    if mode == "replicated":
        size = min(max(-(-chunks.rows // (4 * crew.threads)), 1024), 1 << 16)
        return [[range(first, min(first + size, chunks.rows))] for first in range(0, chunks.rows, size)]
    most = max(_list_bytes(crew) // _bytes_per_query(k, chunks.dim), 1)
    blocks: list[list[Group]] = []
    for first, rows in zip(chunks.firsts, chunks.sizes, strict=True):
        count = -(-rows // most)
        cuts = [first + rows * place // count for place in range(count + 1)]
        blocks.extend([range(start, stop)] for start, stop in pairwise(cuts))
    return blocks


def blocks_of_sample(chosen: NDArray[np.int64], k: int, dim: int, crew: Workers) -> list[list[Group]]:
    """Cut a sample into the groups of its standard error, and these into blocks.

    Parameters
    ----------
    chosen : ndarray of int
        Row numbers, in random order.
    k : int
        Number of neighbours.
    dim : int
        Number of columns.
    crew : Workers
        The workers that will compute.

    Returns
    -------
    list of list of ndarray
        The blocks, each with some groups.
    """
    groups: list[Group] = list(np.split(chosen, _core.group_cuts(len(chosen))[1:-1]))
    least = len(chosen) * _bytes_per_query(k, dim) // _list_bytes(crew)
    count = min(max(crew.threads, least), len(groups))
    cuts = [len(groups) * place // count for place in range(count + 1)]
    return [groups[start:stop] for start, stop in pairwise(cuts)]


def blocks_of_rows(rows: NDArray[np.int64], k: int, dim: int, crew: Workers) -> list[list[Group]]:
    """Cut some rows into blocks of one group, in their order.

    Parameters
    ----------
    rows : ndarray of int
        Row numbers.
    k : int
        Number of neighbours.
    dim : int
        Numbers that are kept of a neighbour.
    crew : Workers
        The workers that will compute.

    Returns
    -------
    list of list of ndarray
        The blocks, each with its one group: one for each thread, or more if their candidates do not fit.
    """
    cuts = _row_cuts(len(rows), k, dim, crew)
    return [[rows[start:stop]] for start, stop in pairwise(cuts)]


def blocks_of_lists(
    lists: NDArray[np.int64], k: int, dim: int, crew: Workers
) -> tuple[list[list[Group]], list[list[int]]]:
    """Cut lists of rows into blocks, as many as for all their rows together.

    Parameters
    ----------
    lists : ndarray of int, shape (count, length)
        Row numbers.
    k, dim, crew
        As in `blocks_of_rows`.

    Returns
    -------
    blocks : list of list of ndarray
        The blocks. Each of their groups has rows of one list.
    owners : list of list of int
        For each group of each block the number of its list.
    """
    count, length = lists.shape
    blocks: list[list[Group]] = []
    owners: list[list[int]] = []
    for start, stop in pairwise(_row_cuts(count * length, k, dim, crew)):
        owner = list(range(start // length, -(-stop // length)))
        ends = [(max(start, each * length), min(stop, (each + 1) * length)) for each in owner]
        blocks.append([lists.ravel()[first:last] for first, last in ends])
        owners.append(owner)
    return blocks, owners


def _row_cuts(rows: int, k: int, dim: int, crew: Workers) -> list[int]:
    most = max(_list_bytes(crew) // _bytes_per_query(k, dim), 1)
    count = min(max(-(-rows // most), crew.threads), rows)
    return [rows * place // max(count, 1) for place in range(count + 1)]


def rows_of(block: Sequence[Group]) -> NDArray[np.int64]:
    """Return the rows of all groups of a block.

    Parameters
    ----------
    block : sequence of groups
        Row numbers.

    Returns
    -------
    ndarray of int
        The same, one group after the other.
    """
    return np.concatenate([np.asarray(group, dtype=np.int64) for group in block])


def sums_of_groups(
    points: Matrix,
    neighbors: NDArray[np.int64],
    sizes: Sequence[int],
    weights: Matrix | None,
    degenerate: Degenerate,
) -> Matrix:
    """Σ S of each group, or Σ w S.

    Parameters
    ----------
    points : ndarray of shape (n, d)
        Rows.
    neighbors : ndarray of int, shape (q, k)
        The neighbours of each point of all groups, as rows of `points`.
    sizes : sequence of int
        Points of each group.
    weights : ndarray of shape (q,) or None
        Of the points of all groups.
    degenerate : str
        As in `shopca_rs.mean_shape_operator`.

    Returns
    -------
    ndarray of shape (groups, d, d)
        The sums.
    """
    cuts = np.cumsum(sizes)[:-1]
    own: Sequence[Matrix | None] = [None] * len(sizes) if weights is None else np.split(weights, cuts)
    return np.stack(
        [
            _core.shape_sum(
                x=points, neighbors=group, degenerate=degenerate, n_jobs=1, progress=None, weights=weight
            )
            for group, weight in zip(np.split(neighbors, cuts), own, strict=True)
        ]
    )


def mean_and_error(
    sums: Sequence[Matrix], sizes: Sequence[int], weights: Sequence[float], rows: int
) -> tuple[Matrix, Matrix]:
    """Return S̄ of a sample and its standard error.

    Parameters
    ----------
    sums : sequence of ndarray of shape (d, d)
        Σ S of each group, or Σ w S.
    sizes : sequence of int
        Points of each.
    weights : sequence of float
        Σ w of each; the same as `sizes` without weights.
    rows : int
        Number of all points, sampled or not.

    Returns
    -------
    mean, standard_error : ndarray of shape (d, d)
        S̄, and SE of each entry.
    """
    return _core.mean_of_groups(sums=list(sums), sizes=list(sizes), weights=list(weights), rows=rows)


def _list_bytes(crew: Workers) -> int:
    return min(_LIST_BYTES, crew.memory // (_LIST_SHARE * crew.threads_each))


def _bytes_per_query(k: int, dim: int) -> int:
    return 8 * (k + 1) * (dim + 2)
