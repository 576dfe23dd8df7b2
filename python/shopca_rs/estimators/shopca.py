"""SHOPCA and Shape Operator Eigenmaps as scikit-learn transformers."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from ..arguments import RandomState
from ..neighbors import Algorithm
from ..operators import Degenerate
from ..spectrum import CRITERIA, Criterion
from .curved_pca import CurvedPCA
from .sklearn_internals import Interval, StrOptions, checks_parameters


class SHOPCA(CurvedPCA):
    """Shape Operator PCA: linear dimensionality reduction by variance and local geometry.

    PCA's covariance Σ is combined with the mean shape operator S̄ of the data, estimated from the nearest
    neighbours of every point: Σ_curv = Σ + λ S̄. The components are the leading right eigenvectors of Σ_curv.
    λ = α · tr Σ / |tr S̄|, where α = 0 is PCA and α = ∞ is Shape Operator Eigenmaps.

    The features are centred but not scaled: apply a `StandardScaler` first, as for PCA.

    Parameters
    ----------
    n_components : int, float or None, default=2
        Number of components. A number between 0 and 1 takes as many as PCA needs to explain more than that
        fraction of the variance; None takes all, at most `max_features`.
    n_neighbors : int, "log2" or "log", default="log2"
        k, from 2 to n_samples - 1; a point is not its own neighbour. "log2" is round(log2 n_samples),
        "log" is round(ln n_samples), both kept within that range.
    include_self : bool, default=False
        Whether a point belongs to its own neighbourhood of k + 1 points, which makes S̄ depend on how far an
        outlier is from its neighbours.
    alpha : "auto" or float, default="auto"
        Weight of curvature against variance, from 0 to inf. "auto" takes the candidate of `alpha_grid`
        with the largest eigengap; this is unsupervised.
    alpha_grid : array-like of shape (n_alphas,), default=None
        Candidates for ``alpha="auto"``; ``np.geomspace(0.1, 100, 50)`` if None.
    criterion : {"mass", "eigenvalue"}, default="mass"
        The eigengap e_m - e_{m+1}, divided by the sum of all |e| or by |e_m|.
    symmetric : bool, default=False
        Use (S̄ + S̄ᵀ)/2 for S̄: real eigenvalues and orthogonal components.
    max_features : int or None, default=25
        With more features than this, PCA reduces them to this many first (or to `n_components`, if that is
        more). None disables this PCA.
    degenerate : {"average", "lapack"}, default="average"
        Where a neighbourhood does not determine its eigenvectors (k ≤ n_features, repeated eigenvalues):
        average over all bases, or take the one LAPACK returns.
    algorithm : {"auto", "kd_tree", "brute"}, default="auto"
        How the neighbours are searched. The result does not depend on it.
    sample : int or None, default=None
        Estimate S̄ from a random sample of this many rows, at least 2, whose neighbours are still searched
        among all rows. Everything else uses all rows. If there are not more rows than this, all are used.
    random_state : int, RandomState or None, default=0
        Seed of the sample: the same seed gives the same fit. Or a generator to draw it from; None for NumPy's
        global one. Without a `sample` nothing is drawn.
    n_jobs : int or None, default=None
        Number of threads for S̄; None or -1 for all cores, -2 for all but one. The result does not
        depend on it.
    verbose : bool, default=False
        Show one progress bar for the whole fit, which names the current stage.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Unit rows, in general not orthogonal. The signs follow scikit-learn's PCA. A complex-conjugate pair of
        eigenvectors gives its real and imaginary parts. If PCA came first, it is included.
    mean_ : ndarray of shape (n_features,)
        Mean of the training data.
    n_components_ : int
        Number of components.
    eigenvalues_ : ndarray of shape (n_directions,)
        All eigenvalues of Σ_curv by real part, descending, on the directions along which the data vary.
        Complex only if some of them are. Where the choice of α did not need them all, they are computed when
        read.
    explained_variance_ : ndarray of shape (n_components,)
        Variance of the training data along each component, divided by n_samples - 1. Components that are not
        orthogonal share some of it.
    explained_variance_ratio_ : ndarray of shape (n_components,)
        The same as a fraction of the total variance.
    covariance_ : ndarray of shape (n_kept, n_kept)
        Σ, divided by n_samples - 1. n_kept is n_features, or `max_features` where PCA came first; then this
        and the next three are in the space of its scores.
    mean_shape_operator_ : ndarray of shape (n_kept, n_kept)
        S̄ as estimated, regardless of `symmetric`.
    mean_shape_operator_error_ : ndarray of shape (n_kept, n_kept)
        Standard error of each entry of S̄ due to `sample`; zeros if all rows were used.
    curved_covariance_ : ndarray of shape (n_kept, n_kept)
        Σ_curv; S̄ alone for ``alpha=inf``.
    scale_ : float
        tr Σ / |tr S̄|; 0 where S̄ is zero.
    alpha_, lambda_ : float
        The α used and λ = α · `scale_`.
    alpha_grid_, eigengaps_ : ndarray of shape (n_alphas,)
        The candidates and their eigengaps; a single one for a given `alpha`. Gaps that the choice of α did
        not need are computed when `eigengaps_` is read.
    n_neighbors_ : int
        k.
    n_samples_, sample_ : int
        Number of rows with a weight above 0, and number of rows that S̄ was estimated from.
    skew_ratio_ : float
        ‖S̄_skew‖₂ / ‖S̄_sym‖₂, computed when read, like the next two.
    imaginary_ratio_ : float
        max|Im e| / max|e| over `eigenvalues_`.
    bauer_fike_bound_ : float
        λ‖S̄‖₂: no eigenvalue of Σ_curv is farther from one of Σ.
    loadings_ : Loadings
        `components_` with the names of the features.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if they are all strings.

    See Also
    --------
    ShapeOperatorEigenmaps : Curvature alone.
    sklearn.decomposition.PCA : Variance alone.

    Notes
    -----
    Directions along which the data do not vary at all are never components as long as there are others:
    their eigenvalue is 0, and with much curvature every other one is negative.

    If S̄ is zero (constant data, or as many duplicates as neighbours) this is PCA, with a warning.

    References
    ----------
    .. [1] A. L. M. Levada, "Shape Operator PCA: Curvature-Aware Projections for Geometric Machine Learning".

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.preprocessing import StandardScaler
    >>> from shopca_rs import SHOPCA
    >>> X = StandardScaler().fit_transform(load_iris().data)
    >>> shopca = SHOPCA(n_components=2, alpha=1).fit(X)
    >>> shopca.transform(X).shape
    (150, 2)
    >>> shopca.n_neighbors_, round(shopca.lambda_, 2)
    (7, 24.46)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **CurvedPCA._parameter_constraints,
        "alpha": [StrOptions({"auto"}), Interval(Real, 0, None, closed="both")],
        "alpha_grid": ["array-like", None],
        "criterion": [StrOptions(set(CRITERIA))],
    }

    def __init__(
        self,
        n_components: int | float | None = 2,
        *,
        n_neighbors: int | str = "log2",
        include_self: bool = False,
        alpha: float | str = "auto",
        alpha_grid: ArrayLike | None = None,
        criterion: Criterion = "mass",
        symmetric: bool = False,
        max_features: int | None = 25,
        degenerate: Degenerate = "average",
        algorithm: Algorithm = "auto",
        sample: int | None = None,
        random_state: RandomState = 0,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.include_self = include_self
        self.alpha = alpha
        self.alpha_grid = alpha_grid
        self.criterion = criterion
        self.symmetric = symmetric
        self.max_features = max_features
        self.degenerate = degenerate
        self.algorithm = algorithm
        self.sample = sample
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @classmethod
    def published(cls, n_components: int | float | None = 2, **overrides: Any) -> Self:
        """SHOPCA with the settings behind the paper's tables, which differ from those in its text.

        These are k = round(ln n), the gap divided by |e_m|, 15 candidates for α and no PCA first. The data of
        the tables were preprocessed: missing values set to 0, PCA to 25 components if there were more
        features, then standardised. Their eigenvectors were LAPACK's: pass ``degenerate="lapack"`` to match
        them where a neighbourhood does not determine its eigenvectors.

        Parameters
        ----------
        n_components : int, float or None, default=2
            Number of components.
        **overrides
            Any parameter of `SHOPCA`, to be used instead.

        Returns
        -------
        SHOPCA
            Not yet fitted.

        Examples
        --------
        >>> from shopca_rs import SHOPCA
        >>> SHOPCA.published().n_neighbors
        'log'
        """
        settings: dict[str, Any] = {
            "n_neighbors": "log",
            "criterion": "eigenvalue",
            "alpha_grid": np.geomspace(0.1, 100, 15),
            "max_features": None,
        }
        return cls(n_components, **(settings | overrides))

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
            Weights of the rows, at least 0; only their ratios matter. Σ, S̄ and the mean are weighted means.
            Rows of weight 0 are ignored. A row of weight 2 is like two equal rows, except for the neighbours:
            a duplicate takes up one of the k places in a neighbourhood, a weight does not.

        Returns
        -------
        self : SHOPCA
            The fitted estimator.
        """
        return self._fit(X, sample_weight, self.alpha, self.alpha_grid, self.criterion)


class ShapeOperatorEigenmaps(CurvedPCA):
    """Shape Operator Eigenmaps: components from the mean shape operator alone.

    SHOPCA at α = ∞: the components are the leading right eigenvectors of the mean shape operator S̄. Its
    eigenvalues have real parts ≤ 0 and the leading ones are nearest to 0, so these are the directions along
    which neighbourhoods are flattest.

    Parameters
    ----------
    n_components, n_neighbors, include_self, symmetric, max_features, degenerate, algorithm, sample, \
random_state, n_jobs, verbose
        As in `SHOPCA`.

    Attributes
    ----------
    curved_covariance_ : ndarray of shape (n_kept, n_kept)
        S̄, or its symmetric part if `symmetric`.
    alpha_, lambda_, bauer_fike_bound_ : float
        Infinite.
    components_, mean_, n_components_, eigenvalues_, explained_variance_, explained_variance_ratio_, \
covariance_, mean_shape_operator_, mean_shape_operator_error_, scale_, alpha_grid_, eigengaps_, \
n_neighbors_, n_samples_, sample_, skew_ratio_, imaginary_ratio_, loadings_, n_features_in_, \
feature_names_in_
        As in `SHOPCA`.

    See Also
    --------
    SHOPCA : Variance and curvature together.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from shopca_rs import ShapeOperatorEigenmaps
    >>> X = load_iris().data
    >>> ShapeOperatorEigenmaps(n_components=2).fit_transform(X).shape
    (150, 2)
    """

    def __init__(
        self,
        n_components: int | float | None = 2,
        *,
        n_neighbors: int | str = "log2",
        include_self: bool = False,
        symmetric: bool = False,
        max_features: int | None = 25,
        degenerate: Degenerate = "average",
        algorithm: Algorithm = "auto",
        sample: int | None = None,
        random_state: RandomState = 0,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.include_self = include_self
        self.symmetric = symmetric
        self.max_features = max_features
        self.degenerate = degenerate
        self.algorithm = algorithm
        self.sample = sample
        self.random_state = random_state
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
            Weights of the rows, as in `SHOPCA.fit`.

        Returns
        -------
        self : ShapeOperatorEigenmaps
            The fitted estimator.
        """
        return self._fit(X, sample_weight, float("inf"), None, "mass")
