"""Σ and S̄ on the directions along which the data vary."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg  # type: ignore[import-untyped]
from numpy.typing import ArrayLike, NDArray

from .arguments import as_matrices, as_number_of_directions
from .products import product, squared
from .spectrum import fix_signs, symmetric_part

Matrix = NDArray[np.float64]

# The square of a deviation of 1e-6: columns that depend on each other up to float32 rounding are empty too.
_EMPTY = 1e-12
# Largest angle, in radians, between the space of a Cholesky decomposition and that of the eigenvectors.
_ANGLE = 1e-8
_ROUNDING = 64 * float(np.finfo(np.float64).eps)
# Columns whose deviations differ by no more than this need no pivoting, which takes most of the time.
_ALIKE = 1e3


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


def on_varying_directions(covariance: ArrayLike, shape_operator: ArrayLike, m: int = 1) -> Varying:
    """Σ and S̄ without the directions along which the data do not vary.

    Such a direction (a constant column, columns that depend on each other) has the eigenvalue 0 in Σ and in
    S̄. Once λS̄ outweighs the variance, all other eigenvalues are negative, and this direction would come
    first: a component that is the same for every point. At least m directions are kept, if necessary some
    without variance.

    Parameters
    ----------
    covariance, shape_operator : array-like of shape (d, d)
        Σ and S̄.
    m : int, default=1
        Number of directions that will be needed.

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
    Sigma, S = as_matrices(covariance=covariance, shape_operator=shape_operator)
    d = len(Sigma)
    m = as_number_of_directions(m, d)
    # Correlations, so that a column in small units is not mistaken for one without variance.
    deviation = np.sqrt(np.maximum(np.diag(Sigma), 0.0))
    unit = np.where(deviation > 0, deviation, 1.0)
    correlation = Sigma / unit
    correlation /= unit[:, None]
    spanning, null = _spanning(correlation)
    count = spanning.shape[1]
    if count == d:
        return Varying(Sigma, S, np.eye(d))
    alike = deviation.max() <= _ALIKE * deviation.min()
    if alike and null is not None and count >= m:
        return _on_complement(Sigma, S, null / deviation[:, None])
    # In the units of the data, whose columns may differ in size by many orders of magnitude. With the largest
    # rows first and pivoting, Householder's QR keeps the digits of every row (Cox and Higham 1998).
    spanning = spanning * deviation[:, None]
    order = np.argsort(-deviation, kind="stable")
    basis = np.empty((d, count if count >= m else d))
    basis[order] = scipy.linalg.qr(
        spanning[order], mode="economic" if count >= m else "full", pivoting=not alike
    )[0]
    if count:
        basis[:, :count] = fix_signs(basis[:, :count].T).T
    basis = basis[:, : max(count, m)] + 0.0  # no negative zeros
    both = [product(basis.T, product(matrix, basis)) for matrix in (Sigma, S)]
    return Varying(symmetric_part(both[0]), both[1], basis)


def _on_complement(Sigma: Matrix, S: Matrix, null: Matrix) -> Varying:
    """Σ and S̄ on the orthogonal complement of a few columns.

    The Householder reflections that make the q columns triangular have the product I − VTVᵀ. All its columns
    but the first q are the basis B = [0; I] − VTV₂ᵀ, where V₂ is V without its first q rows, so BᵀΣB and BᵀS̄B
    are Σ and S̄ without their first q rows and columns, changed by matrices of low rank.
    """
    q = null.shape[1]
    (reflectors, scales), _ = scipy.linalg.qr(null, mode="raw", check_finite=False)
    V = np.tril(reflectors, -1)
    np.fill_diagonal(V, 1.0)
    # A scale of 0 is no reflection.
    V[:, scales == 0] = 0.0
    # T⁻¹ is the upper triangle of VᵀV, with 1/scale on its diagonal (Puglisi 1992).
    inverse = np.triu(squared(V), 1) + np.diag(1 / np.where(scales == 0, 1.0, scales))
    VT = scipy.linalg.solve_triangular(inverse, V.T, trans="T", check_finite=False).T
    rest = V[q:]
    turned = product(Sigma, VT)
    half = product(rest, (turned[q:] - product(rest, product(VT.T, turned)) / 2).T)
    covariance = symmetric_part(Sigma[q:, q:]) - (half + half.T)
    turned = product(S, VT)
    beside = product(VT.T, S[:, q:]) - product(product(VT.T, turned), rest.T)
    operator = S[q:, q:] - product(np.hstack([rest, turned[q:]]), np.vstack([beside, rest.T]))
    basis = -product(VT, rest.T)
    basis[q:].flat[:: basis.shape[1] + 1] += 1.0
    return Varying(covariance, operator, basis)


