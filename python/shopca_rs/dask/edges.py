"""The graph of nearest neighbours of a dask collection, as sums over its edges.

In memory an edge is there once, whoever found it: A_ij = 1 if i is among the k neighbours of j or j among
those of i. Here every row has its own list of neighbours. An edge that both ends list counts one half in
each, so that sums over the graph are sums over the lists. Row i is in the list of j if (squared distance, i)
is no more than that of the last in the list: its reach, two numbers for each row, found by a first search.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from dask.delayed import Delayed, delayed
from numpy.typing import NDArray

from .. import _core
from ..neighbors import Algorithm
from ..spectrum import symmetric_part
from .blocks import Group, blocks_of_all
from .candidates import Columns
from .chunks import Chunks
from .neighborhoods import Neighborhoods, Searcher
from .operators import join, loaded
from .tree_reduction import reduced
from .weighted_rows import with_columns
from .workers import Workers

Matrix = NDArray[np.float64]

# Numbers in a block of coordinates of neighbours: 2 MB, which stay in the cache of a core.
_BLOCK = 2**18


class EdgeSums(NamedTuple):
    """Sums over some lists of neighbours, of points x about a centre.

    c is A_ij, the product of the weights of both ends or 1, or half of it for what both ends list.

    Attributes
    ----------
    total : float
        2 Σ c, the sum of all degrees.
    first : ndarray of shape (d,)
        Σ c (x_i + x_j) = Σ_i D_i x_i.
    second : ndarray of shape (d, d)
        Σ c (x_i x_iᵀ + x_j x_jᵀ) = Σ_i D_i x_i x_iᵀ.
    scatter : ndarray of shape (d, d)
        Σ c (x_i − x_j)(x_i − x_j)ᵀ = Xᵀ(D − A)X.
    """

    total: float
    first: Matrix
    second: Matrix
    scatter: Matrix

    def local_scatter(self) -> Matrix:
        """Return Xᵀ(D − A)X / ΣD.

        Returns
        -------
        ndarray of shape (d, d)
            Symmetric to the last bit.
        """
        return symmetric_part(self.scatter / self.total)

    def degree_covariance(self) -> Matrix:
        """Return Σ_D, the covariance of the points weighted by their degrees.

        Returns
        -------
        ndarray of shape (d, d)
            Symmetric to the last bit.
        """
        mean = self.first / self.total
        return symmetric_part(self.second / self.total - np.outer(mean, mean))


def edge_sums(
    chunks: Chunks,
    k: int,
    algorithm: Algorithm,
    mode: str,
    crew: Workers,
    centre: Matrix,
    exponent: int,
    weights: Matrix | None = None,
) -> Delayed:
    """Build the graph of the sums over all edges.

    Parameters
    ----------
    chunks : Chunks
        The rows.
    k : int
        Number of neighbours.
    algorithm : str
        How to search.
    mode : str
        "replicated" or "sharded".
    crew : Workers
        The workers that will compute.
    centre : ndarray of shape (d,)
        Subtracted from all points. It must be near their middle, or Σ_D loses digits.
    exponent : int
        The sums are over points in units of 2 to this power.
    weights : ndarray of shape (n,), default=None
        Of the rows.

    Returns
    -------
    Delayed
        `EdgeSums`.
    """
    blocks = blocks_of_all(chunks, k, mode, crew)
    finish = partial(_sums, centre=centre, exponent=exponent)
    if mode == "replicated":
        whole = delayed(join, pure=True)(loaded(chunks))
        lists = [delayed(_lists, pure=True)(whole, block[0], k, algorithm) for block in blocks]
        reach = delayed(_reach_of_lists, pure=True)(lists, weights)
        sums = [
            delayed(_sums_in_whole, pure=True)(whole, reach, block[0], found, finish)
            for block, found in zip(blocks, lists, strict=True)
        ]
    else:
        searcher, d = Searcher(algorithm, mode, crew), chunks.dim
        reach = delayed(_joined, pure=True)(searcher.each(chunks, blocks, k, _reach), weights)
        width = d + (2 if weights is None else 3)
        wider = replace(with_columns(chunks, reach), dim=width)
        columns = Columns(searched=slice(0, d), extra=slice(d, width))
        sums = searcher.each(wider, blocks_of_all(wider, k, mode, crew), k, finish, columns)
    return reduced(sums, _added)


# These run on the workers, each on one thread: a worker runs as many tasks at once as it has threads.


def _lists(whole: Matrix, rows: Group, k: int, algorithm: Algorithm) -> tuple[NDArray[np.int64], Matrix]:
    return _core.k_neighbors(
        x=whole,
        k=k,
        queries=None,
        points=np.asarray(rows, dtype=np.int64),
        algorithm=algorithm,
        n_jobs=1,
        progress=None,
    )


def _reach_of_lists(lists: Sequence[tuple[NDArray[np.int64], Matrix]], weights: Matrix | None) -> Matrix:
    return _joined([np.column_stack([squared[:, -1], rows[:, -1]]) for rows, squared in lists], weights)


def _joined(reach: Sequence[Matrix], weights: Matrix | None) -> Matrix:
    together = np.concatenate(reach)
    return together if weights is None else np.column_stack([together, weights])


def _reach(found: Neighborhoods) -> Matrix:
    return np.column_stack([found.squared[:, -1], found.numbers[found.lists[:, -1]]])


def _sums_in_whole(
    whole: Matrix, reach: Matrix, rows: Group, found: tuple[NDArray[np.int64], Matrix], finish: Any
) -> Any:
    numbers = np.arange(len(whole))
    centres = np.asarray(rows, dtype=np.int64)
    return finish(Neighborhoods(whole[centres], whole, reach, numbers, centres, *found, sizes=[len(rows)]))


def _sums(found: Neighborhoods, centre: Matrix, exponent: int) -> EdgeSums:
    count, k = found.lists.shape
    d = len(centre)
    total, first, second, scatter = 0.0, np.zeros(d), np.zeros((d, d)), np.zeros((d, d))
    length = max(_BLOCK // (k * d), 1)
    for start in range(0, count, length):
        some = slice(start, start + length)
        centres, lists, squared = found.centres[some], found.lists[some], found.squared[some]
        last, number, *weights = np.moveaxis(found.extra[lists], 2, 0)
        both = (squared < last) | ((squared == last) & (found.numbers[centres][:, None] <= number))
        share = np.where(both, 0.5, 1.0)
        if weights:
            share *= found.extra[centres, 2][:, None] * weights[0]
        own = np.ldexp(found.table[centres] - centre, -exponent)
        others = np.ldexp(found.table[lists] - centre, -exponent)
        along = np.sqrt(share)[:, :, None] * (others - own[:, None])
        along = along.reshape(-1, d)
        scatter += along.T @ along
        ends = np.concatenate([own, others.reshape(-1, d)])
        mass = np.concatenate([share.sum(axis=1), share.ravel()])
        total += float(mass.sum())
        first += mass @ ends
        ends *= np.sqrt(mass)[:, None]
        second += ends.T @ ends
    return EdgeSums(total, first, second, scatter)


def _added(one: EdgeSums, other: EdgeSums) -> EdgeSums:
    return EdgeSums(
        one.total + other.total,
        one.first + other.first,
        one.second + other.second,
        one.scatter + other.scatter,
    )
