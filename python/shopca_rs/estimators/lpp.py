"""Locality preserving projections as a scikit-learn transformer."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from copy import copy
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted  # type: ignore[import-untyped]

from ..arguments import shown
from ..neighbors import Algorithm, k_neighbors
from ..spectrum import covariance_scale, fix_signs, leading_directions, leading_ratios, symmetric_part
from ..stages import GRAPH, NEIGHBORS, PCA, Stages, stages
from .dense_pca import covariance
from .feature_resolution import resolution
from .linear_projection import LinearProjection
from .metric import CurvedMetric, inverse_factor, is_positive
from .neighbor_graph import (
    NeighborGraph,
    degree_covariance,
    local_scatter,
    neighbor_graph,
    nested_covariances,
)
from .sklearn_internals import Interval, StrOptions, checks_parameters
from .summary import summary
from .validation import check_parameters

Matrix = NDArray[np.float64]

# Below this sum of local variances, the smallest of them underflow.
_SMALLEST = 1e-305


class LPP(LinearProjection):
    """Locality preserving projections, with a ridge and the resolution of the features.

    A linear map that keeps neighbours together while it spreads the data as a whole. Every point is connected
    with its nearest neighbours; the components are the directions with the largest ratio of global to local
    variance. With A the symmetric graph (A_ij = 1 if i is a neighbour of j or j one of i), D its degrees and
    Σ_D the covariance of the points weighted by their degrees, they solve Σ_D v = μ B v for the largest μ,
    where

        B = G + ε tr(G) I,    G = Xᵀ(D − A)X / ΣD + R

    and are scaled so that VᵀBV = I. The method is that of He and Niyogi (2003), with two corrections:

    - R is the resolution of the features (Sheppard's correction, see `resolution`). Without it a column that
      takes few values may have no variance among neighbours and dominates the ratios.
    - ε, the ridge, keeps directions without local variance from having infinite ratios.

    The features are centred but not scaled: apply a `StandardScaler` first, as for PCA.

    Parameters
    ----------
    n_components : int, float or None, default=2
        Number of components. A number between 0 and 1 takes as many as PCA needs to explain more than that
        fraction of the variance; None takes all, at most `max_features`.
    n_neighbors : int, "log2" or "log", default="log2"
        k, from 2 to n_samples - 1; a point is not its own neighbour. "log2" is round(log2 n_samples),
        "log" is round(ln n_samples), both kept within that range.
    ridge : float, default=0.003
        ε, at least 0. With 0 the fit raises an error if B is singular.
    resolution : bool, default=True
        Add R. ``LPP(ridge=0, resolution=False)`` is the original method.
    max_features : "auto", int or None, default="auto"
        With more features than this, PCA reduces them to this many first (or to `n_components`, if that is
        more). "auto" is a tenth of n_samples, but at least 25 and at most 100. None disables this PCA.
    algorithm : {"auto", "kd_tree", "brute"}, default="auto"
        How the neighbours are searched. The result does not depend on it.
    n_jobs : int or None, default=None
        Number of threads for the search; None or -1 for all cores, -2 for all but one. The result does
        not depend on it.
    verbose : bool, default=False
        Show one progress bar for the whole fit, which names the current stage.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Vᵀ: rows that are neither orthogonal nor of unit length. The signs follow scikit-learn's PCA. If
        PCA came first, it is included.
    mean_ : ndarray of shape (n_features,)
        Mean of the training data.
    n_components_ : int
        Number of components.
    eigenvalues_ : ndarray of shape (n_kept,)
        All μ, descending. n_kept is n_features, or `max_features` where PCA came first; then the matrices
        below are in the space of its scores.
    local_scatter_ : ndarray of shape (n_kept, n_kept)
        B.
    degree_covariance_ : ndarray of shape (n_kept, n_kept)
        Σ_D.
    covariance_ : ndarray of shape (n_kept, n_kept)
        The covariance of the training data, divided by n_samples - 1.
    resolution_ : ndarray of shape (n_features,)
        r, the diagonal of R before any PCA; zeros with ``resolution=False``.
    explained_variance_ : ndarray of shape (n_components,)
        Variance of the training data along each component taken as a unit vector, divided by n_samples - 1.
        Components that are not orthogonal share some of it.
    explained_variance_ratio_ : ndarray of shape (n_components,)
        The same as a fraction of the total variance.
    n_neighbors_ : int
        k.
    n_samples_ : int
        Number of rows with a weight above 0.
    loadings_ : Loadings
        `components_` with the names of the features.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if they are all strings.

    See Also
    --------
    SHOPCA : Difference of variance and local variance instead of their ratio.
    resolution : The diagonal of R.
    sklearn.decomposition.PCA : Variance alone.

    Notes
    -----
    If G is zero (constant data, or as many duplicates as neighbours without `resolution`) this is PCA, with a
    warning: `local_scatter_` is the identity and `eigenvalues_` are variances.

    References
    ----------
    .. [1] X. He and P. Niyogi, "Locality preserving projections", NIPS 2003.
    .. [2] W. F. Sheppard, "On the calculation of the most probable values of frequency-constants, for data
       arranged according to equidistant division of a scale", Proceedings of the London Mathematical Society
       29, 1897.
    .. [3] J. Yang, D. Zhang, J.-Y. Yang and B. Niu, "Globally maximizing, locally minimizing: unsupervised
       discriminant projection with applications to face and palm biometrics", IEEE Transactions on Pattern
       Analysis and Machine Intelligence 29, 2007.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.preprocessing import StandardScaler
    >>> from shopca_rs import LPP
    >>> X = StandardScaler().fit_transform(load_iris().data)
    >>> lpp = LPP(n_components=2).fit(X)
    >>> lpp.transform(X).shape
    (150, 2)
    >>> lpp.eigenvalues_.round(1).tolist()
    [59.4, 9.5, 2.7, 1.2]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **LinearProjection._parameter_constraints,
        "ridge": [Interval(Real, 0, None, closed="left")],
        "resolution": ["boolean"],
        "max_features": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left"), None],
    }

    def __init__(
        self,
        n_components: int | float | None = 2,
        *,
        n_neighbors: int | str = "log2",
        ridge: float = 0.003,
        resolution: bool = True,
        max_features: int | str | None = "auto",
        algorithm: Algorithm = "auto",
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.ridge = ridge
        self.resolution = resolution
        self.max_features = max_features
        self.algorithm = algorithm
        self.n_jobs = n_jobs
        self.verbose = verbose

    @checks_parameters
    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the components to X.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training data, at least 3 rows. A sparse table is reduced by PCA without making it dense; with at
            most `max_features` columns it is copied to a dense one.
        y : Ignored
            Not used, present for API consistency by convention.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights w of the rows, at least 0; only their ratios matter. An edge of the graph weighs w_i w_j,
            and all means are weighted. Rows of weight 0 are ignored. A row of weight 2 is like two equal
            rows, except for the neighbours: a duplicate takes up one of the k places in the neighbourhood of
            the other row, a weight does not.

        Returns
        -------
        self : LPP
            The fitted estimator.
        """
        return self._fit(X, sample_weight)

    def _fit(self, X: Any, sample_weight: ArrayLike | None) -> Self:
        check_parameters(self)
        X, weights = self._training_rows(X, sample_weight)
        n, d = X.shape
        self.n_samples_, self.n_neighbors_ = n, self._resolve_neighbors(n)
        before = (PCA,) if self._needs_pca(n, d) else ()
        with stages(bool(self.verbose), *before, NEIGHBORS, GRAPH) as progress:
            # First, because it copies a sparse table: then the scores do not exist yet.
            self.resolution_ = resolution(X, weights) if self.resolution else np.zeros(d)
            points, deviations, total = self._reduce(X, weights)
            graph = self._connect(points, weights, progress)
            # The points are no longer needed, so their deviations can be scaled in place.
            exponent, scaled = _in_units(deviations, out=deviations)
            Sigma = covariance(scaled, weights)
            scatter, of_degrees = local_scatter(scaled, graph), degree_covariance(scaled, graph)
            del graph  # its memory serves the last step
            self._solve(exponent, Sigma, scatter, of_degrees)
            progress.end()
        self.explained_variance_ratio_ = self.explained_variance_ / (total or 1.0)
        return self

    def _connect(self, points: Matrix, weights: Matrix | None, progress: Stages) -> NeighborGraph:
        """Return the graph of the nearest neighbours."""
        neighbors = k_neighbors(
            points,
            self.n_neighbors_,
            algorithm=self.algorithm,
            n_jobs=self.n_jobs,
            progress=progress.counter(NEIGHBORS),
        )[0]
        progress.begin(GRAPH)
        return neighbor_graph(neighbors, weights, overwrite=True)

    def _solve(self, exponent: int, Sigma: Matrix, scatter: Matrix, of_degrees: Matrix) -> None:
        """Find the components from Σ, Xᵀ(D − A)X / ΣD and Σ_D, all in units of 4 to the power `exponent`."""
        P, r = self._basis, np.ldexp(self.resolution_, -2 * exponent)
        R = np.diag(r) if P is None else symmetric_part((P * r) @ P.T)
        G = scatter + R
        self._is_pca = covariance_scale(Sigma, G) == 0
        if self._is_pca:
            warnings.warn(
                "The local scatter is zero: the data are constant, or every point has as many duplicates as "
                f"neighbours (k = {self.n_neighbors_}). Fitting PCA instead. "
                "Drop duplicated rows or raise n_neighbors to use neighbours.",
                UserWarning,
                stacklevel=6,  # past _solve, _fit, fit and the two wrappers around fit
            )
            unit, B, of_degrees = 0, np.eye(len(Sigma)), Sigma
            values, vectors = leading_directions(Sigma, self.n_components_)
            values = np.ldexp(values, 2 * exponent)
        else:
            unit, B = exponent, self._ridged(G, exponent)
            values, vectors = leading_ratios(of_degrees, B, self.n_components_)
        self.eigenvalues_ = values.clip(0)
        self.local_scatter_ = np.ldexp(B, 2 * unit)
        self.degree_covariance_ = np.ldexp(of_degrees, 2 * exponent)
        self.covariance_ = np.ldexp(Sigma, 2 * exponent)
        self.components_ = fix_signs(np.ldexp(vectors.T if P is None else vectors.T @ P, -unit))
        along = vectors / np.linalg.norm(vectors, axis=0)
        variance = (along * (Sigma @ along)).sum(axis=0).clip(0)
        self.explained_variance_ = np.ldexp(variance, 2 * exponent)

    def _refits(
        self, deviations: Matrix, neighbors: NDArray[np.int64], counts: Sequence[int]
    ) -> Iterator[Self | None]:
        """Yield the fits with the first k of the neighbours for each k, ascending; None where B is singular.

        `deviations` are the training data about their mean, in the space where the neighbours were found.
        """
        exponent, scaled = _in_units(deviations)
        Sigma = np.ldexp(self.covariance_, -2 * exponent)
        for k, found in zip(counts, nested_covariances(scaled, neighbors, counts), strict=True):
            refit = copy(self)
            refit.n_neighbors_ = k
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", UserWarning)
                    refit._solve(exponent, Sigma, *found)
            except ValueError:
                yield None
            else:
                yield refit

    def _ridged(self, G: Matrix, exponent: int) -> Matrix:
        """Return B = G + ε tr(G) I, positive definite and within the range of doubles, or raise."""
        try:
            ridge = float(self.ridge)
        except OverflowError:
            ridge = float("inf")
        trace = float(np.trace(G))
        B = G.copy()
        with np.errstate(over="ignore"):
            np.fill_diagonal(B, np.diag(G) + ridge * trace)
            size = float(np.ldexp(trace, 2 * exponent))
            finite = np.isfinite(np.ldexp(np.trace(B), 2 * exponent))
        if size < _SMALLEST:
            raise ValueError(
                f"X must have local variances that fit in float64, got a sum of {size:.3g}. "
                "Rescale the columns, for example with StandardScaler."
            )
        if not finite:
            raise ValueError(f"ridge must be small enough for B to fit in float64, got {shown(self.ridge)}.")
        if not is_positive(B, B):
            raise ValueError(
                "The local scatter is singular: along some direction neighbours do not differ. "
                f"Drop constant and dependent columns, or raise the ridge above {ridge:g}."
            )
        return B

    def _feature_limit(self, n: int, d: int) -> int:
        if self.max_features == "auto":
            return min(max(25, min(100, n // 10)), d)
        return super()._feature_limit(n, d)

    def mahalanobis(self, X: Any, Y: Any = None) -> Matrix:
        """Distances sqrt((x − y)ᵀ B⁻¹ (x − y)) between rows: differences in units of the local scatter.

        Where PCA came first (`max_features`), distances are those of its scores, without what it dropped.

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
        """
        return self._distances(self.metric(), X, Y)

    def metric(self) -> CurvedMetric:
        """Return the distance of `mahalanobis` as a callable ``metric(x, y)``.

        Returns
        -------
        metric : CurvedMetric
            Picklable; for the `metric` argument of scikit-learn's neighbour estimators. Its attribute `map`
            turns it into the Euclidean distance, which is faster.
        """
        check_is_fitted(self)
        white = inverse_factor(self.local_scatter_)
        return CurvedMetric(white if self._basis is None else white @ self._basis)

    def summary(self) -> str:
        """Describe the fit in a few lines: k, resolution and ridge, ratios μ, angles to PCA, loadings.

        Returns
        -------
        text : str
            The lines, to print.
        """
        check_is_fitted(self)
        return summary(self)


def _in_units(deviations: Matrix, out: Matrix | None = None) -> tuple[int, Matrix]:
    """Return them in a unit in which squares neither overflow nor underflow, and its exponent of 2."""
    exponent = int(np.frexp(max(deviations.max(), -deviations.min()))[1])
    return exponent, np.ldexp(deviations, -exponent, out=out)
