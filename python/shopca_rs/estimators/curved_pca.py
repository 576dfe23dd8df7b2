"""What SHOPCA and Shape Operator Eigenmaps share: all but the choice of α."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted  # type: ignore[import-untyped]

from .. import diagnostics
from ..alpha_search import SMALLEST, all_gaps, best_alpha
from ..alpha_stack import Choice
from ..arguments import RandomState, as_grid, as_threads, as_weight
from ..blas_threads import eigenproblem_pool, one_blas_thread
from ..operators import DEGENERATE, Degenerate, mean_shape_operator
from ..partial_eigen import eigenpairs_near, leading_eigenvectors, real_columns
from ..spectrum import (
    Criterion,
    covariance_scale,
    curved_covariance,
    default_grid,
    eigenvalues,
    fix_signs,
    leading_directions,
    symmetric_part,
)
from ..stages import ALPHA, NEIGHBORS, OPERATORS, PCA, Stages, stages
from ..varying import Varying, on_varying_directions
from .dense_pca import covariance
from .linear_projection import LinearProjection
from .metric import CurvedMetric, whitening
from .sklearn_internals import Interval, StrOptions
from .summary import summary
from .validation import check_parameters

Matrix = NDArray[np.float64]

# Up to this many columns, BLAS threads cost more than they gain and compete with those of the core.
_NARROW = 256


class CurvedPCA(LinearProjection):
    """Components of a curved covariance at an α that the subclasses give or choose."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **LinearProjection._parameter_constraints,
        "include_self": ["boolean"],
        "symmetric": ["boolean"],
        "degenerate": [StrOptions(set(DEGENERATE))],
        "sample": [Interval(Integral, 2, None, closed="left"), None],
        "random_state": ["random_state"],
    }

    include_self: bool
    symmetric: bool
    degenerate: Degenerate
    sample: int | None
    random_state: RandomState

    _criterion: Criterion
    _eigengaps: Matrix | None
    _eigenvalues: NDArray[Any] | None

    def _fit(
        self,
        X: Any,
        sample_weight: ArrayLike | None,
        alpha: float | str,
        alpha_grid: ArrayLike | None,
        criterion: Criterion,
    ) -> Self:
        check_parameters(self)
        X, weights = self._training_rows(X, sample_weight)
        n = X.shape[0]
        self.n_neighbors_ = self._resolve_neighbors(n)
        before = (PCA,) if self._needs_pca(*X.shape) else ()
        bar = stages(bool(self.verbose), *before, NEIGHBORS, OPERATORS, ALPHA)
        with one_blas_thread() if X.shape[1] <= _NARROW else nullcontext(), bar as progress:
            total = self._estimate(X, weights, progress)
            progress.begin(ALPHA)
            self._solve(alpha, alpha_grid, criterion, total, progress.counter(ALPHA))
            progress.end()
        return self

    def _estimate(self, X: Any, weights: Matrix | None, progress: Stages) -> float:
        """Estimate Σ and S̄, after PCA where it comes first; return the variance before any."""
        n = X.shape[0]
        points, deviations, total = self._reduce(X, weights)
        self.n_samples_ = n
        self.sample_ = n if self.sample is None else min(int(self.sample), n)
        self.mean_shape_operator_, self.mean_shape_operator_error_ = mean_shape_operator(
            points,
            self.n_neighbors_,
            sample_weight=weights,
            include_self=bool(self.include_self),
            degenerate=self.degenerate,
            algorithm=self.algorithm,
            n_jobs=self.n_jobs,
            progress=progress.counter(NEIGHBORS, OPERATORS),
            sample=self.sample_,
            random_state=self.random_state,
            return_error=True,
        )
        # After S̄, because the threads of BLAS spin for a while when they have worked.
        self.covariance_ = covariance(deviations, weights)
        return total

    def _solve(
        self,
        alpha: float | str,
        alpha_grid: ArrayLike | None,
        criterion: Criterion,
        total: float,
        report: Callable[[int, int], object] | None = None,
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
                stacklevel=6,  # past _solve, _fit, fit and the two wrappers around fit
            )
            alpha = 0.0

        if isinstance(alpha, str):
            self.alpha_grid_ = default_grid() if alpha_grid is None else as_grid(alpha_grid)
        else:
            self.alpha_grid_ = as_grid([as_weight(alpha, "alpha")])
        self._criterion = criterion
        threads = as_threads(self.n_jobs)
        choice = best_alpha(Sigma, S, self.alpha_grid_, self.n_components_, criterion, threads, report)
        self.alpha_, self._eigengaps = choice.alpha, choice.gaps
        self.lambda_ = 0.0 if self.alpha_ == 0 else self.alpha_ * self.scale_
        self.curved_covariance_ = curved_covariance(self.covariance_, self._used_operator(), self.alpha_)

        with eigenproblem_pool(threads) if len(Sigma) >= SMALLEST else nullcontext() as pool:
            self._eigenvalues, vectors = _directions(
                curved_covariance(Sigma, S, self.alpha_), self.n_components_, choice, pool
            )
        directions = varying @ vectors
        self.components_ = fix_signs(directions.T if basis is None else directions.T @ basis)
        self.explained_variance_ = (directions * (self.covariance_ @ directions)).sum(axis=0).clip(0)
        self.explained_variance_ratio_ = self.explained_variance_ / (total if total > 0 else 1.0)
        return self

    def _used_operator(self) -> Matrix:
        S = self.mean_shape_operator_
        return symmetric_part(S) if self.symmetric else S

    @property
    def eigengaps_(self) -> Matrix:
        """The eigengaps of `alpha_grid_`; those that the choice of α did not need are computed when read."""
        check_is_fitted(self)
        if self._eigengaps is None:
            Sigma, S, _ = self._operators()
            self._eigengaps = all_gaps(
                Sigma, S, self.alpha_grid_, self.n_components_, self._criterion, as_threads(self.n_jobs)
            )
        return self._eigengaps

    @property
    def eigenvalues_(self) -> NDArray[Any]:
        """All eigenvalues by real part, descending; computed when read unless the choice of α needed them."""
        check_is_fitted(self)
        if self._eigenvalues is None:
            Sigma, S, _ = self._operators()
            with one_blas_thread():
                self._eigenvalues = eigenvalues(curved_covariance(Sigma, S, self.alpha_))
        return self._eigenvalues

    @property
    def imaginary_ratio_(self) -> float:
        """max|Im e| / max|e| over `eigenvalues_`, computed like these."""
        return diagnostics.imaginary_ratio(self.eigenvalues_)

    @property
    def skew_ratio_(self) -> float:
        """‖S̄_skew‖₂ / ‖S̄_sym‖₂, computed when read."""
        check_is_fitted(self)
        return diagnostics.skew_ratio(self.mean_shape_operator_)

    @property
    def bauer_fike_bound_(self) -> float:
        """λ‖S̄‖₂: no eigenvalue of Σ_curv is farther from one of Σ. Computed when read."""
        check_is_fitted(self)
        return diagnostics.bauer_fike_bound(self._used_operator(), self.lambda_)

    def _operators(self) -> Varying:
        return on_varying_directions(self.covariance_, self._used_operator(), self.n_components_)

    def mahalanobis(self, X: Any, Y: Any = None) -> Matrix:
        """Distances sqrt((x − y)ᵀ Σ_curv⁻¹ (x − y)) between rows.

        Only the symmetric part of Σ_curv matters to a quadratic form. Where PCA came first (`max_features`),
        distances are those of its scores, without the directions that it dropped.

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
            If Σ_curv is not positive definite; the message says up to which alpha it is. Set a small alpha:
            the one that ``alpha="auto"`` chooses is often too large.
        """
        return self._distances(self.metric(), X, Y)

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
        """Describe the fit in a few lines: k, α, λ, eigengap, skew and imaginary ratios, angles to PCA.

        With `sample` there is one more line with ‖SE‖_F / ‖S̄‖_F, the relative error of S̄. Each of the first
        components has a line with its largest loadings.

        Returns
        -------
        text : str
            The lines, to print.
        """
        check_is_fitted(self)
        return summary(self)


def _directions(
    matrix: Matrix, m: int, choice: Choice, pool: ThreadPoolExecutor | None
) -> tuple[NDArray[Any] | None, Matrix]:
    """Return the eigenvalues, None if they are not needed, and directions as `leading_directions` does."""
    spectrum = choice.spectrum
    if np.array_equal(matrix, matrix.T):
        return leading_directions(matrix, m)
    if choice.leading is not None:
        pairs = eigenpairs_near(matrix, choice.leading, pool)
        # No more than m eigenvalues are above that number, so these are all of them.
        if pairs is not None and (pairs.values.real > choice.above).all():
            order = np.argsort(-pairs.values.real, kind="stable")
            values, vectors = pairs.values[order], pairs.vectors[:, order]
            return spectrum, fix_signs(real_columns(values, vectors, m).T).T
    elif spectrum is not None:
        found = leading_eigenvectors(matrix, spectrum, m, pool)
        if found is not None:
            return spectrum, fix_signs(real_columns(spectrum, found, m).T).T
    return leading_directions(matrix, m)
