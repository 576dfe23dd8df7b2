"""A lower bound on Σ|e_i| of a matrix A = H + K from the symmetric spectrum, sharp where K has a small rank.

|x| = (1/π) ∫ log(1 + x²/ω²) dω over ω > 0. With ω = eᵗ the trapezoidal rule of step s turns this into

    G(x) = (s/π) Σ_j ω_j log|1 + x²/ω_j²|,    ω_{j+1} = eˢ ω_j.

Summed over all integers j, G(x)/|x| is periodic in log|x|, and its Fourier coefficients are at most
1/(√(1 + κ²) cosh(πκ/2)) for κ = 2πk/s. Therefore G(x) ≤ g |x| for real x, with g barely above 1. The terms
are not negative then, so that any of them may be left out. They are convex in log ω, so that several may be
replaced by one at the mean of their log ω_j, both means weighted by ω_j (Jensen). For complex e,
|1 + e²/ω²| ≤ 1 + |e|²/ω², hence

    g Σ|e_i| ≥ Σ_i G(e_i) = (s/π) Σ_j ω_j log det(I + A²/ω_j²).

Let h_i be the eigenvalues of H, R = (H − iω)⁻¹, and K = U k Uᵀ + K₂, U with a few orthonormal columns. Then

    log det(I + A²/ω²) = Σ log(1 + h_i²/ω²) + 2 log|det(I + k UᵀRU)| + 2 log|det(I + X)|,
    X = (R − Y) K₂,    Y = R U N Uᵀ R,    N = (I + k UᵀRU)⁻¹ k.

H is tridiagonal in some basis, so that RU takes time proportional to the size of A. In Frobenius norms
‖X‖ ≤ x = (1/ω + ‖Y‖) ‖K₂‖. R is symmetric and K₂ skew, so tr RK₂ = 0 and |tr X| ≤ ‖Y‖ ‖K₂‖. Where x < 1,
the last logarithm is at least −‖Y‖ ‖K₂‖ − x²/(2 − 2x).
"""

from __future__ import annotations

import numpy as np
import scipy.linalg  # type: ignore[import-untyped]
from numpy.typing import NDArray

Matrix = NDArray[np.float64]

# Step s, and the smallest and the largest ω: relative to the mean and to the largest |h|.
_STEP = 0.8
_SMALLEST, _LARGEST = 1e-6, 1e5
# All terms with a smaller ω_j, relative to ω, are replaced by one at the mean of their log ω.
_BELOW = float(np.exp(-_STEP / (1 - np.exp(-_STEP))))
_KAPPAS = 2 * np.pi / _STEP * np.arange(1, 9)
_EXCESS = 1 + 2.1 * float((1 / (np.sqrt(1 + _KAPPAS**2) * np.cosh(_KAPPAS * np.pi / 2))).sum())
_ROUNDING = 1e-10


def spectrum_mass_bound(
    values: Matrix, diagonal: Matrix, beside: Matrix, plane: Matrix, coupling: Matrix, rest: float
) -> float:
    """Bound Σ|e_i| of H + K from below.

    Parameters
    ----------
    values : ndarray of shape (n,)
        Eigenvalues of H.
    diagonal, beside : ndarray of shape (n,) and (n - 1,)
        H in a basis where it is tridiagonal.
    plane : ndarray of shape (n, p)
        U in the same basis.
    coupling : ndarray of shape (p, p)
        k, skew.
    rest : float
        ‖K₂‖.

    Returns
    -------
    float
        The bound, at least 0.
    """
    sizes = np.abs(values)
    mean, largest = float(sizes.mean()), float(sizes.max())
    if mean == 0:
        return 0.0
    columns = plane.astype(np.complex128)

    def logarithm(omega: float) -> float:
        """Bound log det(I + A²/ω²) from below, by 0 if nothing better is known."""
        *_, solved, failed = scipy.linalg.lapack.zgtsv(beside, diagonal - 1j * omega, beside, columns)
        inner = np.eye(len(coupling)) + coupling @ (plane.T @ solved)
        determinant = float(np.linalg.slogdet(inner)[1])
        if failed or not np.isfinite(determinant):
            return 0.0
        # Y has the norm of this p × p matrix, RU = QT.
        triangle: NDArray[np.complex128] = np.asarray(np.linalg.qr(solved, mode="r"))
        turn = float(np.linalg.norm(triangle @ np.linalg.solve(inner, coupling) @ triangle.T))
        x = (1 / omega + turn) * rest
        if not x < 1:
            return 0.0
        loss = turn * rest + x**2 / (2 - 2 * x)
        return max(float(np.log1p((sizes / omega) ** 2).sum()) + 2 * (determinant - loss), 0.0)

    best, total = 0.0, 0.0
    omega = _LARGEST * largest
    while omega > _SMALLEST * mean:
        own = logarithm(omega)
        if own == 0:
            break
        total += omega * own
        if omega < mean:
            best = max(best, total + omega / (np.exp(_STEP) - 1) * logarithm(omega * _BELOW))
        omega *= np.exp(-_STEP)
    return _STEP / np.pi * best / _EXCESS * (1 - _ROUNDING)
