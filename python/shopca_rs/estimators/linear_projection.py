"""What all estimators share: a linear map, PCA in front of it, and the number of neighbours."""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse  # type: ignore[import-untyped]
from sklearn.base import (  # type: ignore[import-untyped]
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.utils.validation import check_is_fitted  # type: ignore[import-untyped]

from ..arguments import as_weighted, digits, too_large
from ..neighbors import ALGORITHMS, Algorithm
from .dense_pca import principal_components, total_variance
from .loading_table import Loadings, loadings
from .metric import CurvedMetric
from .sklearn_internals import Interval, RealNotInt, StrOptions
from .sparse_pca import affine, dense_if_narrow, reduce_sparse
from .validation import as_embedding, as_features, as_result

Matrix = NDArray[np.float64]


class LinearProjection(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """An affine map onto a few components, which the subclasses find from the nearest neighbours."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0, 1, closed="neither"),
            None,
        ],
        "n_neighbors": [Interval(Integral, 2, None, closed="left"), StrOptions({"log2", "log"})],
        "max_features": [Interval(Integral, 1, None, closed="left"), None],
        "algorithm": [StrOptions(set(ALGORITHMS))],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
    }

    n_components: int | float | None
    n_neighbors: int | str
    max_features: int | str | None
    algorithm: Algorithm
    n_jobs: int | None
    verbose: bool

    mean_: Matrix
    components_: Matrix
    n_components_: int
    n_neighbors_: int
    covariance_: Matrix
    explained_variance_: Matrix
    explained_variance_ratio_: Matrix
    _basis: Matrix | None

    def _training_rows(self, X: Any, sample_weight: ArrayLike | None) -> tuple[Any, Matrix | None]:
        """Return the rows to fit and their weights; rows of weight 0 are dropped."""
        X = as_features(self, X, reset=True, ensure_min_samples=3, sparse=True)
        X = dense_if_narrow(self, X, stacklevel=7)  # past this, _fit, fit and the two wrappers around fit
        X, weights = as_weighted(X, sample_weight)
        if X.shape[0] < 3:
            raise ValueError(f"sample_weight must give at least 3 rows a weight above 0, got {X.shape[0]}.")
        return X, weights

    def _reduce(self, X: Any, weights: Matrix | None) -> tuple[Matrix, Matrix, float]:
        """Reduce X by PCA first if it has many features.

        Sets `mean_`, `n_components_` and `_basis`. Returns the points, the same about their mean, and the
        variance of X.
        """
        if issparse(X):
            points, total = reduce_sparse(self, X, weights)
            return points, points, total
        centred = self._centre(X, weights)
        total = total_variance(centred, weights)
        n, d = X.shape
        self.n_components_, self._basis = self._prepare(
            n, d, lambda count: principal_components(centred, count, weights)
        )
        if self._basis is None:
            return X, centred, total
        points = centred @ self._basis.T
        return points, points, total

    def _resolve_neighbors(self, n: int) -> int:
        if isinstance(self.n_neighbors, str):
            rule = math.log2 if self.n_neighbors == "log2" else math.log
            return min(max(round(rule(n)), 2), n - 1)
        if self.n_neighbors > n - 1:
            raise ValueError(
                f"n_neighbors must be at most n_samples - 1 = {n - 1} (a point is not its own neighbour), "
                f"got {digits(self.n_neighbors)}. Lower it, or give more rows."
            )
        return int(self.n_neighbors)

    def _centre(self, X: Matrix, weights: Matrix | None = None) -> Matrix:
        with np.errstate(over="ignore", invalid="ignore"):
            self.mean_ = X.mean(axis=0) if weights is None else weights @ X / weights.sum()
            # The mean of equal numbers can miss them by a rounding error, which is not variance.
            constant = (X[0] == X).all(axis=0)
            self.mean_[constant] = X[0, constant]
            centred: Matrix = X - self.mean_
            finite = np.isfinite(np.einsum("ij,ij", centred, centred))
        if not finite:
            raise too_large(float(np.abs(X).max()))
        return centred

    def _feature_limit(self, n: int, d: int) -> int:
        """Return how many features are kept at most; with more of them PCA comes first."""
        return d if self.max_features is None else min(int(self.max_features), d)

    def _needs_pca(self, n: int, d: int) -> bool:
        """Tell whether PCA is needed, to reduce the features or to count the components."""
        return self._feature_limit(n, d) < d or not (
            self.n_components is None or isinstance(self.n_components, Integral)
        )

    def _prepare(
        self, n: int, d: int, principal_components: Callable[[int | None], tuple[Matrix, Matrix]]
    ) -> tuple[int, Matrix | None]:
        """Return the number of components and, if PCA comes first, its directions as rows.

        `principal_components` returns variances and directions of that many components, or of all for None.
        """
        limit = self._feature_limit(n, d)
        wanted = self.n_components
        if isinstance(wanted, Integral) and wanted > min(n, d):
            raise ValueError(
                f"n_components must be at most min(n_samples, n_features) = {min(n, d)}, "
                f"got {digits(wanted)} "
                f"with n_samples={n} and n_features={d}. Lower it, or use None for as many as there are."
            )
        if wanted is None:
            wanted = min(n, limit)
        if not self._needs_pca(n, d):
            return int(wanted), None
        if isinstance(wanted, Integral):
            m = int(wanted)
            variances, rows = principal_components(max(limit, m))
        else:
            variances, rows = principal_components(None)
            shares = np.cumsum(variances) / (variances.sum() or 1.0)
            m = min(int(np.searchsorted(shares, wanted, side="right")) + 1, min(n, d))
        # Principal components that are rounding errors have no meaningful neighbours.
        rank = int((variances > max(n, d) * np.finfo(np.float64).eps * variances[0]).sum())
        return m, None if limit == d else rows[: max(min(limit, rank), m)]

    def _scores(self, X: Any) -> Matrix:
        """X in the space where the neighbours were found."""
        points: Matrix = as_features(self, X, reset=False, sparse=self._basis is not None)
        return (
            points.astype(np.float64, copy=False)
            if self._basis is None
            else affine(points, self.mean_, self._basis)
        )

    def transform(self, X: Any) -> NDArray[Any]:
        """Project X onto the components.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            New data.

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_components)
            ``(X - mean_) @ components_.T``; float32 if X is.
        """
        check_is_fitted(self)
        X = as_features(self, X, reset=False, sparse=True)
        with np.errstate(over="ignore", invalid="ignore"):
            embedded = affine(X, self.mean_, self.components_)
        return as_result(embedded, X)

    def inverse_transform(self, X: Any) -> NDArray[Any]:
        """Map an embedding back to the space of the features.

        The components are in general not orthogonal. Of all points that `transform` maps to X, this returns
        the one nearest to the mean (least squares).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)
            Embedded points.

        Returns
        -------
        X_original : ndarray of shape (n_samples, n_features)
            Points in the space of the features; float32 if X is.
        """
        check_is_fitted(self)
        X = as_embedding(self, X)
        with np.errstate(over="ignore", invalid="ignore"):
            back = X.astype(np.float64, copy=False) @ np.linalg.pinv(self.components_).T + self.mean_
        return as_result(back, X)

    def _distances(self, metric: CurvedMetric, X: Any, Y: Any) -> Matrix:
        X = as_features(self, X, reset=False)
        if Y is not None:
            Y = as_features(self, Y, reset=False)
        return metric.pairwise(X, Y)

    @property
    def loadings_(self) -> Loadings:
        """The components with the names of the features, as `loadings` returns them."""
        return loadings(self)

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
