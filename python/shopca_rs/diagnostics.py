"""How far a curved covariance is from symmetric, from real and from PCA: numbers, and a text to read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.linalg  # type: ignore[import-untyped]
from numpy.typing import ArrayLike, NDArray

from .spectrum import leading_directions

if TYPE_CHECKING:
    from .base import CurvedPCA


def skew_ratio(shape_operator: ArrayLike) -> float:
    """Return ‖S̄_skew‖₂ / ‖S̄_sym‖₂, how far S̄ is from symmetric.

    Parameters
    ----------
    shape_operator : array-like of shape (d, d)
        S̄.

    Returns
    -------
    float
        0 for a symmetric S̄ (and for S̄ = 0), ∞ for a purely skew one.

    Examples
    --------
    >>> skew_ratio([[1.0, 1.0], [-1.0, 1.0]])
    1.0
    """
    S = np.asarray(shape_operator, dtype=np.float64)
    skew, symmetric = np.linalg.norm(S - S.T, 2), np.linalg.norm(S + S.T, 2)
    if symmetric == 0:
        return 0.0 if skew == 0 else float("inf")
    return float(skew / symmetric)


def imaginary_ratio(eigenvalues: ArrayLike) -> float:
    """Return max|Im e| / max|e|, how far a spectrum is from real.

    Parameters
    ----------
    eigenvalues : array-like of shape (d,)
        A whole spectrum.

    Returns
    -------
    float
        From 0 (real) to 1.

    Examples
    --------
    >>> imaginary_ratio([5.0, 3 + 4j, 3 - 4j])
    0.8
    """
    e = np.asarray(eigenvalues)
    largest = np.abs(e).max()
    return float(np.abs(e.imag).max() / largest) if largest > 0 else 0.0


def bauer_fike_bound(shape_operator: ArrayLike, lambda_: float) -> float:
    """Return λ‖S̄‖₂: no eigenvalue of Σ + λS̄ is farther than this from one of Σ.

    Parameters
    ----------
    shape_operator : array-like of shape (d, d)
        S̄.
    lambda_ : float
        λ, 0 to ∞.

    Returns
    -------
    float
        The bound of Bauer and Fike, whose condition number is 1 because Σ is symmetric.

    Examples
    --------
    >>> bauer_fike_bound([[-2.0, 0.0], [0.0, -1.0]], lambda_=3.0)
    6.0
    """
    norm = float(np.linalg.norm(np.asarray(shape_operator, dtype=np.float64), 2))
    return lambda_ * norm if norm > 0 else 0.0


def relative_error(shape_operator: ArrayLike, standard_error: ArrayLike) -> float:
    """Return ‖SE‖_F / ‖S̄‖_F, how far a sampled S̄ is expected to be from that of all points.

    Parameters
    ----------
    shape_operator : array-like of shape (d, d)
        S̄.
    standard_error : array-like of shape (d, d)
        Standard error of each entry.

    Returns
    -------
    float
        0 without an error, ∞ for S̄ = 0 with one.

    Examples
    --------
    >>> relative_error([[-3.0, 0.0], [0.0, -4.0]], [[0.3, 0.0], [0.0, 0.4]])
    0.1
    """
    S, error = np.asarray(shape_operator, dtype=np.float64), np.asarray(standard_error, dtype=np.float64)
    if not error.any():
        return 0.0
    if not S.any():
        return float("inf")
    largest = np.abs(S).max()  # Divided first: squares may not fit in float64.
    return float(np.linalg.norm(error / largest) / np.linalg.norm(S / largest))


def angles_to_pca(covariance: ArrayLike, directions: ArrayLike) -> NDArray[np.float64]:
    """Principal angles between a subspace and PCA's of the same dimension.

    Parameters
    ----------
    covariance : array-like of shape (d, d)
        Σ.
    directions : array-like of shape (d, m)
        Columns that span the subspace.

    Returns
    -------
    ndarray of shape (m,)
        Angles in degrees, ascending: all 0 for PCA's own subspace, 90 for a direction it lacks.

    Examples
    --------
    >>> angles_to_pca(np.diag([3.0, 2.0, 1.0]), np.eye(3)[:, [0, 2]]).round(6).tolist()
    [0.0, 90.0]
    """
    columns = np.asarray(directions, dtype=np.float64)
    principal = leading_directions(covariance, columns.shape[1]).vectors
    angles: NDArray[np.float64] = np.degrees(scipy.linalg.subspace_angles(columns, principal))
    return np.sort(angles)


def summary(estimator: CurvedPCA) -> str:
    """Describe a fitted estimator in a few lines; see `SHOPCA.summary`.

    Parameters
    ----------
    estimator : SHOPCA or ShapeOperatorEigenmaps
        A fitted one.

    Returns
    -------
    str
        The lines.
    """
    m, d = estimator.components_.shape
    kept = len(estimator.covariance_)
    through = f", through {kept} principal components" if kept < d else ""
    rule = f' (rule "{estimator.n_neighbors}")' if isinstance(estimator.n_neighbors, str) else ""
    weight = f"alpha = {estimator.alpha_:.4g}, lambda = {estimator.lambda_:.4g}"
    variance = f"{estimator.explained_variance_ratio_.sum():.1%} of the total"
    lines = [
        f"{type(estimator).__name__}: {_count(d, 'feature')} to {_count(m, 'component')}{through}",
        f"  neighbours       k = {estimator.n_neighbors_}{rule}",
        *_sample(estimator),
        f"  mixing           {weight}{_how(estimator)}",
        f"  eigengap         {_gap(estimator)}",
        f"  skew ratio       {estimator.skew_ratio_:.3g} (0 is a symmetric shape operator)",
        f"  spectrum         {_realness(estimator.imaginary_ratio_)}",
        f"  eigenvalue shift at most {estimator.bauer_fike_bound_:.4g} (Bauer-Fike)",
        f"  from PCA         {_angles(estimator)}",
        f"  variance         {variance}, summed over the components",
    ]
    return "\n".join(lines)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")


def _sample(estimator: Any) -> list[str]:
    n, m = estimator.n_samples_, estimator.sample_
    if m == n:
        return []
    error = relative_error(estimator.mean_shape_operator_, estimator.mean_shape_operator_error_)
    return [
        f"  sample           {m} of {n} points, the shape operator is off by about {error:.2g} of its norm"
    ]


def _how(estimator: Any) -> str:
    grid = estimator.alpha_grid_
    if estimator.alpha_ == 0 and estimator.scale_ == 0:
        return " (PCA: no curvature was found)"
    if len(grid) == 1:
        return " (given)"
    at_end = estimator.alpha_ in (grid[0], grid[-1])
    place = ", at the end of its grid" if at_end else ""
    return f' (best of {len(grid)} by criterion "{estimator.criterion}"{place})'


def _gap(estimator: Any) -> str:
    chosen = estimator.eigengaps_[np.flatnonzero(estimator.alpha_grid_ == estimator.alpha_)[0]]
    if len(estimator.alpha_grid_) == 1:
        return f"{chosen:.4g}"
    return f"{chosen:.4g} (median over the grid {np.median(estimator.eigengaps_):.4g})"


def _realness(ratio: float) -> str:
    if ratio == 0:
        return "real"
    return f"complex: imaginary parts up to {ratio:.2%} of the largest eigenvalue"


def _angles(estimator: Any) -> str:
    rows, basis = estimator.components_, estimator._basis
    angles = angles_to_pca(estimator.covariance_, (rows if basis is None else rows @ basis.T).T)
    listed = ", ".join(f"{angle:.1f}°" for angle in angles[:6])
    return f"principal angles {listed}" + (", …" if len(angles) > 6 else "")
