"""Bounds on the gap after the leading eigenvalues of a general matrix, without its whole spectrum."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg  # type: ignore[import-untyped]
from numpy.typing import NDArray
from scipy.sparse.linalg import (  # type: ignore[import-untyped]
    ArpackError,
    LinearOperator,
    eigs,
)

from .unlocked_lapack import cholesky_factor

Matrix = NDArray[np.float64]

# Restarts of Arnoldi's method: where more are needed, eigenvalues are too close together.
_RESTARTS = 4
# How far above e_m the other eigenvalues are allowed to be sought, in multiples of the gap. At −1 they are
# below e_{m+1} too.
_STEPS = (-1.0, 0.0, 2.0)


class Gap(NamedTuple):
    """Result of `leading_gap`.

    Attributes
    ----------
    most, least : float
        Upper and lower bound of Re e_m − Re e_{m+1}; the lower one is 0 where nothing better is known.
    between : float
        A number between Re e_{m+1} and Re e_m where `least` is not 0, else NaN.
    last : float or None
        |e_m|, None where only the bound is known.
    """

    most: float
    least: float = 0.0
    between: float = float("nan")
    last: float | None = None


def leading_gap(matrix: Matrix, m: int, beyond: float) -> Gap | None:
    """Find the gap after the m leading eigenvalues of a matrix A or bound it, or return None if that fails.

    `beyond` is an upper bound on the real parts of the eigenvalues; a tighter bound is faster.

    Arnoldi's method with shift and invert gives an invariant subspace with orthonormal basis Q and m + 1
    eigenvalues f. All others belong to P A P, P = I − QQᵀ, and their real parts are at most the largest
    eigenvalue w of its symmetric part (Bendixson). If w ≤ Re f_m then e_m = f_m, and since an eigenvalue
    that was missed can only raise e_{m+1}, the gap is at most Re f_m − Re f_{m+1}. If w ≤ Re f_{m+1} too,
    it is exactly this. A Cholesky decomposition of μI − P(A + Aᵀ)P/2 tells whether w ≤ μ. In any case the
    gap is at most `beyond` − Re f_{m+1}.
    """
    n, count = len(matrix), m + 1
    size = float(np.linalg.norm(matrix))
    symmetric = (matrix + matrix.T) / 2
    distance = abs(beyond - float(np.trace(matrix)) / n)
    vectors = _nearest(matrix, count, beyond + 0.01 * distance, tol=1e-10)
    if vectors is None:
        # Try again with a shift ten times closer to the first eigenvalue, which is roughly known.
        first = _nearest(matrix, 1, beyond + 0.01 * distance, tol=1e-3)
        if first is None:
            return None
        x = first[:, 0]
        start = float(np.vdot(x, matrix @ x).real / np.vdot(x, x).real)
        vectors = _nearest(matrix, count, start + 0.1 * max(beyond - start, 0.01 * distance), tol=1e-10)
        if vectors is None:
            return None
    Q = _real_basis(vectors)
    AQ = matrix @ Q
    T = Q.T @ AQ
    values = np.linalg.eigvals(T)
    values = values[np.argsort(-values.real, kind="stable")]
    rounding = float(np.linalg.norm(AQ - Q @ T)) + n * np.finfo(np.float64).eps * size
    if len(values) <= m or rounding > 1e-6 * size:
        return None
    f = values.real
    gap = float(f[m - 1] - f[m])
    HQ = symmetric @ Q
    for step in _STEPS:
        if cholesky_beyond(symmetric, Q, HQ, float(f[m - 1]) + step * gap + rounding) is None:
            continue
        if step > 0:
            return Gap((1 + step) * gap + 2 * rounding)
        last = float(np.abs(values[m - 1]))
        if step < 0 and gap > 2 * rounding:
            return Gap(gap + 2 * rounding, gap - 2 * rounding, float(f[m - 1] + f[m]) / 2, last)
        return Gap(gap + 2 * rounding, last=last)
    return Gap(beyond - float(f[m]) + 2 * rounding)


def _nearest(matrix: Matrix, count: int, shift: float, tol: float) -> NDArray[np.complex128] | None:
    """Return eigenvectors of the eigenvalues nearest to a number, None where they are too close together."""
    n = len(matrix)
    shifted = matrix.copy(order="F")
    shifted.flat[:: n + 1] -= shift
    factors, pivots, singular = scipy.linalg.lapack.dgetrf(shifted, overwrite_a=True)
    if singular:
        return None
    inverse = LinearOperator(
        (n, n), lambda x: scipy.linalg.lapack.dgetrs(factors, pivots, x)[0], dtype=np.float64
    )
    options = {
        "sigma": shift,
        "OPinv": inverse,
        "v0": _start(n),
        "ncv": min(2 * count + 16, n),
        "maxiter": _RESTARTS,
    }
    try:
        vectors: NDArray[np.complex128] = eigs(matrix, count, tol=tol, **options)[1]
    except ArpackError:
        return None
    return vectors


def _start(n: int) -> Matrix:
    # Fixed, and orthogonal to nothing in particular.
    return np.cos(np.arange(n))


def _real_basis(vectors: NDArray[np.complex128]) -> Matrix:
    """Return an orthonormal basis of the real and imaginary parts of columns."""
    parts = np.hstack([vectors.real, vectors.imag])
    Q, R, _ = scipy.linalg.qr(parts, mode="economic", pivoting=True)
    sizes = np.abs(np.diag(R))
    basis: Matrix = Q[:, sizes > 1e-7 * sizes[0]]
    return basis


def cholesky_beyond(symmetric: Matrix, Q: Matrix, product: Matrix, bound: float) -> Matrix | None:
    """Decompose bound · I − H on the complement of Q's columns, None unless it is positive definite there.

    `product` is HQ. On the columns of Q themselves the matrix is made positive.
    """
    inner = product - Q @ (Q.T @ product) + (1 + 2 * abs(bound)) * Q
    form = np.hstack([Q, inner]) @ np.hstack([product, Q]).T
    form -= symmetric
    form.flat[:: len(form) + 1] += bound
    return cholesky_factor(form)
