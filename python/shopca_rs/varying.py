"""Σ and S̄ on the directions along which the data vary."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg  # type: ignore[import-untyped]
from numpy.typing import ArrayLike, NDArray

from .arguments import as_matrices, as_number_of_directions
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
    spanning = _spanning(symmetric_part(Sigma / unit / unit[:, None]))
    count = spanning.shape[1]
    if count == d:
        return Varying(Sigma, S, np.eye(d))
    # In the units of the data, whose columns may differ in size by many orders of magnitude. With the largest
    # rows first and pivoting, Householder's QR keeps the digits of every row (Cox and Higham 1998).
    spanning = spanning * deviation[:, None]
    order = np.argsort(-deviation, kind="stable")
    alike = deviation.max() <= _ALIKE * deviation.min()
    basis = np.empty((d, count if count >= m else d))
    basis[order] = scipy.linalg.qr(
        spanning[order], mode="economic" if count >= m else "full", pivoting=not alike
    )[0]
    if count:
        basis[:, :count] = fix_signs(basis[:, :count].T).T
    basis = basis[:, : max(count, m)] + 0.0  # no negative zeros
    return Varying(symmetric_part(basis.T @ Sigma @ basis), basis.T @ S @ basis, basis)


def _spanning(correlation: Matrix) -> Matrix:
    """Return independent columns that span the directions with variance."""
    found = _cholesky_columns(correlation)
    if found is None:
        values, vectors = np.linalg.eigh(correlation)
        found = vectors[:, values > _EMPTY]
    return found


def _cholesky_columns(correlation: Matrix) -> Matrix | None:
    """Return the columns of a pivoted Cholesky decomposition, None unless they span what eigenvectors would.

    L has r columns, and L₁ is its leading block. The eigenvalues of the matrix R satisfy
    λ_r ≥ λ_r(L₁L₁ᵀ) ≥ 1/‖L₁⁻¹‖_F² (Cauchy), and λ_{r+1} is at most the largest xᵀNᵀRNx / xᵀNᵀNx for N =
    [−L₁⁻ᵀL₂ᵀ; I] (Courant and Fischer), whose columns are orthogonal to those of L.
    """
    lapack = scipy.linalg.lapack
    factor, pivots, rank, _ = lapack.dpstrf(correlation, lower=1, tol=_EMPTY)
    if rank == 0:
        return None
    L = np.tril(factor[:, :rank])
    inverse, failed = lapack.dtrtri(L[:rank], lower=1)
    least = 0.0 if failed else float(np.linalg.norm(inverse)) ** -2
    if not least >= 2 * _EMPTY or 2 * rank < len(L):
        return None
    pivots -= 1
    if rank < len(L):
        kept, dropped = pivots[:rank], pivots[rank:]
        X = -inverse.T @ L[rank:].T
        across = correlation[np.ix_(kept, dropped)]
        residual = correlation[np.ix_(kept, kept)] @ X + across
        form = correlation[np.ix_(dropped, dropped)] + across.T @ X + X.T @ residual
        squares = np.eye(len(dropped)) + X.T @ X
        ratios = scipy.linalg.eigh(symmetric_part(form), squares, eigvals_only=True, check_finite=False)
        rest = float(np.abs(ratios).max())
        if not (rest <= _EMPTY / 2 and max(rest, _ROUNDING) <= _ANGLE * least):
            return None
    columns: Matrix = np.empty_like(L)
    columns[pivots] = L
    return columns
