"""The mean shape operator and its relatives: check the arguments, call Rust."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _core
from .arguments import (
    Progress,
    as_choice,
    as_count,
    as_flag,
    as_indices,
    as_points,
    as_progress,
    as_sample,
    as_threads,
)

Algorithm = Literal["auto", "kd_tree", "brute"]
Degenerate = Literal["average", "lapack"]

Result = TypeVar("Result")

ALGORITHMS = ("auto", "kd_tree", "brute")
DEGENERATE = ("average", "lapack")


class Curvatures(NamedTuple):
    """What `curvatures` returns: one row or entry for each point.

    Attributes
    ----------
    principal : ndarray of shape (n, d)
        Eigenvalues of the point's shape operator, ascending; real and never positive.
    mean : ndarray of shape (n,)
        Mean curvature, the trace of the shape operator divided by d.
    gaussian : ndarray of shape (n,)
        Gaussian curvature, the determinant of the shape operator. It is zero where the k neighbours
        span fewer than d directions, so wherever k ≤ d.
    """

    principal: NDArray[np.float64]
    mean: NDArray[np.float64]
    gaussian: NDArray[np.float64]


@overload
def mean_shape_operator(
    X: ArrayLike,
    k: int,
    *,
    degenerate: Degenerate = "average",
    algorithm: Algorithm = "auto",
    neighbors: ArrayLike | None = None,
    n_jobs: int | None = None,
    progress: Progress = None,
    sample: int | None = None,
    random_state: int = 0,
    return_error: Literal[False] = False,
) -> NDArray[np.float64]: ...
@overload
def mean_shape_operator(
    X: ArrayLike,
    k: int,
    *,
    degenerate: Degenerate = "average",
    algorithm: Algorithm = "auto",
    neighbors: ArrayLike | None = None,
    n_jobs: int | None = None,
    progress: Progress = None,
    sample: int | None = None,
    random_state: int = 0,
    return_error: Literal[True],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...
def mean_shape_operator(
    X: ArrayLike,
    k: int,
    *,
    degenerate: Degenerate = "average",
    algorithm: Algorithm = "auto",
    neighbors: ArrayLike | None = None,
    n_jobs: int | None = None,
    progress: Progress = None,
    sample: int | None = None,
    random_state: int = 0,
    return_error: bool = False,
) -> NDArray[np.float64] | tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean shape operator of a point cloud.

    For each point the covariance C of its k nearest neighbours has an eigen frame W; with P = W∘W the
    shape operator is S = −½ (C + P Pᵀ C). The result is the mean of S over all points, or over a random
    sample of them.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Points as rows: any table of finite real numbers. Computed in float64.
    k : int
        Number of neighbours, from 2 to n − 1. A point is not its own neighbour.
    degenerate : {"average", "lapack"}, default="average"
        Where eigenvectors are not determined by the data (k ≤ d, or repeated eigenvalues): average over
        all bases of the eigenspace, or take the one LAPACK returns.
    algorithm : {"auto", "kd_tree", "brute"}, default="auto"
        How the neighbours are searched. The result does not depend on it.
    neighbors : array-like of int, shape (n, k), optional
        Precomputed neighbours, used as given.
    n_jobs : int, optional
        Number of threads; None for all cores, negative to count from the end. The result does not
        depend on it.
    progress : bool or callable, optional
        True shows a progress bar; a callable is called with (done, total).
    sample : int, optional
        Take the mean over this many points only, from 2 to n: the rows
        ``np.random.RandomState(random_state).permutation(n)[:sample]``. Their neighbours are still exact and
        among all rows. None for all points.
    random_state : int, default=0
        Seed of the sample, from 0 to 2**32 - 1. The same seed gives the same bits.
    return_error : bool, default=False
        Also return the standard error of S̄.

    Returns
    -------
    mean : ndarray of shape (d, d)
        S̄, in general not symmetric.
    standard_error : ndarray of shape (d, d)
        Only with `return_error`: how far each entry of S̄ is expected to be from its mean over all points;
        zeros without a sample.

    See Also
    --------
    local_shape_operators : The operators of single points.

    Notes
    -----
    The sample of m points is cut into G = min(32, m) groups of consecutive ones, with m_g points and the mean
    S̄_g. Entry by entry, SE² = (1 − m/n) / (m (G − 1)) · Σ_g m_g (S̄_g − S̄)². SE itself is known to about
    1/sqrt(2(G − 1)), 13 % for 32 groups.

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
    arguments = _arguments(X, k, degenerate, algorithm, neighbors, n_jobs)
    rows = as_sample(sample, random_state, len(arguments["x"]))
    both = as_flag(return_error, "return_error")
    if rows is None:
        mean = _run(_core.mean_shape_operator, arguments, progress, "mean shape operator")
        error = np.zeros_like(mean)
    else:
        arguments["points"] = rows
        mean, error = _run(_core.sampled_shape_operator, arguments, progress, "mean shape operator")
    return (mean, error) if both else mean


def shape_sum(
    X: ArrayLike,
    k: int,
    *,
    points: ArrayLike | None = None,
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
    degenerate, algorithm, n_jobs
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
    neighbors, _ = _core.k_neighbors(
        x=table,
        k=as_count(k, "k", 2),
        queries=None,
        points=None if points is None else as_indices(points, "points", 1, "1-D, a list of rows"),
        algorithm=as_choice(algorithm, "algorithm", ALGORITHMS),
        n_jobs=threads,
        progress=None,
    )
    return _core.shape_sum(x=table, neighbors=neighbors, degenerate=degenerate, n_jobs=threads, progress=None)


def local_shape_operators(
    X: ArrayLike,
    k: int,
    *,
    points: ArrayLike | None = None,
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
        Rows whose operators are wanted; all by default, which takes n·d² numbers.
    degenerate, algorithm, neighbors, n_jobs, progress
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
    arguments = _arguments(X, k, degenerate, algorithm, neighbors, n_jobs)
    arguments["points"] = None if points is None else as_indices(points, "points", 1, "1-D, a list of rows")
    return _run(_core.local_shape_operators, arguments, progress, "shape operators")


def curvatures(
    X: ArrayLike,
    k: int,
    *,
    degenerate: Degenerate = "average",
    algorithm: Algorithm = "auto",
    neighbors: ArrayLike | None = None,
    n_jobs: int | None = None,
    progress: Progress = None,
) -> Curvatures:
    """Principal, mean and Gaussian curvature at every point.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Points as rows.
    k : int
        Number of neighbours, from 2 to n − 1.
    degenerate, algorithm, neighbors, n_jobs, progress
        As in `mean_shape_operator`.

    Returns
    -------
    Curvatures
        Named tuple of `principal` (n, d), `mean` (n,) and `gaussian` (n,).

    Examples
    --------
    >>> import numpy as np
    >>> from shopca_rs import curvatures
    >>> t = np.linspace(-1, 1, 200)
    >>> bent = curvatures(np.c_[t, t**2], k=8)
    >>> bent.principal.shape, bool((bent.principal <= 0).all())
    ((200, 2), True)
    """
    arguments = _arguments(X, k, degenerate, algorithm, neighbors, n_jobs)
    principal = _run(_core.principal_curvatures, arguments, progress, "curvatures")
    with np.errstate(over="ignore", under="ignore"):
        return Curvatures(principal, principal.mean(axis=1), principal.prod(axis=1))


def k_neighbors(
    X: ArrayLike,
    k: int,
    *,
    queries: ArrayLike | None = None,
    algorithm: Algorithm = "auto",
    n_jobs: int | None = None,
    progress: Progress = None,
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Exact k nearest neighbours in the Euclidean distance.

    Ties are broken by the smaller row number, so the answer is a function of the data alone.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Points as rows.
    k : int
        Number of neighbours: 2 to n − 1 for the rows of X themselves, 1 to n with `queries`.
    queries : array-like of shape (q, d), optional
        Other points whose neighbours in X are wanted. By default those of the rows of X, each
        without itself.
    algorithm : {"auto", "kd_tree", "brute"}, default="auto"
        How to search; "kd_tree" takes at most 32 columns. The result does not depend on it.
    n_jobs : int, optional
        Number of threads; None for all cores, negative to count from the end.
    progress : bool or callable, optional
        True shows a progress bar; a callable is called with (done, total).

    Returns
    -------
    indices : ndarray of int, shape (q, k)
        Row numbers in X, nearest first.
    distances : ndarray of shape (q, k)
        Their distances.

    Examples
    --------
    >>> from shopca_rs import k_neighbors
    >>> indices, distances = k_neighbors([[0.0], [1.0], [3.0], [7.0]], k=2)
    >>> indices.tolist()
    [[1, 2], [0, 2], [1, 0], [2, 1]]
    """
    arguments = {
        "x": as_points(X),
        "k": as_count(k, "k", 2 if queries is None else 1),
        "queries": None if queries is None else as_points(queries, "queries"),
        "points": None,
        "algorithm": as_choice(algorithm, "algorithm", ALGORITHMS),
        "n_jobs": as_threads(n_jobs),
    }
    indices, squared = _run(_core.k_neighbors, arguments, progress, "neighbours")
    return indices, np.sqrt(squared, out=squared)


def _arguments(
    X: ArrayLike, k: int, degenerate: str, algorithm: str, neighbors: ArrayLike | None, n_jobs: int | None
) -> dict[str, Any]:
    """Check what all the operator functions share."""
    return {
        "x": as_points(X),
        "k": as_count(k, "k", 2),
        "degenerate": as_choice(degenerate, "degenerate", DEGENERATE),
        "algorithm": as_choice(algorithm, "algorithm", ALGORITHMS),
        "neighbors": None
        if neighbors is None
        else as_indices(neighbors, "neighbors", 2, "2-D of shape (n, k)"),
        "n_jobs": as_threads(n_jobs),
    }


def _run(
    function: Callable[..., Result], arguments: dict[str, Any], progress: Progress, description: str
) -> Result:
    with as_progress(progress, description) as report:
        return function(**arguments, progress=report)
