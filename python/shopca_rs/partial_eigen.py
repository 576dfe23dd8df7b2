"""All eigenvalues of a matrix and its leading eigenvectors, at little more than the cost of eigenvalues."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg  # type: ignore[import-untyped]
from numpy.typing import NDArray

from .unlocked_lapack import tridiagonal_eigenvalues, tridiagonal_form

Matrix = NDArray[np.float64]

# Steps of inverse iteration: the shift is an eigenvalue to rounding, so the first one already converges.
_STEPS = 3
# Smallest distance of two eigenvalues whose vectors inverse iteration tells apart, and largest residual;
# both relative to the norm of the matrix.
_APART = 1e-7
_RESIDUAL = 1e-12


def symmetric_spectrum(matrix: Matrix, count: int) -> tuple[Matrix, Matrix]:
    """Return all eigenvalues of a symmetric matrix, descending, and the leading eigenvectors as columns."""
    n = len(matrix)
    diagonal, beside, reflectors, scales = tridiagonal_form(matrix)
    values = tridiagonal_eigenvalues(diagonal, beside)
    values = np.asarray(np.linalg.eigvalsh(matrix), np.float64) if values is None else values
    vectors = scipy.linalg.eigh_tridiagonal(
        diagonal, beside, select="i", select_range=(n - count, n - 1), check_finite=False
    )[1]
    # Q is 1 in its corner; the rest is stored as a QR decomposition stores it.
    turn = scipy.linalg.lapack.dormqr
    vectors[1:] = turn("L", "N", reflectors[1:, :-1], scales, vectors[1:], 64 * count)[0]
    return values[::-1], vectors[:, ::-1]


def leading_eigenvectors(matrix: Matrix, values: NDArray[Any], m: int) -> NDArray[Any] | None:
    """Return unit eigenvectors of the m leading eigenvalues as columns, by inverse iteration.

    `values` are all eigenvalues by real part, descending. Returns None where some are too close together.
    The largest entry of a complex vector is real, as in LAPACK, and the vectors of a pair are conjugate.
    """
    # In this unit, squares neither overflow nor underflow.
    unit = np.ldexp(1.0, int(np.frexp(np.abs(matrix).max())[1]))
    matrix, values = matrix / unit, values / unit
    n, size = len(matrix), float(np.linalg.norm(matrix))
    vectors = np.empty((n, m), dtype=values.dtype)
    for i, value in enumerate(values[:m]):
        if i and value.imag and value == np.conj(values[i - 1]):
            vectors[:, i] = vectors[:, i - 1].conj()
            continue
        distances = np.abs(values - value)
        distances[i] = np.inf
        if not distances.min() > _APART * size:
            return None
        found = _inverse_iteration(matrix, value if value.imag else value.real, size)
        if found is None:
            return None
        vectors[:, i] = found
    return vectors


def real_columns(values: NDArray[Any], vectors: NDArray[Any], m: int) -> Matrix:
    """Turn the m leading eigenvectors into real unit columns."""
    columns = np.empty((len(vectors), m))
    second = False
    for j in range(m):
        # A conjugate pair gives the real and the imaginary part of its first vector.
        columns[:, j] = vectors[:, j - 1].imag if second else vectors[:, j].real
        second = bool(values[j].imag) and not second
    unit: Matrix = columns / np.linalg.norm(columns, axis=0)
    return unit


def _inverse_iteration(matrix: Matrix, value: Any, size: float) -> NDArray[Any] | None:
    n = len(matrix)
    # The shift misses the eigenvalue by rounding, so that the matrix is not singular.
    shifted = matrix - value * (1 + 4 * np.finfo(np.float64).eps) * np.eye(n)
    getrf, getrs = scipy.linalg.get_lapack_funcs(("getrf", "getrs"), (shifted,))
    factors, pivots, failed = getrf(shifted.T, overwrite_a=True)
    if failed:
        return None
    x = np.cos(np.arange(n)).astype(shifted.dtype)
    for _ in range(_STEPS):
        x = getrs(factors, pivots, x, trans=1)[0]
        x /= np.linalg.norm(x)
    if not np.linalg.norm(matrix @ x - value * x) <= _RESIDUAL * size:
        return None
    largest = x[np.abs(x).argmax()]
    result: NDArray[Any] = x * (abs(largest) / largest)
    return result
