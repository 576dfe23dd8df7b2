"""The mean shape operator and related functions: check the arguments, call Rust."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _core
from .arguments import (
    Progress,
    RandomState,
    as_choice,
    as_count,
    as_flag,
    as_indices,
    as_points,
    as_sample,
    as_threads,
    as_weighted,
    as_weights,
)
from .neighbors import ALGORITHMS, Algorithm, run_core
from .sparse_tables import as_filled

Degenerate = Literal["average", "lapack"]

DEGENERATE = ("average", "lapack")


class OperatorCurvatures(NamedTuple):
    """Result of `operator_curvatures`: one row or entry for each point.

    Attributes
    ----------
    principal : ndarray of shape (n, d)
        Eigenvalues of the point's shape operator, ascending; real and never positive.
    mean : ndarray of shape (n,)
        Mean curvature, the trace of the shape operator divided by d.
    gaussian : ndarray of shape (n,)
        Gaussian curvature, the determinant of the shape operator. It is zero where the k neighbours
        span fewer than d directions: whenever k ≤ d, or k < d with `include_self`.
    """

    principal: NDArray[np.float64]
    mean: NDArray[np.float64]
    gaussian: NDArray[np.float64]


@overload
def mean_shape_operator(
    X: ArrayLike,
    k: int,
    *,
    include_self: bool = False,
    degenerate: Degenerate = "average",
    algorithm: Algorithm = "auto",
    neighbors: ArrayLike | None = None,
    n_jobs: int | None = None,
    progress: Progress = None,
    sample: int | None = None,
    random_state: RandomState = 0,
    return_error: Literal[False] = False,
    sample_weight: ArrayLike | None = None,
) -> NDArray[np.float64]: ...
@overload
def mean_shape_operator(
    X: ArrayLike,
    k: int,
    *,
    include_self: bool = False,
    degenerate: Degenerate = "average",
    algorithm: Algorithm = "auto",
    neighbors: ArrayLike | None = None,
    n_jobs: int | None = None,
    progress: Progress = None,
    sample: int | None = None,
    random_state: RandomState = 0,
    return_error: Literal[True],
    sample_weight: ArrayLike | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...
def mean_shape_operator(
    X: ArrayLike,
    k: int,
    *,
    include_self: bool = False,
    degenerate: Degenerate = "average",
    algorithm: Algorithm = "auto",
    neighbors: ArrayLike | None = None,
    n_jobs: int | None = None,
    progress: Progress = None,
    sample: int | None = None,
    random_state: RandomState = 0,
    return_error: bool = False,
    sample_weight: ArrayLike | None = None,
) -> NDArray[np.float64] | tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean shape operator of a point cloud.

    For each point the covariance C of its k nearest neighbours has the eigenvectors W; with P = W∘W the
    shape operator is S = −½ (C + P Pᵀ C). The result is the mean of S over all points, or over a random
    sample of them.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, d)
        Points as rows: any table of finite real numbers. Computed in float64. A sparse one is copied to a
        dense one and may have at most 1000 columns.
    k : int
        Number of neighbours, from 2 to n − 1. A point is not its own neighbour.
    include_self : bool, default=False
        Whether a point belongs to its own neighbourhood: then C is the covariance of k + 1 points, the point
        and its k nearest others. Without it, C does not depend on how far an outlier is from its neighbours.
    degenerate : {"average", "lapack"}, default="average"
        Where eigenvectors are not determined by the data (k ≤ d, or repeated eigenvalues): average over
        all bases of the eigenspace, or take the one LAPACK returns.
    algorithm : {"auto", "kd_tree", "brute"}, default="auto"
        How the neighbours are searched. The result does not depend on it.
    neighbors : array-like of int, shape (n, k), optional
        Precomputed neighbours, used as given. With `include_self` each row is added to its own list; a
        list that already contains it raises an error.
    n_jobs : int, optional
        Number of threads; None or -1 for all cores, -2 for all but one. The result does not
        depend on it.
    progress : bool or callable, optional
        True shows a progress bar; a callable is called with (done, total).
    sample : int, optional
        Take the mean over this many points only, from 2 to n: for a seed, the rows
        ``np.random.RandomState(random_state).permutation(n)[:sample]``. Their neighbours are still searched
        among all rows. None for all points.
    random_state : int, RandomState or None, default=0
        Seed of the sample, from 0 to 2**32 - 1: the same seed gives the same bits. Or a generator to draw it
        from; None for NumPy's global one, which draws a new sample at every call.
    return_error : bool, default=False
        Also return the standard error of S̄.
    sample_weight : array-like of shape (n,), optional
        Weights w of the rows, at least 0, for the mean Σ w S / Σ w; only their ratios matter. Rows of
        weight 0 are ignored, also as neighbours, unless `neighbors` are given. Other weights do not affect
        the neighbourhoods: a row of weight 2 takes up one place among the k neighbours of another.

    Returns
    -------
    mean : ndarray of shape (d, d)
        S̄, in general not symmetric.
    standard_error : ndarray of shape (d, d)
        Only with `return_error`: standard error of each entry of S̄ as an estimate of its mean over all
        points; zeros without a sample.

    See Also
    --------
    local_shape_operators : The operators of single points.

    Notes
    -----
    The sample of m points is split into G = min(32, m) groups of consecutive ones, with m_g points and mean
    S̄_g. Entry by entry, SE² = (1 − m/n) / (m (G − 1)) · Σ_g m_g (S̄_g − S̄)². SE itself is known to about
    1/sqrt(2(G − 1)), 13 % for 32 groups. With weights the means are weighted, and the total weights
    of a group and of the sample replace m_g and the m before G − 1, which is correct to first order.

    Examples
    --------
    >>> import numpy as np
    >>> from shopca_rs import mean_shape_operator
    >>> t = np.linspace(-1, 1, 200)
    >>> S = mean_shape_operator(np.c_[t, t**2], k=8)
    >>> S.shape
    (2, 2)
    >>> bool(np.trace(S) < 0)
    True
    >>> sampled, error = mean_shape_operator(np.c_[t, t**2], k=8, sample=100, return_error=True)
    >>> bool((abs(sampled - S) < 4 * error).all())
    True
    """
    arguments = _arguments(as_filled(X), k, include_self, degenerate, algorithm, neighbors, n_jobs)
    if neighbors is None:
        arguments["x"], weights = as_weighted(arguments["x"], sample_weight)
    else:
        weights = as_weights(sample_weight, len(arguments["x"]))
    rows = as_sample(sample, random_state, len(arguments["x"]))
    both = as_flag(return_error, "return_error")
    arguments["weights"] = weights if weights is None or rows is None else weights[rows]
    if rows is None:
        mean = run_core(_core.mean_shape_operator, arguments, progress, "mean shape operator")
        error = np.zeros_like(mean)
    else:
        arguments["points"] = rows
        mean, error = run_core(_core.sampled_shape_operator, arguments, progress, "mean shape operator")
    return (mean, error) if both else mean


