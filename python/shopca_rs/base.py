"""What SHOPCA and Shape Operator Eigenmaps share: all but the choice of α."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import (  # type: ignore[import-untyped]
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.decomposition import PCA  # type: ignore[import-untyped]
from sklearn.utils._param_validation import (  # type: ignore[import-untyped]
    Interval,
    RealNotInt,
    StrOptions,
)
from sklearn.utils.validation import (  # type: ignore[import-untyped]
    check_array,
    check_is_fitted,
    validate_data,
)

from . import diagnostics
from .arguments import LARGEST_SEED
from .metric import CurvedMetric, whitening
from .operators import ALGORITHMS, DEGENERATE, Algorithm, Degenerate, mean_shape_operator
from .spectrum import (
    Criterion,
    Varying,
    as_grid,
    choose_alpha,
    covariance_scale,
    curved_covariance,
    default_grid,
    eigengap,
    fix_signs,
    leading_directions,
    on_varying_directions,
    spectra,
    symmetric_part,
)

Matrix = NDArray[np.float64]


class CurvedPCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Components of a curved covariance at an α that the subclasses give or choose."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0, 1, closed="neither"),
            None,
        ],
        "n_neighbors": [Interval(Integral, 2, None, closed="left"), StrOptions({"log2", "log"})],
        "symmetric": ["boolean"],
        "max_features": [Interval(Integral, 1, None, closed="left"), None],
        "degenerate": [StrOptions(set(DEGENERATE))],
        "algorithm": [StrOptions(set(ALGORITHMS))],
        "sample": [Interval(Integral, 2, None, closed="left"), None],
        "random_state": [Interval(Integral, 0, LARGEST_SEED, closed="both")],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
    }

    n_components: int | float | None
    n_neighbors: int | str
    symmetric: bool
    max_features: int | None
    degenerate: Degenerate
    algorithm: Algorithm
    sample: int | None
    random_state: int
    n_jobs: int | None
    verbose: bool

    def _fit(self, X: Any, alpha: float | str, alpha_grid: ArrayLike | None, criterion: Criterion) -> Self:
        X = validate_data(self, X, dtype=[np.float64, np.float32], ensure_min_samples=3)
        X = X.astype(np.float64, copy=False)
        self.n_neighbors_ = self._resolve_neighbors(len(X))
        centred = self._centre(X)
        total = float((centred**2).sum()) / (len(X) - 1)
        self.n_components_, basis = self._prepare(
            X.shape[0], X.shape[1], lambda: _principal_components(centred)
        )
        self._basis = basis
        points = X if basis is None else centred @ basis.T
        deviations = centred if basis is None else points

        self.covariance_ = symmetric_part(deviations.T @ deviations / (len(X) - 1))
        self.n_samples_ = len(X)
        self.sample_ = len(X) if self.sample is None else min(int(self.sample), len(X))
        self.mean_shape_operator_, self.mean_shape_operator_error_ = mean_shape_operator(
            points,
            self.n_neighbors_,
            degenerate=self.degenerate,
            algorithm=self.algorithm,
            n_jobs=self.n_jobs,
            progress=bool(self.verbose),
            sample=self.sample_,
            random_state=self.random_state,
            return_error=True,
        )
        return self._solve(alpha, alpha_grid, criterion, total)

    def _solve(
        self, alpha: float | str, alpha_grid: ArrayLike | None, criterion: Criterion, total: float
    ) -> Self:
        """Find α, λ and the components from Σ and S̄; `total` is the variance before any PCA."""
        basis = self._basis
        Sigma, S, varying = self._operators()
        self.scale_ = covariance_scale(self.covariance_, self.mean_shape_operator_)
        if self.scale_ == 0 and alpha != 0:
            every = (
                "every point"
                if self.sample_ == self.n_samples_
                else f"each of the {self.sample_} sampled points"
            )
            warnings.warn(
                f"The mean shape operator is zero: the data are constant, or {every} has as many "
                f"duplicates as neighbours (k = {self.n_neighbors_}). Fitting PCA instead (alpha_ = 0). "
                "Drop duplicated rows or raise n_neighbors to use curvature.",
                UserWarning,
                stacklevel=5,  # past _solve, _fit, fit and scikit-learn's wrapper around fit
            )
            alpha = 0.0

        grid = [alpha] if alpha != "auto" else default_grid() if alpha_grid is None else alpha_grid
        self.alpha_grid_ = as_grid(grid)
        self.eigengaps_ = np.atleast_1d(
            eigengap(spectra(Sigma, S, self.alpha_grid_), self.n_components_, criterion)
        )
        self.alpha_ = choose_alpha(self.alpha_grid_, self.eigengaps_)
        self.lambda_ = 0.0 if self.alpha_ == 0 else self.alpha_ * self.scale_
        self.curved_covariance_ = curved_covariance(self.covariance_, self._used_operator(), self.alpha_)

        self.eigenvalues_, vectors = leading_directions(
            curved_covariance(Sigma, S, self.alpha_), self.n_components_
        )
        directions = varying @ vectors
        self.components_ = fix_signs(directions.T if basis is None else directions.T @ basis)
        self.explained_variance_ = np.einsum("ji,jk,ki->i", directions, self.covariance_, directions).clip(0)
        self.explained_variance_ratio_ = self.explained_variance_ / (total if total > 0 else 1.0)
        self.skew_ratio_ = diagnostics.skew_ratio(self.mean_shape_operator_)
        self.imaginary_ratio_ = diagnostics.imaginary_ratio(self.eigenvalues_)
        self.bauer_fike_bound_ = diagnostics.bauer_fike_bound(self._used_operator(), self.lambda_)
        return self

    def _resolve_neighbors(self, n: int) -> int:
        if isinstance(self.n_neighbors, str):
            rule = math.log2 if self.n_neighbors == "log2" else math.log
            return min(max(round(rule(n)), 2), n - 1)
        if self.n_neighbors > n - 1:
            raise ValueError(
                f"n_neighbors must be at most n_samples - 1 = {n - 1} (a point is not its own neighbour), "
                f"got {self.n_neighbors}. Lower it, or give more rows."
            )
        return int(self.n_neighbors)

    def _centre(self, X: Matrix) -> Matrix:
        with np.errstate(over="ignore", invalid="ignore"):
            self.mean_ = X.mean(axis=0)
            # The mean of equal numbers can miss them by a rounding error, which is no variance.
            constant = X.min(axis=0) == X.max(axis=0)
            self.mean_[constant] = X[0, constant]
            centred: Matrix = X - self.mean_
            finite = np.isfinite((centred**2).sum())
        if not finite:
            raise ValueError(
                f"X must have squares that fit in float64, got a largest magnitude of {np.abs(X).max():.3g}. "
                "Rescale the columns, for example with StandardScaler."
            )
        return centred

    def _needs_pca(self, d: int) -> bool:
        """Say whether PCA comes first, or has to count the components."""
        too_many = self.max_features is not None and self.max_features < d
        return too_many or not (self.n_components is None or isinstance(self.n_components, Integral))

    def _prepare(
        self, n: int, d: int, principal_components: Callable[[], tuple[Matrix, Matrix]]
    ) -> tuple[int, Matrix | None]:
        """Return the number of components and, if PCA comes first, its directions as rows."""
        limit = d if self.max_features is None else min(self.max_features, d)
        wanted = self.n_components
        if isinstance(wanted, Integral) and wanted > min(n, d):
            raise ValueError(
                f"n_components must be at most min(n_samples, n_features) = {min(n, d)}, got {wanted} "
                f"with n_samples={n} and n_features={d}. Lower it, or use None for as many as there are."
            )
        if wanted is None:
            wanted = min(n, limit)
        if not self._needs_pca(d):
            return int(wanted), None
        variances, rows = principal_components()
        if isinstance(wanted, Integral):
            m = int(wanted)
        else:
            shares = np.cumsum(variances) / (variances.sum() or 1.0)
            m = min(int(np.searchsorted(shares, wanted, side="right")) + 1, min(n, d))
        # Principal components that are rounding errors have no neighbours worth the name.
        rank = int((variances > max(n, d) * np.finfo(np.float64).eps * variances[0]).sum())
        return m, None if limit == d else rows[: max(min(limit, rank), m)]

    def _used_operator(self) -> Matrix:
        S = self.mean_shape_operator_
        return symmetric_part(S) if self.symmetric else S

    def _operators(self) -> Varying:
        return on_varying_directions(self.covariance_, self._used_operator(), self.n_components_)

    def _scores(self, X: Any) -> Matrix:
        """X in the space where the shape operator was estimated."""
        points: Matrix = validate_data(self, X, dtype=np.float64, reset=False)
        return points if self._basis is None else (points - self.mean_) @ self._basis.T

    def transform(self, X: Any) -> NDArray[Any]:
        """Project X onto the components.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New data.

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_components)
            ``(X - mean_) @ components_.T``; float32 if X is.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        embedded: NDArray[Any] = (X.astype(np.float64, copy=False) - self.mean_) @ self.components_.T
        return embedded.astype(X.dtype, copy=False)

    def inverse_transform(self, X: Any) -> NDArray[Any]:
        """Map an embedding back to the space of the features.

        The components are in general not orthogonal. Of all points that `transform` maps to X this returns
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
        X = check_array(X, dtype=[np.float64, np.float32], input_name="X", estimator=self)
        if X.shape[1] != len(self.components_):
            raise ValueError(
                f"X must have {len(self.components_)} columns, one for each component, got {X.shape[1]}. "
                "Pass what transform returned."
            )
        back = X.astype(np.float64, copy=False) @ np.linalg.pinv(self.components_).T + self.mean_
        return back.astype(X.dtype, copy=False)  # type: ignore[no-any-return]

    def mahalanobis(self, X: Any, Y: Any = None) -> Matrix:
        """Distances sqrt((x − y)ᵀ Σ_curv⁻¹ (x − y)) between rows.

        Σ_curv is taken by its symmetric part, the only one a quadratic form sees. Where PCA came first
        (`max_features`), points are compared after it: what it dropped does not count.

        Parameters
        ----------
        X : array-like of shape (n_samples_X, n_features)
            Points.
        Y : array-like of shape (n_samples_Y, n_features), default=None
            Other points; X itself if None.

        Returns
        -------
        distances : ndarray of shape (n_samples_X, n_samples_Y)
            The distances.

        Raises
        ------
        ValueError
            If Σ_curv is not positive definite; the text says up to which alpha it is. A small alpha has to be
            given: what ``alpha="auto"`` chooses is often beyond.
        """
        metric = self.metric()
        X = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        if Y is not None:
            Y = validate_data(self, Y, dtype=[np.float64, np.float32], reset=False)
        return metric.pairwise(X, Y)

    def metric(self) -> CurvedMetric:
        """Return the distance of `mahalanobis` as a callable ``metric(x, y)``.

        Returns
        -------
        metric : CurvedMetric
            Picklable; for the `metric` argument of scikit-learn's neighbour estimators. Its attribute `map`
            turns it into the Euclidean distance, which is faster.

        Raises
        ------
        ValueError
            As in `mahalanobis`.
        """
        check_is_fitted(self)
        white = whitening(self.covariance_, self.mean_shape_operator_, self.curved_covariance_, self.alpha_)
        return CurvedMetric(white if self._basis is None else white @ self._basis)

    def summary(self) -> str:
        """Describe the fit in a few lines: k, α, λ, gap, skewness, how real the spectrum is, angles to PCA.

        A sample has a line of its own, with ‖SE‖_F / ‖S̄‖_F for how well S̄ is known.

        Returns
        -------
        text : str
            The lines, to print.
        """
        check_is_fitted(self)
        return diagnostics.summary(self)

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _principal_components(centred: Matrix) -> tuple[Matrix, Matrix]:
    """Variances and directions (rows) of all principal components, by a solver without random numbers."""
    n, d = centred.shape
    with np.errstate(invalid="ignore"):
        pca = PCA(svd_solver="covariance_eigh" if d <= n else "full").fit(centred)
    return pca.explained_variance_, pca.components_
