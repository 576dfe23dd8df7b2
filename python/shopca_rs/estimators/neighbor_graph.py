"""The graph of nearest neighbours, and the two covariances of the points that it defines.

A_ij = w_i w_j if i is among the neighbours of j or j among those of i, else 0; w is 1 without weights of the
rows. D_i = Σ_j A_ij are the degrees. The graph is kept as the list of its edges, never as a matrix.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..spectrum import symmetric_part

Matrix = NDArray[np.float64]

# Numbers in a block of differences: 1 MB, which stays in the cache of a core.
_BLOCK = 2**17


class NeighborGraph(NamedTuple):
    """The edges of a graph, each of them once.

    Attributes
    ----------
    first, second : ndarray of int, shape (e,)
        The ends of each edge, first < second, in the order of the pairs.
    weights : ndarray of shape (e,) or None
        A_ij of each edge; None if all are 1.
    degrees : ndarray of shape (n,)
        D.
    """

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    weights: Matrix | None
    degrees: Matrix


def neighbor_graph(
    neighbors: NDArray[np.int64], sample_weight: Matrix | None = None, *, overwrite: bool = False
) -> NeighborGraph:
    """Connect every point with its neighbours.

    Parameters
    ----------
    neighbors : ndarray of int, shape (n, k)
        The neighbours of each point, without the point itself.
    sample_weight : ndarray of shape (n,), default=None
        w.
    overwrite : bool, default=False
        Use the memory of `neighbors`, whose content is lost.

    Returns
    -------
    NeighborGraph
        The edges and degrees.

    Examples
    --------
    >>> graph = neighbor_graph(np.array([[1], [0], [1]]))
    >>> graph.first.tolist(), graph.second.tolist(), graph.degrees.tolist()
    ([0, 1], [1, 2], [1.0, 2.0, 1.0])
    """
    n = len(neighbors)
    pairs = _pairs(neighbors, out=neighbors if overwrite else None)
    pairs.sort()
    new = np.ones(len(pairs), dtype=bool)
    np.not_equal(pairs[1:], pairs[:-1], out=new[1:])
    edges = pairs[new]
    first, second = np.divmod(edges, n, out=(pairs[: len(edges)], edges))
    weights = None if sample_weight is None else sample_weight[first] * sample_weight[second]
    return NeighborGraph(first, second, weights, _degrees(n, first, second, weights))


def _pairs(neighbors: NDArray[np.int64], out: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
    """Return for every entry i, j of the lists the number n · min(i, j) + max(i, j)."""
    n, k = neighbors.shape
    pairs = np.empty((n, k), dtype=np.int64) if out is None else out
    rows = np.arange(n, dtype=np.int64)[:, None]
    for block in _blocks(n, k):
        own, other = rows[block], neighbors[block]
        pairs[block] = np.minimum(own, other) * n + np.maximum(own, other)
    return pairs.ravel()


def _degrees(
    n: int, first: NDArray[np.int64], second: NDArray[np.int64], weights: Matrix | None = None
) -> Matrix:
    degrees = sum(np.bincount(ends, weights, minlength=n) for ends in (first, second))
    return np.asarray(degrees, dtype=np.float64)


def local_scatter(points: Matrix, graph: NeighborGraph) -> Matrix:
    """Mean scatter of the points along the edges: Xᵀ(D − A)X / Σ_i D_i.

    It is summed as Σ A_ij (x_i − x_j)(x_i − x_j)ᵀ over the edges, which loses no digits where neighbours are
    near each other and far from the origin.

    Parameters
    ----------
    points : ndarray of shape (n, d)
        X.
    graph : NeighborGraph
        A and D.

    Returns
    -------
    ndarray of shape (d, d)
        The scatter, symmetric to the last bit.

    Examples
    --------
    >>> graph = neighbor_graph(np.array([[1], [0], [1]]))
    >>> local_scatter(np.array([[0.0], [1.0], [3.0]]), graph).tolist()
    [[1.25]]
    """
    return symmetric_part(_scatter(points, graph) / graph.degrees.sum())


def _scatter(points: Matrix, graph: NeighborGraph) -> Matrix:
    """Return Σ A_ij (x_i − x_j)(x_i − x_j)ᵀ over the edges."""
    d = points.shape[1]
    scatter = np.zeros((d, d))
    for block in _blocks(len(graph.first), d):
        along = points[graph.first[block]]
        along -= points[graph.second[block]]
        if graph.weights is not None:
            along *= np.sqrt(graph.weights[block])[:, None]
        scatter += along.T @ along
    return scatter


def degree_covariance(points: Matrix, graph: NeighborGraph) -> Matrix:
    """Covariance of the points, each weighted by its degree, about their mean with the same weights.

    Parameters
    ----------
    points : ndarray of shape (n, d)
        X.
    graph : NeighborGraph
        A and D.

    Returns
    -------
    ndarray of shape (d, d)
        Σ_D, symmetric to the last bit.

    Examples
    --------
    >>> graph = neighbor_graph(np.array([[1], [0], [1]]))
    >>> degree_covariance(np.array([[0.0], [1.0], [2.0]]), graph).tolist()
    [[0.5]]
    """
    return _weighted_covariance(points, graph.degrees)


def nested_covariances(
    points: Matrix, neighbors: NDArray[np.int64], counts: Sequence[int]
) -> Iterator[tuple[Matrix, Matrix]]:
    """Yield `local_scatter` and `degree_covariance` of the graphs of the first k neighbours, for several k.

    The graph of a smaller k is part of that of a larger one, so every edge is visited once.

    Parameters
    ----------
    points : ndarray of shape (n, d)
        X.
    neighbors : ndarray of int, shape (n, largest k)
        The neighbours of each point, nearest first, without the point itself.
    counts : sequence of int
        The k, ascending.

    Yields
    ------
    local_scatter, degree_covariance : ndarray of shape (d, d)
        Of the next k.

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [3.0]])
    >>> [scatter.tolist() for scatter, _ in nested_covariances(X, np.array([[1, 2], [0, 2], [1, 0]]), [1, 2])]
    [[[1.25]], [[2.3333333333333335]]]
    """
    n, most = neighbors.shape
    # An edge is there from the smaller one of its places in the lists of its two ends.
    keys = _pairs(neighbors) * most + np.tile(np.arange(most), n)
    keys.sort()
    pairs, places = np.divmod(keys, most)
    once = np.append(True, pairs[1:] != pairs[:-1])
    pairs, places = pairs[once], places[once]
    order = np.argsort(places, kind="stable")
    first, second = np.divmod(pairs[order], n)
    d = points.shape[1]
    scatter, degrees, start = np.zeros((d, d)), np.zeros(n), 0
    for stop in np.searchsorted(places[order], counts):
        ends = first[start:stop], second[start:stop]
        new = NeighborGraph(*ends, None, _degrees(n, *ends))
        scatter, degrees, start = scatter + _scatter(points, new), degrees + new.degrees, stop
        yield symmetric_part(scatter / degrees.sum()), _weighted_covariance(points, degrees)


def _weighted_covariance(points: Matrix, weights: Matrix) -> Matrix:
    n, d = points.shape
    total = weights.sum()
    mean = weights @ points / total
    scatter = np.zeros((d, d))
    for block in _blocks(n, d):
        deviations = points[block] - mean
        deviations *= np.sqrt(weights[block])[:, None]
        scatter += deviations.T @ deviations
    return symmetric_part(scatter / total)


def _blocks(n: int, d: int) -> Iterator[slice]:
    """Yield blocks of rows of fixed size in fixed order: the same sum on any number of threads."""
    length = max(_BLOCK // d, 1)
    for start in range(0, n, length):
        yield slice(start, start + length)