def shape_sum(
    X: ArrayLike,
    k: int,
    *,
    points: ArrayLike | None = None,
    include_self: bool = False,
    degenerate: Degenerate = "average",
    algorithm: Algorithm = "auto",
    n_jobs: int | None = None,
) -> NDArray[np.float64]:
    """Sum of the shape operators of some points.

    Sums over disjoint sets of points can be added in any process: their total divided by the number of points
    is the mean shape operator.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Points as rows, all of them: neighbours are searched among these.
    k : int
        Number of neighbours, from 2 to n − 1.
    points : array-like of int, shape (p,), optional
        Rows whose operators are summed; all by default.
    include_self, degenerate, algorithm, n_jobs
        As in `mean_shape_operator`.

    Returns
    -------
    ndarray of shape (d, d)
        Σ S over `points`.

    Examples
    --------
    >>> import numpy as np
    >>> from shopca_rs import mean_shape_operator, shape_sum
    >>> t = np.linspace(-1, 1, 200)
    >>> X = np.c_[t, t**2]
    >>> total = sum(shape_sum(X, 8, points=part) for part in np.array_split(np.arange(200), 3))
    >>> bool(np.allclose(total / 200, mean_shape_operator(X, 8)))
    True
    """
    table, threads = as_points(X), as_threads(n_jobs)
    as_choice(degenerate, "degenerate", DEGENERATE)
    rows = None if points is None else as_indices(points, "points", 1, "1-D, a list of rows")
    own = as_flag(include_self, "include_self")
    neighbors, _ = _core.k_neighbors(
        x=table,
        k=as_count(k, "k", 2),
        queries=None,
        points=rows,
        algorithm=as_choice(algorithm, "algorithm", ALGORITHMS),
        n_jobs=threads,
        progress=None,
    )
    if own:
        neighbors = with_own_rows(neighbors, np.arange(len(table)) if rows is None else rows)
    return _core.shape_sum(x=table, neighbors=neighbors, degenerate=degenerate, n_jobs=threads, progress=None)


