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

from .arguments import as_choice, as_count

Matrix = NDArray[np.float64]
Criterion = Literal["mass", "eigenvalue"]

CRITERIA = ("mass", "eigenvalue")

# A local covariance of exact duplicates is the square of their rounding error.
_ROUNDING = (64 * float(np.finfo(np.float64).eps)) ** 2


class Varying(NamedTuple):
    """Σ and S̄ on the directions along which the data vary, and those directions.

    Attributes
    ----------
    covariance, shape_operator : ndarray of shape (r, r)
        BᵀΣB and BᵀS̄B.
    basis : ndarray of shape (d, r)
        B, orthonormal columns.
    """

    covariance: Matrix
    shape_operator: Matrix
    basis: Matrix


class Directions(NamedTuple):
    """The whole spectrum and the leading directions.

    Attributes
    ----------
    eigenvalues : ndarray of shape (d,)
        By real part, descending; complex only if some eigenvalue is.
    vectors : ndarray of shape (d, m)
        Unit columns, independent of each other but in general not orthogonal.
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
    M = _square(matrix, "matrix")
    return (M + M.T) / 2


def covariance_scale(covariance: ArrayLike, shape_operator: ArrayLike) -> float:
    """Weight of S̄ that gives it the trace of Σ: tr Σ / |tr S̄|.

    Parameters
    ----------
    covariance, shape_operator : array-like of shape (d, d)
        Σ and S̄.

    Returns
    -------
    float
        The scale. It is 0 where S̄ is zero up to rounding, so that λ = α · scale weighs nothing.

    Examples
    --------
    >>> covariance_scale([[3.0, 0.0], [0.0, 1.0]], [[-0.5, 0.0], [0.0, -1.5]])
    2.0
    """
    variance = float(np.trace(_square(covariance, "covariance")))
    curvature = abs(float(np.trace(_square(shape_operator, "shape_operator"))))
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
    Sigma, S = _square(covariance, "covariance"), _square(shape_operator, "shape_operator")
    if Sigma.shape != S.shape:
        raise ValueError(
            f"covariance and shape_operator must have one shape, got {Sigma.shape} and {S.shape}."
        )
    if not alpha >= 0:
        raise ValueError(f"alpha must be a number from 0 to inf, got {alpha!r}.")
    if np.isinf(alpha):
        return S.copy()
    with np.errstate(over="ignore", invalid="ignore"):
        curved = Sigma + float(alpha) * covariance_scale(Sigma, S) * S
    if not np.isfinite(curved).all():
        raise ValueError(f"alpha = {alpha:g} is so large that Σ + λ S̄ overflows. Use alpha=inf for S̄ alone.")
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
    M = _square(matrix, "matrix")
    if _is_symmetric(M):
        return np.linalg.eigvalsh(M)[::-1]
    values = np.linalg.eigvals(M)
    return values[_order(values)]


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
    return np.stack([eigenvalues(curved_covariance(covariance, shape_operator, alpha)) for alpha in grid])


def eigengap(spectrum: ArrayLike, m: int, criterion: Criterion = "mass") -> Any:
    """Relative gap (e_m − e_{m+1}) behind the m leading eigenvalues.

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
    e = np.asarray(spectrum)
    _check_m(m, e.shape[-1])
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
        The choice. Gaps that differ by rounding alone count as equal, so it does not hang on the
        last bit of an eigensolver.

    Examples
    --------
    >>> choose_alpha([0.1, 1.0, 10.0], [0.2, 0.5, 0.5])
    1.0
    """
    grid, heights = as_grid(alphas, "alphas"), np.asarray(gaps, dtype=np.float64)
    if grid.shape != heights.shape:
        raise ValueError(f"alphas and gaps must have one shape, got {grid.shape} and {heights.shape}.")
    if not np.isfinite(heights).all():
        raise ValueError("gaps must be finite to be compared, got NaN or infinity.")
    highest = heights.max()
    return float(grid[np.argmax(heights >= highest - 1e-12 * abs(highest))])


def leading_directions(matrix: ArrayLike, m: int) -> Directions:
    """Leading right eigenvectors of a square matrix as real, independent unit columns.

    A symmetric matrix goes through a symmetric solver, any other through the general one. A
    complex-conjugate pair spans a real plane: it gives the real and the imaginary part of its eigenvector, or
    only the real part when m cuts the pair. Signs follow scikit-learn's PCA.

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
    M = _square(matrix, "matrix")
    _check_m(m, len(M))
    if _is_symmetric(M):
        values, vectors = scipy.linalg.eigh(M)
        values, vectors = values[::-1], vectors[:, ::-1]
    else:
        values, vectors = scipy.linalg.eig(M)
        order = _order(values)
        values, vectors = values[order], vectors[:, order]
        vectors = _real_columns(values, vectors, m)
        values = values if values.imag.any() else values.real
    columns = vectors[:, :m] / np.linalg.norm(vectors[:, :m], axis=0)
    return Directions(values, fix_signs(columns.T).T)


