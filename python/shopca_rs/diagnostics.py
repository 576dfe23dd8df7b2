"""How far a fit is from symmetric, from real and from PCA."""

from __future__ import annotations

import numpy as np
import scipy.linalg  # type: ignore[import-untyped]
from numpy.typing import ArrayLike, NDArray
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh  # type: ignore[import-untyped]

from .arguments import as_matrices, as_matrix, as_numbers, as_spectrum, as_weight
from .spectrum import leading_directions

# From this size on, a Lanczos iteration is faster than all singular values.
_LANCZOS = 128


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
    S = as_matrix(shape_operator, "shape_operator")
    S = S / (np.abs(S).max() or 1.0)  # Divided first: sums may not fit in float64.
    skew, symmetric = _largest_singular_value(S - S.T), _largest_singular_value(S + S.T)
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
    e = as_spectrum(eigenvalues, "eigenvalues", ndim=1)
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
    norm = _largest_singular_value(as_matrix(shape_operator, "shape_operator"))
    return as_weight(lambda_, "lambda_") * norm if norm > 0 else 0.0


def _largest_singular_value(matrix: NDArray[np.float64]) -> float:
    n, unit = len(matrix), float(np.abs(matrix).max())
    if n < _LANCZOS or unit == 0:
        return float(np.linalg.norm(matrix, 2))
    M = matrix / unit  # whose squares neither overflow nor vanish
    squared = LinearOperator((n, n), lambda x: M.T @ (M @ x), dtype=np.float64)
    try:
        largest = eigsh(squared, 1, v0=np.cos(np.arange(n)), tol=1e-12, return_eigenvectors=False)[0]
    except ArpackError:
        return float(np.linalg.norm(matrix, 2))
    return float(np.sqrt(largest)) * unit


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
    S, error = as_matrices(shape_operator=shape_operator, standard_error=standard_error)
    if not error.any():
        return 0.0
    if not S.any():
        return float("inf")
    # Divided first: squares may not fit in float64.
    largest, own = float(np.abs(error).max()), float(np.abs(S).max())
    return float(np.linalg.norm(error / largest) / np.linalg.norm(S / own)) * (largest / own)


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
    columns = as_numbers(directions, "directions", 2, "2-D with directions as columns")
    Sigma = as_matrix(covariance, "covariance")
    if len(columns) != len(Sigma) or columns.shape[1] > len(Sigma):
        raise ValueError(
            f"directions must have {len(Sigma)} rows, as many as covariance, and at most as many columns, "
            f"got shape {columns.shape}."
        )
    principal = leading_directions(Sigma, columns.shape[1]).vectors
    angles: NDArray[np.float64] = np.degrees(scipy.linalg.subspace_angles(columns, principal))
    return np.sort(angles)
