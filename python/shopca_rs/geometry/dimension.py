"""The intrinsic dimension of a point cloud."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _core
from ..arguments import Progress, as_choice, as_count, as_indices, as_points, as_progress, as_threads
from ..neighbors import ALGORITHMS, Algorithm

METHODS = ("mle", "pca", "two_nn")

# TwoNN leaves out the largest ratios, which are the least reliable.
KEPT = 0.9


class IntrinsicDimension(NamedTuple):
    """Result of `intrinsic_dimension`.

    Attributes
    ----------
    dimension : int
        The dimension of the whole cloud: `estimate` rounded, at least 1.
    estimate : float
        The same before rounding.
    local : ndarray of shape (p,) or None
        The estimate at each point, NaN where its neighbours coincide with it; None for "two_nn".
    """

    dimension: int
    estimate: float
    local: NDArray[np.float64] | None


def intrinsic_dimension(
    X: ArrayLike,
    *,
    method: Literal["mle", "pca", "two_nn"] = "mle",
    n_neighbors: int = 20,
    points: ArrayLike | None = None,
    algorithm: Algorithm = "auto",
    n_jobs: int | None = None,
    progress: Progress = None,
) -> IntrinsicDimension:
    """Intrinsic dimension of a point cloud, as a whole and at each point.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Points as rows.
    method : {"mle", "pca", "two_nn"}, default="mle"
        "mle" is the maximum likelihood estimate of Levina and Bickel from the growth of the distances to the
        neighbours; over the cloud, the inverse estimates are averaged, following MacKay and Ghahramani. "pca"
        counts the eigenvalues of the covariance of the neighbours above 0.05 of the largest, and takes the
        median over the cloud. "two_nn" is the estimate of Facco and others, from the ratios of the distances
        to the two nearest neighbours; it is the most local one and the most sensitive to noise.
    n_neighbors : int, default=20
        Number of neighbours of "mle" and "pca", from 3 to n − 1. It limits the result: with k
        neighbours, "pca" finds at most k − 1 dimensions.
    points : array-like of int, shape (p,), optional
        Rows at which the dimension is estimated, with neighbours among all rows; all by default.
    algorithm : {"auto", "kd_tree", "brute"}, default="auto"
        How the neighbours are searched. The result does not depend on it.
    n_jobs : int, optional
        Number of threads; None or -1 for all cores, -2 for all but one.
    progress : bool or callable, optional
        True shows a progress bar; a callable is called with (done, total).

    Returns
    -------
    IntrinsicDimension
        Named tuple of `dimension`, `estimate` and `local`.

    References
    ----------
    .. [1] E. Levina and P. Bickel, "Maximum likelihood estimation of intrinsic dimension", NIPS 2004.
    .. [2] E. Facco, M. d'Errico, A. Rodriguez and A. Laio, "Estimating the intrinsic dimension of datasets by
       a minimal neighborhood information", Scientific Reports 7, 2017.

    Examples
    --------
    >>> import numpy as np
    >>> from shopca_rs import intrinsic_dimension
    >>> sphere = np.random.default_rng(0).normal(size=(1000, 3))
    >>> sphere /= np.linalg.norm(sphere, axis=1, keepdims=True)
    >>> intrinsic_dimension(sphere).dimension
    2
    """
    table, threads = as_points(X), as_threads(n_jobs)
    as_choice(method, "method", METHODS)
    rows = None if points is None else as_indices(points, "points", 1, "1-D, a list of rows")
    arguments = {
        "x": table,
        "k": 2 if method == "two_nn" else as_count(n_neighbors, "n_neighbors", 3),
        "points": rows,
        "algorithm": as_choice(algorithm, "algorithm", ALGORITHMS),
        "n_jobs": threads,
    }
    with as_progress(progress, "intrinsic dimension") as report:
        if method == "pca":
            return summary(method, _core.local_dimensions(**arguments, progress=report))
        _, squared = _core.k_neighbors(**arguments, queries=None, progress=report)
    return summary(method, maximum_likelihood(squared) if method == "mle" else squared)


def summary(method: str, found: NDArray[np.float64]) -> IntrinsicDimension:
    """Return the dimension of the cloud from the estimates at each point.

    Parameters
    ----------
    method : str
        As in `intrinsic_dimension`.
    found : ndarray of shape (p,) or (p, 2)
        The local estimates, or for "two_nn" the two smallest squared distances.

    Returns
    -------
    IntrinsicDimension
        The result.
    """
    if method == "pca":
        return _rounded(float(np.median(found)), found)
    if method == "two_nn":
        return _rounded(two_nearest(found), None)
    known = np.isfinite(found)
    if not known.any():
        raise _no_distances("a larger n_neighbors")
    return _rounded(float(1 / np.mean(1 / found[known])), found)


def maximum_likelihood(squared: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return (k − 2) / Σ_j log(r_k / r_j) over the k neighbours of each row that are not at distance zero."""
    apart = squared > 0
    count = apart.sum(axis=1)
    logs = np.log(np.where(apart, squared, 1.0)) / 2
    growth = np.where(apart, logs[:, -1:] - logs, 0.0).sum(axis=1)
    known = (count > 2) & (growth > 0)
    return np.where(known, (count - 2) / np.where(known, growth, 1.0), np.nan)


def two_nearest(squared: NDArray[np.float64]) -> float:
    """Slope of −log(1 − F) against log(r₂/r₁) over the smallest 90 % of the ratios, through the origin."""
    apart = squared[:, 0] > 0
    if not apart.any():
        raise _no_distances('method="mle"')
    ratios = np.sort(np.log(squared[apart, 1] / squared[apart, 0]) / 2)
    kept = max(int(KEPT * len(ratios)), 1)
    heights = -np.log1p(-np.arange(1, kept + 1) / (len(ratios) + 1))
    square = float(ratios[:kept] @ ratios[:kept])
    if square == 0:
        raise _no_distances('method="mle"')
    return float(heights @ ratios[:kept]) / square


def _rounded(estimate: float, local: NDArray[np.float64] | None) -> IntrinsicDimension:
    return IntrinsicDimension(max(round(estimate), 1), estimate, local)


def _no_distances(hint: str) -> ValueError:
    return ValueError(
        "The intrinsic dimension needs neighbours at different distances, and no point has them. "
        f"Drop duplicated rows or use {hint}."
    )