def with_own_rows(neighbors: NDArray[np.int64], rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the lists of the neighbours of some rows, each with the row itself in front."""
    return np.concatenate([rows[:, None], neighbors], axis=1)


def local_shape_operators(
    X: ArrayLike,
    k: int,
    *,
    points: ArrayLike | None = None,
    include_self: bool = False,
    degenerate: Degenerate = "average",
    algorithm: Algorithm = "auto",
    neighbors: ArrayLike | None = None,
    n_jobs: int | None = None,
    progress: Progress = None,
) -> NDArray[np.float64]:
    """Shape operators of single points.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Points as rows.
    k : int
        Number of neighbours, from 2 to n − 1.
    points : array-like of int, shape (p,), optional
        Rows whose operators are returned; all by default, which needs memory for n·d² numbers.
    include_self, degenerate, algorithm, neighbors, n_jobs, progress
        As in `mean_shape_operator`.

    Returns
    -------
    ndarray of shape (p, d, d)
        One operator for each of `points`.

    Examples
    --------
    >>> import numpy as np
    >>> from shopca_rs import local_shape_operators
    >>> t = np.linspace(-1, 1, 200)
    >>> local_shape_operators(np.c_[t, t**2], k=8, points=[0, 100]).shape
    (2, 2, 2)
    """
    arguments = _arguments(X, k, include_self, degenerate, algorithm, neighbors, n_jobs)
    arguments["points"] = None if points is None else as_indices(points, "points", 1, "1-D, a list of rows")
    return run_core(_core.local_shape_operators, arguments, progress, "shape operators")


def operator_curvatures(
    X: ArrayLike,
    k: int,
    *,
    include_self: bool = False,
    degenerate: Degenerate = "average",
    algorithm: Algorithm = "auto",
    neighbors: ArrayLike | None = None,
    n_jobs: int | None = None,
    progress: Progress = None,
) -> OperatorCurvatures:
    """Principal, mean and Gaussian curvature of the paper's shape operator at every point.

    These rank points by how spread out their neighbours are: on a sphere they grow as the square of its
    radius, and on a plane they are not zero. Use `curvatures` for the curvature of a surface.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Points as rows.
    k : int
        Number of neighbours, from 2 to n − 1.
    include_self, degenerate, algorithm, neighbors, n_jobs, progress
        As in `mean_shape_operator`.

    Returns
    -------
    OperatorCurvatures
        Named tuple of `principal` (n, d), `mean` (n,) and `gaussian` (n,).

    See Also
    --------
    curvatures : The curvature of the surface that the points lie on.

    References
    ----------
    .. [1] A. L. M. Levada, "Shape Operator PCA: Curvature-Aware Projections for Geometric Machine Learning".
    .. [2] A. L. M. Levada, "Efficient Mean Curvature Computation on High-Dimensional Data Manifolds", arXiv
       2606.06329, 2026.

    Examples
    --------
    >>> import numpy as np
    >>> from shopca_rs import operator_curvatures
    >>> t = np.linspace(-1, 1, 200)
    >>> bent = operator_curvatures(np.c_[t, t**2], k=8)
    >>> bent.principal.shape, bool((bent.principal <= 0).all())
    ((200, 2), True)
    """
    arguments = _arguments(X, k, include_self, degenerate, algorithm, neighbors, n_jobs)
    principal = run_core(_core.principal_curvatures, arguments, progress, "curvatures")
    return OperatorCurvatures(principal, principal.mean(axis=1), _determinants(principal))


def _determinants(eigenvalues: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the products of the rows, which overflow or underflow only where their true values do."""
    mantissas, exponents = np.frexp(eigenvalues)
    powers = exponents.sum(axis=1, dtype=np.int64)
    product = np.ones(len(eigenvalues))
    # Brought back to [½, 1) after every factor, the product cannot leave the range of doubles.
    for column in mantissas.T:
        product, exponent = np.frexp(product * column)
        powers += exponent
    with np.errstate(over="ignore", under="ignore"):
        determinants: NDArray[np.float64] = np.ldexp(product, np.clip(powers, -5000, 5000).astype(np.int32))
    return determinants


def _arguments(
    X: ArrayLike,
    k: int,
    include_self: bool,
    degenerate: str,
    algorithm: str,
    neighbors: ArrayLike | None,
    n_jobs: int | None,
) -> dict[str, Any]:
    """Check the common arguments of the operator functions."""
    return {
        "x": as_points(X),
        "k": as_count(k, "k", 2),
        "include_self": as_flag(include_self, "include_self"),
        "degenerate": as_choice(degenerate, "degenerate", DEGENERATE),
        "algorithm": as_choice(algorithm, "algorithm", ALGORITHMS),
        "neighbors": None
        if neighbors is None
        else as_indices(neighbors, "neighbors", 2, "2-D of shape (n, k)"),
        "n_jobs": as_threads(n_jobs),
    }
