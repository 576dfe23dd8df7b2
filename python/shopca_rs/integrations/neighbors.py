"""Exact neighbours in the precomputed formats of other libraries."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..estimators.neighbors import KNeighborsTransformer, Metric, NearestNeighbors

# As in PaCMAP: more candidates than pairs, and a scale from the fourth to the sixth neighbour.
_MORE_CANDIDATES = 50
_SCALE_FROM = slice(3, 6)
_SMALLEST_SCALE = 1e-10


def umap_neighbors(
    X: ArrayLike,
    n_neighbors: int = 15,
    *,
    metric: Metric = "euclidean",
    metric_params: dict[str, Any] | None = None,
    n_jobs: int | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Neighbours for ``umap.UMAP(precomputed_knn=...)``.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Points as rows.
    n_neighbors : int, default=15
        As in UMAP: the point itself is one of them.
    metric, metric_params, n_jobs
        As in `shopca_rs.NearestNeighbors`.

    Returns
    -------
    indices, distances : ndarray of shape (n, n_neighbors)
        The neighbours, nearest first, starting with the point itself.

    Notes
    -----
    UMAP warns that a model with precomputed neighbours cannot transform new points.

    Examples
    --------
    >>> from shopca_rs.integrations.neighbors import umap_neighbors
    >>> indices, distances = umap_neighbors([[0.0], [1.0], [3.0], [7.0]], n_neighbors=3)
    >>> indices.tolist()
    [[0, 1, 2], [1, 0, 2], [2, 1, 0], [3, 2, 1]]
    """
    transformer = KNeighborsTransformer(
        n_neighbors - 1, metric=metric, metric_params=metric_params, n_jobs=n_jobs
    )
    graph = transformer.fit_transform(X)
    shape = (graph.shape[0], n_neighbors)
    return graph.indices.astype(np.int64).reshape(shape), graph.data.reshape(shape)


def opentsne_neighbors(
    X: ArrayLike,
    n_neighbors: int = 90,
    *,
    metric: Metric = "euclidean",
    metric_params: dict[str, Any] | None = None,
    n_jobs: int | None = None,
) -> Any:
    """Neighbours for openTSNE's affinities: ``PerplexityBasedNN(knn_index=...)``.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Points as rows.
    n_neighbors : int, default=90
        Three times the perplexity, as in openTSNE; a point is not its own neighbour.
    metric, metric_params, n_jobs
        As in `shopca_rs.NearestNeighbors`.

    Returns
    -------
    openTSNE.nearest_neighbors.PrecomputedNeighbors
        The neighbours.

    Examples
    --------
    >>> from openTSNE.affinity import PerplexityBasedNN        # doctest: +SKIP
    >>> knn = opentsne_neighbors(X, 90)                        # doctest: +SKIP
    >>> affinities = PerplexityBasedNN(perplexity=30, knn_index=knn)     # doctest: +SKIP
    """
    try:
        nearest_neighbors = import_module("openTSNE.nearest_neighbors")
    except ImportError:
        raise ImportError("opentsne_neighbors needs openTSNE. Install it: pip install openTSNE") from None
    index = NearestNeighbors(n_neighbors, metric=metric, metric_params=metric_params, n_jobs=n_jobs)
    distances, indices = index.fit(X).kneighbors()
    return nearest_neighbors.PrecomputedNeighbors(indices, distances)


def pacmap_pairs(
    X: ArrayLike,
    n_neighbors: int = 10,
    *,
    metric: Metric = "euclidean",
    metric_params: dict[str, Any] | None = None,
    n_jobs: int | None = None,
) -> NDArray[np.int32]:
    """Pairs of neighbours for ``pacmap.PaCMAP(pair_neighbors=...)``.

    PaCMAP takes the nearest by distances that are scaled locally, d_ij² / (σ_i σ_j) with σ the mean distance
    of the fourth to the sixth neighbour, among 50 more neighbours than it needs. So does this function.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Points as rows. With more than 100 columns PaCMAP reduces them by PCA first: pass the reduced table
        here and to it.
    n_neighbors : int, default=10
        As in PaCMAP; a point is not its own neighbour.
    metric, metric_params, n_jobs
        As in `shopca_rs.NearestNeighbors`.

    Returns
    -------
    pairs : ndarray of int32, shape (n · n_neighbors, 2)
        Each point with each of its neighbours.

    Examples
    --------
    >>> import numpy as np
    >>> from shopca_rs.integrations.neighbors import pacmap_pairs
    >>> pacmap_pairs(np.arange(12.0)[:, None] ** 2, n_neighbors=2)[:4].tolist()
    [[0, 1], [0, 2], [1, 0], [1, 2]]
    """
    index = NearestNeighbors(n_neighbors, metric=metric, metric_params=metric_params, n_jobs=n_jobs).fit(X)
    n = index.n_samples_fit_
    candidates = max(min(n_neighbors + _MORE_CANDIDATES, n - 1), n_neighbors)
    distances, indices = index.kneighbors(n_neighbors=candidates)
    scales = np.maximum(distances[:, _SCALE_FROM].mean(axis=1), _SMALLEST_SCALE)
    nearest = np.argsort(distances**2 / (scales[:, None] * scales[indices]), axis=1, kind="stable")
    chosen = np.take_along_axis(indices, nearest[:, :n_neighbors], axis=1)
    return np.column_stack([np.repeat(np.arange(n), n_neighbors), chosen.ravel()]).astype(np.int32)


def hdbscan_graph(
    X: ArrayLike,
    n_neighbors: int = 30,
    *,
    include_self: bool = False,
    metric: Metric = "euclidean",
    metric_params: dict[str, Any] | None = None,
    n_jobs: int | None = None,
) -> Any:
    """Distances between neighbours for HDBSCAN with ``metric="precomputed"``.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Points as rows.
    n_neighbors : int, default=30
        At least `min_samples` of HDBSCAN, and enough to make the graph connected: HDBSCAN rejects one that
        is not. The clusters are those of all distances if the minimum spanning tree lies in the graph.
    include_self : bool, default=False
        False for the hdbscan library. True for ``sklearn.cluster.HDBSCAN``, which counts a point as its own
        neighbour.
    metric, metric_params, n_jobs
        As in `shopca_rs.NearestNeighbors`.

    Returns
    -------
    graph : csr_matrix of shape (n, n)
        Symmetric: i and j are connected if one is a neighbour of the other.

    Examples
    --------
    >>> from shopca_rs.integrations.neighbors import hdbscan_graph
    >>> hdbscan_graph([[0.0], [1.0], [3.0]], n_neighbors=1).toarray().tolist()
    [[0.0, 1.0, 0.0], [1.0, 0.0, 2.0], [0.0, 2.0, 0.0]]
    """
    index = NearestNeighbors(n_neighbors, metric=metric, metric_params=metric_params, n_jobs=n_jobs).fit(X)
    graph = index.kneighbors_graph(mode="distance")
    graph = graph.maximum(graph.T).tocsr()
    if include_self:
        graph.setdiag(0.0)
    return graph
