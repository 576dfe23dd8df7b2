"""The exact neighbour search with scikit-learn's interface: an index for queries, a graph for pipelines."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse  # type: ignore[import-untyped]
from sklearn.base import (  # type: ignore[import-untyped]
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.utils.validation import check_is_fitted  # type: ignore[import-untyped]

from .. import _core
from ..arguments import as_choice, as_count, as_flag, as_threads
from ..neighbors import ALGORITHMS, Algorithm
from .euclidean_maps import METRICS, EuclideanMap, euclidean_map
from .metric import CurvedMetric
from .sklearn_internals import Interval, StrOptions, checks_parameters
from .validation import as_features, check_parameters

Metric = Literal["euclidean", "sqeuclidean", "cosine", "correlation", "mahalanobis"] | CurvedMetric
Mode = Literal["distance", "connectivity"]

MODES = ("distance", "connectivity")

# Queries that one thread answers together: fewer do not benefit from a second thread.
_QUERIES_PER_THREAD = 16


class _Searching(BaseEstimator):  # type: ignore[misc]
    """What the two estimators share: the fitted index and the search in it."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "metric": [StrOptions(set(METRICS)), CurvedMetric],
        "metric_params": [dict, None],
        "algorithm": [StrOptions(set(ALGORITHMS))],
        "n_jobs": [Integral, None],
    }

    n_neighbors: int
    metric: Metric
    metric_params: dict[str, Any] | None
    algorithm: Algorithm
    n_jobs: int | None

    n_samples_fit_: int
    _map: EuclideanMap
    _index: _core.NeighborIndex

    def _fit(self, X: Any) -> Self:
        check_parameters(self)
        X = as_features(self, X, reset=True).astype(np.float64, copy=False)
        self._map = euclidean_map(self.metric, self.metric_params, X)
        self._index = _core.NeighborIndex(self._map.points(X), self.algorithm, as_threads(self.n_jobs))
        self.n_samples_fit_ = len(X)
        return self

    def kneighbors(
        self, X: Any = None, n_neighbors: int | None = None, return_distance: bool = True
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]] | NDArray[np.int64]:
        """Find the nearest of the fitted rows, nearest first; ties go to the smaller row number.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features), default=None
            Points whose neighbours are wanted; None for the fitted rows, each without itself.
        n_neighbors : int, default=None
            Number of neighbours; `n_neighbors` of the estimator by default.
        return_distance : bool, default=True
            Whether to return the distances.

        Returns
        -------
        distances : ndarray of shape (n_queries, n_neighbors)
            The distances, only with `return_distance`.
        indices : ndarray of shape (n_queries, n_neighbors)
            Numbers of fitted rows.
        """
        check_is_fitted(self)
        k = as_count(self.n_neighbors if n_neighbors is None else n_neighbors, "n_neighbors", 1)
        both = as_flag(return_distance, "return_distance")
        queries, most = None, self.n_samples_fit_ - 1
        if X is not None:
            table = as_features(self, X, reset=False).astype(np.float64, copy=False)
            queries, most = self._map.points(table), self.n_samples_fit_
        if k > most:
            itself = " less one for the row itself" if X is None else ""
            raise ValueError(
                f"Expected n_neighbors <= {most}, n_samples_fit = {self.n_samples_fit_}{itself}, "
                f"but got n_neighbors = {k}. Lower it, or fit more rows."
            )
        blocks = -(-(self.n_samples_fit_ if queries is None else len(queries)) // _QUERIES_PER_THREAD)
        indices, squared = self._index.k_neighbors(queries, k, min(as_threads(self.n_jobs), blocks))
        return (self._map.distances(squared), indices) if both else indices

    def kneighbors_graph(
        self, X: Any = None, n_neighbors: int | None = None, mode: Mode = "connectivity"
    ) -> Any:
        """Return the neighbours as a sparse matrix.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features), default=None
            As in `kneighbors`.
        n_neighbors : int, default=None
            As in `kneighbors`.
        mode : {"connectivity", "distance"}, default="connectivity"
            Whether the entries are ones or distances.

        Returns
        -------
        graph : csr_matrix of shape (n_queries, n_samples_fit)
            Each row has its neighbours in the order of their distances; zero distances are stored.
        """
        as_choice(mode, "mode", MODES)
        distances, indices = self.kneighbors(X, n_neighbors)
        return _graph(distances, indices, mode, self.n_samples_fit_)


def _graph(distances: NDArray[np.float64], indices: NDArray[np.int64], mode: str, columns: int) -> Any:
    n, k = indices.shape
    values = distances.ravel() if mode == "distance" else np.ones(n * k)
    return sparse.csr_matrix((values, indices.ravel(), np.arange(0, n * k + 1, k)), shape=(n, columns))


class NearestNeighbors(_Searching):
    """Exact nearest neighbours for repeated queries.

    `fit` copies the rows and builds the index once; `kneighbors` then answers batches of any size. The
    results are those of `k_neighbors`, to the last bit. It can be pickled: only the rows are stored, and
    the index is rebuilt.

    Parameters
    ----------
    n_neighbors : int, default=5
        Number of neighbours that `kneighbors` returns.
    metric : {"euclidean", "sqeuclidean", "cosine", "correlation", "mahalanobis"} or CurvedMetric, \
default="euclidean"
        The distance. All of them are Euclidean distances after a map of the rows, so the search stays exact.
        Or what the method `metric` of a fitted SHOPCA or LPP returns.
    algorithm : {"auto", "kd_tree", "brute"}, default="auto"
        How to search; "kd_tree" takes at most 32 columns. The result does not depend on it.
    metric_params : dict, default=None
        For the Mahalanobis distance {"V": covariance} or {"VI": its inverse}; by default the covariance of
        the fitted rows.
    n_jobs : int, default=None
        Number of threads; None or -1 for all cores, -2 for all but one. The result does not depend on
        it.

    Attributes
    ----------
    n_samples_fit_ : int
        Number of fitted rows.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if they are all strings.

    See Also
    --------
    k_neighbors : One search, without an index to keep.
    KNeighborsTransformer : The neighbours as a graph, for pipelines.

    Examples
    --------
    >>> from shopca_rs import NearestNeighbors
    >>> index = NearestNeighbors(n_neighbors=2).fit([[0.0], [1.0], [3.0], [7.0]])
    >>> distances, indices = index.kneighbors([[2.5]])
    >>> distances.tolist(), indices.tolist()
    ([[0.5, 1.5]], [[2, 1]])
    """

    def __init__(
        self,
        n_neighbors: int = 5,
        *,
        metric: Metric = "euclidean",
        algorithm: Algorithm = "auto",
        metric_params: dict[str, Any] | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.algorithm = algorithm
        self.metric_params = metric_params
        self.n_jobs = n_jobs

    @checks_parameters
    def fit(self, X: Any, y: Any = None) -> Self:
        """Copy the rows and build the index.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows among which neighbours are searched.
        y : Ignored
            Not used, present for API consistency by convention.

        Returns
        -------
        self : NearestNeighbors
            The fitted index.
        """
        return self._fit(X)


class KNeighborsTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, _Searching):  # type: ignore[misc]
    """The graph of exact nearest neighbours, for estimators that take a precomputed one.

    The conventions are those of scikit-learn's `KNeighborsTransformer`: put it in front of Isomap, TSNE,
    SpectralEmbedding, DBSCAN or KNeighborsClassifier with their `metric`, `affinity` or `neighbors_algorithm`
    set to "precomputed".

    Parameters
    ----------
    n_neighbors : int, default=5
        Number of neighbours of each row. With ``mode="distance"`` there is one entry more, the row itself at
        distance 0; with ``mode="connectivity"`` the row itself is one of the `n_neighbors`.
    mode : {"distance", "connectivity"}, default="distance"
        Whether the entries are distances or ones.
    metric, algorithm, metric_params, n_jobs
        As in `NearestNeighbors`.

    Attributes
    ----------
    n_samples_fit_, n_features_in_, feature_names_in_
        As in `NearestNeighbors`.

    See Also
    --------
    NearestNeighbors : Neighbours as arrays.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.manifold import Isomap
    >>> from sklearn.pipeline import make_pipeline
    >>> from shopca_rs import KNeighborsTransformer
    >>> X = load_iris().data
    >>> KNeighborsTransformer(n_neighbors=5).fit_transform(X).nnz / len(X)
    6.0
    >>> isomap = make_pipeline(KNeighborsTransformer(60), Isomap(n_neighbors=60, metric="precomputed"))
    >>> isomap.fit_transform(X).shape
    (150, 2)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **_Searching._parameter_constraints,
        "mode": [StrOptions(set(MODES))],
    }

    def __init__(
        self,
        n_neighbors: int = 5,
        *,
        mode: Mode = "distance",
        metric: Metric = "euclidean",
        algorithm: Algorithm = "auto",
        metric_params: dict[str, Any] | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.mode = mode
        self.metric = metric
        self.algorithm = algorithm
        self.metric_params = metric_params
        self.n_jobs = n_jobs

    @checks_parameters
    def fit(self, X: Any, y: Any = None) -> Self:
        """Copy the rows and build the index.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows among which neighbours are searched.
        y : Ignored
            Not used, present for API consistency by convention.

        Returns
        -------
        self : KNeighborsTransformer
            The fitted transformer.
        """
        return self._fit(X)

    def transform(self, X: Any) -> Any:
        """Return the graph from X to the fitted rows.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)
            Points. One equal to a fitted row has that row as a neighbour.

        Returns
        -------
        graph : csr_matrix of shape (n_queries, n_samples_fit)
            Each row has its neighbours in the order of their distances.
        """
        check_is_fitted(self)
        return self.kneighbors_graph(X, self.n_neighbors + (self.mode == "distance"), self.mode)

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Fit to X and return its graph, in which each row is its own first neighbour.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.
        y : Ignored
            Not used, present for API consistency by convention.

        Returns
        -------
        graph : csr_matrix of shape (n_samples, n_samples)
            Each row has its neighbours in the order of their distances, itself first even where others are
            equal to it.
        """
        self.fit(X)
        n, others = self.n_samples_fit_, self.n_neighbors - (self.mode == "connectivity")
        own = np.arange(n)[:, None]
        if others == 0:
            return _graph(np.zeros((n, 1)), own, self.mode, n)
        distances, indices = self.kneighbors(None, others)
        return _graph(np.hstack([np.zeros((n, 1)), distances]), np.hstack([own, indices]), self.mode, n)

    @property
    def _n_features_out(self) -> int:
        return self.n_samples_fit_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        return tags