def fix_signs(components: ArrayLike) -> Matrix:
    """Turn each row so that its entry of largest magnitude is positive, as scikit-learn's PCA does.

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
    rows = np.array(components, dtype=np.float64)
    largest = rows[np.arange(len(rows)), np.abs(rows).argmax(axis=1)]
    rows *= np.where(largest < 0, -1.0, 1.0)[:, None]
    return rows


def on_varying_directions(covariance: ArrayLike, shape_operator: ArrayLike, m: int = 1) -> Varying:
    """Σ and S̄ without the directions along which the data do not vary.

    Such a direction (a constant column, columns that depend on each other) has the eigenvalue 0 in Σ and in
    S̄. Once curvature outweighs variance all others are negative, and it would lead: a component that is the
    same for every point. At least m directions are kept, the missing ones from those without variance.

    Parameters
    ----------
    covariance, shape_operator : array-like of shape (d, d)
        Σ and S̄.
    m : int, default=1
        Number of directions that will be asked for.

    Returns
    -------
    Varying
        Named tuple of `covariance`, `shape_operator` and `basis`; the two matrices as they are and the
        identity if the data vary along every direction.

    Examples
    --------
    >>> kept = on_varying_directions([[3.0, 0.0], [0.0, 0.0]], [[-1.0, 0.0], [0.0, 0.0]])
    >>> kept.covariance.tolist(), kept.basis.tolist()
    ([[3.0]], [[1.0], [0.0]])
    """
    Sigma, S = _square(covariance, "covariance"), _square(shape_operator, "shape_operator")
    d = len(Sigma)
    _check_m(m, d)
    # Correlations, so that a column in small units is not taken for one without variance.
    deviation = np.sqrt(np.maximum(np.diag(Sigma), 0.0))
    unit = np.where(deviation > 0, deviation, 1.0)
    values, vectors = np.linalg.eigh(symmetric_part(Sigma / unit / unit[:, None]))
    # The square of a deviation of 1e-6: columns that depend on each other only up to float32 rounding too.
    empty = values <= 1e-12
    if not empty.any():
        return Varying(Sigma, S, np.eye(d))
    still = np.linalg.qr(vectors[:, empty] / unit[:, None])[0]
    varying = fix_signs(scipy.linalg.null_space(still.T, rcond=0.5).T).T
    basis = np.concatenate([varying, still], axis=1)[:, : max(varying.shape[1], m)]
    return Varying(symmetric_part(basis.T @ Sigma @ basis), basis.T @ S @ basis, basis)


def as_grid(alphas: ArrayLike, name: str = "alpha_grid") -> Matrix:
    """Return a grid of α as a 1-D float64 array of numbers from 0 to ∞, at least one.

    Parameters
    ----------
    alphas : array-like of shape (a,)
        The grid.
    name : str, default="alpha_grid"
        What the error texts call it.

    Returns
    -------
    ndarray of shape (a,)
        The grid, checked.

    Examples
    --------
    >>> as_grid([0, 1, float("inf")]).tolist()
    [0.0, 1.0, inf]
    """
    try:
        grid = np.asarray(alphas, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be a list of numbers from 0 to inf, got {alphas!r}.") from None
    if grid.ndim != 1 or grid.size == 0:
        raise ValueError(
            f"{name} must be 1-D with at least one number, got {grid.ndim}-D of shape {grid.shape}."
        )
    if not (grid >= 0).all():
        raise ValueError(f"{name} must hold numbers from 0 to inf, got {grid[~(grid >= 0)][0]:g} among them.")
    return grid


def _square(matrix: ArrayLike, name: str) -> Matrix:
    M = np.asarray(matrix, dtype=np.float64)
    if M.ndim != 2 or M.shape[0] != M.shape[1] or M.size == 0:
        raise ValueError(f"{name} must be a square matrix, got shape {M.shape}.")
    if not np.isfinite(M).all():
        raise ValueError(f"{name} must hold finite numbers only, got NaN or infinity.")
    return M


def _check_m(m: int, d: int) -> None:
    if as_count(m, "m", 1) > d:
        raise ValueError(f"m must be at most d = {d}, the number of directions there are, got {m}.")


def _is_symmetric(M: Matrix) -> bool:
    return bool(np.array_equal(M, M.T))


def _order(values: NDArray[Any]) -> NDArray[np.intp]:
    # Stable, because LAPACK returns the two members of a pair side by side with one real part.
    return np.argsort(-values.real, kind="stable")


def _real_columns(values: NDArray[Any], vectors: NDArray[Any], m: int) -> Matrix:
    """Replace the eigenvectors of each conjugate pair by the real and the imaginary part of the first."""
    columns = np.empty((len(vectors), m))
    second = False
    for j in range(m):
        columns[:, j] = vectors[:, j - 1].imag if second else vectors[:, j].real
        second = bool(values[j].imag) and not second
    return columns
