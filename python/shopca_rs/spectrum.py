"""From Σ and S̄ to α, λ and the leading directions: pure functions, usable without the estimator.

Everywhere Σ is `covariance` and S̄ is `shape_operator`, both (d, d), and m is the number of output
dimensions. Σ_curv(α) = Σ + α · scale · S̄, with scale = tr Σ / |tr S̄|; α = ∞ stands for S̄ alone.
Pass the symmetric part of S̄ for the symmetrised variant.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
import scipy.linalg  # type: ignore[import-untyped]
from numpy.typing import ArrayLike, NDArray

from .arguments import (
    as_choice,
    as_grid,
    as_matrices,
    as_matrix,
    as_number_of_directions,
    as_numbers,
    as_spectrum,
    as_weight,
)
from .partial_eigen import real_columns

Matrix = NDArray[np.float64]
Criterion = Literal["mass", "eigenvalue"]

CRITERIA = ("mass", "eigenvalue")

# Entries of the matrices that are solved in one call.
_BATCH = 500_000

# A local covariance of exact duplicates is the square of their rounding error.
_ROUNDING = (64 * float(np.finfo(np.float64).eps)) ** 2


class Directions(NamedTuple):
    """The whole spectrum and the leading directions.

    Attributes
    ----------
    eigenvalues : ndarray of shape (d,)
        By real part, descending; complex only if some eigenvalue is.
    vectors : ndarray of shape (d, m)
        Unit columns, linearly independent but in general not orthogonal.
    """

    eigenvalues: NDArray[Any]
    vectors: Matrix


def default_grid() -> Matrix:
    """Grid of α from variance alone to curvature alone: 50 points, geometric, 0.1 to 100.

    Returns
    -------
    ndarray of shape (50,)
        The grid.

    Examples
    --------
    >>> grid = default_grid()
    >>> len(grid), float(grid[0]), float(grid[-1])
    (50, 0.1, 100.0)
    """
    return np.geomspace(0.1, 100.0, 50)


def symmetric_part(matrix: ArrayLike) -> Matrix:
    """Return (M + Mᵀ)/2, symmetric to the last bit.

    Parameters
    ----------
    matrix : array-like of shape (d, d)
        M.

    Returns
    -------
    ndarray of shape (d, d)
        The symmetric part.

    Examples
    --------
    >>> symmetric_part([[1.0, 4.0], [2.0, 1.0]]).tolist()
    [[1.0, 3.0], [3.0, 1.0]]
    """
    M = as_matrix(matrix, "matrix")
    # A product of a matrix with its own transpose is symmetric already; the check takes a tenth of the time.
    if np.array_equal(M, M.T):
        return M.copy()
    # Halves first: the sum of two large entries may overflow.
    half = M / 2
    return half + half.T


def covariance_scale(covariance: ArrayLike, shape_operator: ArrayLike) -> float:
    """Weight of S̄ that gives it the trace of Σ: tr Σ / |tr S̄|.

    Parameters
    ----------
    covariance, shape_operator : array-like of shape (d, d)
        Σ and S̄.

    Returns
    -------
    float
        The scale. It is 0 where S̄ is zero up to rounding, so that λ = α · scale is 0 as well.

    Examples
    --------
    >>> covariance_scale([[3.0, 0.0], [0.0, 1.0]], [[-0.5, 0.0], [0.0, -1.5]])
    2.0
    """
    Sigma, S = as_matrices(covariance=covariance, shape_operator=shape_operator)
    variance, curvature = float(np.trace(Sigma)), abs(float(np.trace(S)))
    if curvature == 0 or curvature <= _ROUNDING * variance:
        return 0.0
    return variance / curvature


def curved_covariance(covariance: ArrayLike, shape_operator: ArrayLike, alpha: float) -> Matrix:
    """Return Σ_curv(α) = Σ + α · scale · S̄; S̄ itself for α = ∞.

    Parameters
    ----------
    covariance, shape_operator : array-like of shape (d, d)
        Σ and S̄.
    alpha : float
        Mixing coefficient, 0 (Σ alone) to ∞ (S̄ alone).

    Returns
    -------
    ndarray of shape (d, d)
        The curved covariance.

    Examples
    --------
    >>> curved_covariance([[3.0, 0.0], [0.0, 1.0]], [[-0.5, 0.0], [0.0, -1.5]], alpha=0.5).tolist()
    [[2.5, 0.0], [0.0, -0.5]]
    """
    Sigma, S = as_matrices(covariance=covariance, shape_operator=shape_operator)
    weight = as_weight(alpha, "alpha")
    curved: Matrix = _curved(Sigma, S, covariance_scale(Sigma, S), np.array([weight]))[0]
    return curved


def eigenvalues(matrix: ArrayLike) -> NDArray[Any]:
    """Eigenvalues by real part, descending.

    Parameters
    ----------
    matrix : array-like of shape (d, d)
        Any square matrix.

    Returns
    -------
    ndarray of shape (d,)
        Real if all of them are; conjugate pairs stay next to each other.

    Examples
    --------
    >>> eigenvalues([[1.0, 0.0], [0.0, 2.0]]).tolist()
    [2.0, 1.0]
    >>> eigenvalues([[1.0, -2.0], [2.0, 1.0]]).round(8).tolist()
    [(1+2j), (1-2j)]
    """
    values: NDArray[Any] = _stacked_spectra(as_matrix(matrix, "matrix")[None])[0]
    return values


def spectra(covariance: ArrayLike, shape_operator: ArrayLike, alphas: ArrayLike) -> NDArray[Any]:
    """Eigenvalues of Σ_curv(α) for each α.

    Parameters
    ----------
    covariance, shape_operator : array-like of shape (d, d)
        Σ and S̄.
    alphas : array-like of shape (a,)
        Mixing coefficients, 0 to ∞.

    Returns
    -------
    ndarray of shape (a, d)
        One spectrum in each row, by real part, descending.

    Examples
    --------
    >>> spectra([[3.0, 0.0], [0.0, 1.0]], [[-0.5, 0.0], [0.0, -1.5]], [0, 1]).tolist()
    [[3.0, 1.0], [2.0, -2.0]]
    """
    grid = as_grid(alphas, "alphas")
    Sigma, S = as_matrices(covariance=covariance, shape_operator=shape_operator)
    scale = covariance_scale(Sigma, S)
    # Small matrices in one call, large ones one by one.
    step = max(_BATCH // Sigma.size, 1)
    return np.concatenate(
        [_stacked_spectra(_curved(Sigma, S, scale, grid[i : i + step])) for i in range(0, len(grid), step)]
    )


def eigengap(spectrum: ArrayLike, m: int, criterion: Criterion = "mass") -> Any:
    """Relative gap (e_m − e_{m+1}) after the m leading eigenvalues.

    Parameters
    ----------
    spectrum : array-like of shape (..., d)
        Eigenvalues by real part, descending, along the last axis.
    m : int
        Number of leading eigenvalues, 1 to d. For m = d there is no e_{m+1}; it is taken as 0.
    criterion : {"mass", "eigenvalue"}, default="mass"
        What the gap is divided by: Σ|e_i| or |e_m|.

    Returns
    -------
    float or ndarray of shape (...)
        The gaps, of real parts; 0 where the divisor is 0.

    Examples
    --------
    >>> eigengap([6.0, 3.0, 1.0], m=2)
    0.2
    >>> round(eigengap([6.0, 3.0, 1.0], m=2, criterion="eigenvalue"), 4)
    0.6667
    """
    e = as_spectrum(spectrum, "spectrum")
    m = as_number_of_directions(m, e.shape[-1])
    as_choice(criterion, "criterion", CRITERIA)
    following = e.real[..., m] if m < e.shape[-1] else 0.0
    gap = np.asarray(e.real[..., m - 1] - following)
    divisor = np.abs(e).sum(axis=-1) if criterion == "mass" else np.abs(e[..., m - 1])
    gaps = np.divide(gap, divisor, out=np.zeros_like(gap), where=divisor > 0)
    return float(gaps) if gaps.ndim == 0 else gaps


def choose_alpha(alphas: ArrayLike, gaps: ArrayLike) -> float:
    """Return the first α whose eigengap is the largest.

    Parameters
    ----------
    alphas, gaps : array-like of shape (a,)
        The grid and its eigengaps.

    Returns
    -------
    float
        The choice. Gaps that differ by rounding alone count as equal, so it does not depend on the
        last bit of an eigensolver.

    Examples
    --------
    >>> choose_alpha([0.1, 1.0, 10.0], [0.2, 0.5, 0.5])
    1.0
    """
    grid, heights = as_grid(alphas, "alphas"), as_numbers(gaps, "gaps", 1, "a list of numbers")
    if grid.shape != heights.shape:
        raise ValueError(f"alphas and gaps must have one shape, got {grid.shape} and {heights.shape}.")
    highest = heights.max()
    return float(grid[np.argmax(heights >= highest - 1e-12 * abs(highest))])


def leading_directions(matrix: ArrayLike, m: int) -> Directions:
    """Leading right eigenvectors of a square matrix as real, independent unit columns.

    A symmetric matrix goes through a symmetric solver, any other through the general one. A
    complex-conjugate pair spans a real plane: it gives the real and the imaginary part of its eigenvector, or
    only the real part if m splits the pair. Signs follow scikit-learn's PCA.

    Parameters
    ----------
    matrix : array-like of shape (d, d)
        Usually Σ_curv.
    m : int
        Number of directions, 1 to d.

    Returns
    -------
    Directions
        Named tuple of `eigenvalues` (d,) and `vectors` (d, m).

    Examples
    --------
    >>> values, vectors = leading_directions([[2.0, 1.0], [0.0, 1.0]], m=2)
    >>> values.tolist(), vectors[:, 0].tolist()
    ([2.0, 1.0], [1.0, 0.0])
    """
    M = as_matrix(matrix, "matrix")
    m = as_number_of_directions(m, len(M))
    if np.array_equal(M, M.T):
        values, vectors = scipy.linalg.eigh(M)
        if not np.isfinite(vectors).all():
            # LAPACK's default gives NaN where entries differ by hundreds of orders of magnitude.
            values, vectors = scipy.linalg.eigh(M, driver="ev")
        values, vectors = values[::-1], vectors[:, ::-1]
    else:
        values, vectors = scipy.linalg.eig(M)
        order = _order(values)
        values, vectors = values[order], vectors[:, order]
        values = values if values.imag.any() else values.real
    return Directions(values, fix_signs(real_columns(values, vectors, m).T).T)


def leading_ratios(numerator: ArrayLike, denominator: ArrayLike, m: int) -> Directions:
    """Directions with the largest ratios vᵀNv / vᵀMv of two symmetric matrices.

    They solve N v = μ M v, and VᵀMV = I. Signs follow scikit-learn's PCA.

    Parameters
    ----------
    numerator, denominator : array-like of shape (d, d)
        N and M, M positive definite. Their symmetric parts are taken.
    m : int
        Number of directions, 1 to d.

    Returns
    -------
    Directions
        Named tuple of `eigenvalues` (d,), all ratios μ, descending, and `vectors` (d, m).

    Examples
    --------
    >>> values, vectors = leading_ratios(np.diag([4.0, 3.0]), np.diag([4.0, 0.25]), m=1)
    >>> values.tolist(), vectors.tolist()
    ([12.0, 1.0], [[0.0], [2.0]])
    """
    N, M = map(symmetric_part, as_matrices(numerator=numerator, denominator=denominator))
    m = as_number_of_directions(m, len(N))
    try:
        values, vectors = scipy.linalg.eigh(N, M)
        if not np.isfinite(vectors).all():
            # See `leading_directions`.
            values, vectors = scipy.linalg.eigh(N, M, driver="gv")
    except np.linalg.LinAlgError:
        raise ValueError("denominator must be positive definite, got one that is not.") from None
    return Directions(values[::-1], fix_signs(vectors[:, ::-1][:, :m].T).T)


def fix_signs(components: ArrayLike) -> Matrix:
    """Flip each row so that its entry of largest magnitude is positive, as scikit-learn's PCA does.

    Parameters
    ----------
    components : array-like of shape (m, d)
        Directions as rows.

    Returns
    -------
    ndarray of shape (m, d)
        The same directions, signs fixed.

    Examples
    --------
    >>> fix_signs([[1.0, -2.0], [3.0, 1.0]]).tolist()
    [[-1.0, 2.0], [3.0, 1.0]]
    """
    rows = as_numbers(components, "components", 2, "2-D with directions as rows").copy()
    largest = rows[np.arange(len(rows)), np.abs(rows).argmax(axis=1)]
    rows *= np.where(largest < 0, -1.0, 1.0)[:, None]
    return rows


def _curved(Sigma: Matrix, S: Matrix, scale: float, alphas: Matrix) -> Matrix:
    """Stack Σ_curv(α) for each α."""
    infinite = np.isinf(alphas)
    with np.errstate(over="ignore", invalid="ignore"):
        weights = np.where(infinite, 0.0, alphas) * scale
        curved: Matrix = Sigma + weights[:, None, None] * S
        finite = np.isfinite(curved).all(axis=(1, 2))
    if not (finite | infinite).all():
        weight = alphas[~(finite | infinite)][0]
        raise ValueError(f"alpha = {weight:g} is so large that Σ + λ S̄ overflows. Use alpha=inf for S̄ alone.")
    curved[infinite] = S
    return curved


def _stacked_spectra(matrices: Matrix) -> NDArray[Any]:
    """Eigenvalues of each matrix by real part, descending; real if all of them are."""
    symmetric = (matrices == matrices.transpose(0, 2, 1)).all(axis=(1, 2))
    if symmetric.all():
        return np.linalg.eigvalsh(matrices)[:, ::-1]
    values = np.empty(matrices.shape[:2], dtype=np.complex128)
    values[symmetric] = np.linalg.eigvalsh(matrices[symmetric])[:, ::-1]
    general = np.linalg.eigvals(matrices[~symmetric])
    values[~symmetric] = np.take_along_axis(general, _order(general), axis=1)
    return values if values.imag.any() else values.real.copy()


def _order(values: NDArray[Any]) -> NDArray[np.intp]:
    # Stable, because LAPACK returns the two members of a conjugate pair one after the other.
    return np.argsort(-values.real, axis=-1, kind="stable")