def _spanning(correlation: Matrix) -> tuple[Matrix, Matrix | None]:
    """Return columns that span the directions with variance, and others for the rest if that is small."""
    found = _cholesky_columns(correlation)
    if found is not None:
        return found
    values, vectors = np.linalg.eigh(correlation)
    return vectors[:, values > _EMPTY], None


def _cholesky_columns(correlation: Matrix) -> tuple[Matrix, Matrix] | None:
    """Return the columns L of a pivoted Cholesky decomposition, and N that span their orthogonal complement.

    None unless L span what eigenvectors would. L has r columns and the leading block L₁. The eigenvalues of
    the matrix R satisfy λ_r ≥ λ_r(L₁L₁ᵀ) ≥ 1/‖L₁⁻¹‖_F² (Cauchy), and λ_{r+1} is at most the largest
    xᵀNᵀRNx / xᵀNᵀNx (Courant and Fischer). With these rows first N = [−L₁⁻ᵀL₂ᵀ; I].
    """
    lapack = scipy.linalg.lapack
    # The transpose of a symmetric matrix is the matrix, in the order of LAPACK.
    factor, pivots, rank, _ = lapack.dpstrf(correlation.T, lower=1, tol=_EMPTY)
    d = len(correlation)
    if rank == 0 or 2 * rank < d:
        return None
    L = np.tril(factor[:, :rank])
    inverse, failed = lapack.dtrtri(L[:rank], lower=1)
    if failed:
        return None
    columns, null = np.empty_like(L), np.empty((d, d - rank))
    columns[pivots - 1] = L
    null[pivots - 1] = np.vstack([-product(inverse.T, L[rank:].T), np.eye(d - rank)])
    least = float(lapack.dlange("F", inverse)) ** -2
    if rank < d and _ANGLE * least < _ROUNDING:
        least, null = _refined(columns, null)
    if not least >= 2 * _EMPTY:
        return None
    if rank < d:
        most = min(_EMPTY / 2, _ANGLE * least)
        if not (_ANGLE * least >= _ROUNDING and _largest_ratio(correlation, null, most) <= most):
            return None
    return columns, null


def _largest_ratio(matrix: Matrix, columns: Matrix, enough: float) -> float:
    """Bound |xᵀNᵀMNx| / xᵀNᵀNx for independent columns N from above, sharply unless that is `enough`."""
    factor = scipy.linalg.cholesky(squared(columns), lower=True, check_finite=False)
    form = product(columns.T, product(matrix, columns))
    for _ in range(2):
        form = scipy.linalg.solve_triangular(factor, form.T, lower=True, check_finite=False)
    bound = float(scipy.linalg.lapack.dlange("F", form))
    return bound if bound <= enough else float(np.abs(scipy.linalg.eigvalsh(symmetric_part(form))).max())


def _refined(columns: Matrix, null: Matrix) -> tuple[float, Matrix]:
    """Bound the smallest eigenvalue of LᵀL from below, and make N orthogonal to L once more.

    The leading block of L may be close to singular where L is not.
    """
    lapack = scipy.linalg.lapack
    squares = squared(columns)
    factor, failed = lapack.dpotrf(squares.T, lower=1)
    # No eigenvalue is below this one if the matrix less this multiple of I is still positive definite.
    least = 4 * _ROUNDING / _ANGLE
    squares.flat[:: len(squares) + 1] -= least
    if failed or lapack.dpotrf(squares.T, lower=1, clean=0, overwrite_a=1)[1]:
        return 0.0, null
    along = lapack.dpotrs(factor, product(null.T, columns).T, lower=1, overwrite_b=1)[0]
    return least, null - product(columns, along)
