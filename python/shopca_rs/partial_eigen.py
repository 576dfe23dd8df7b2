"""All eigenvalues of a matrix and its leading eigenvectors, at little more than the cost of eigenvalues."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg  # type: ignore[import-untyped]
from numpy.typing import NDArray

from .blas_threads import side_by_side
from .unlocked_lapack import Tridiagonal, tridiagonal_eigenvalues, tridiagonal_form

Matrix = NDArray[np.float64]

# Least and most steps of inverse iteration: where the shift is an eigenvalue to rounding, the first one
# already converges.
_STEPS, _MOST_STEPS = 3, 30
# Smallest distance of two eigenvalues whose vectors inverse iteration tells apart, and largest residual;
# both relative to the norm of the matrix.
_APART = 1e-7
_RESIDUAL = 1e-12


class SymmetricSpectrum(NamedTuple):
    """Result of `symmetric_spectrum`.

    Attributes
    ----------
    values : ndarray of shape (n,)
        All eigenvalues, descending.
    vectors : ndarray of shape (n, count)
        Leading eigenvectors.
    form : Tridiagonal
        The matrix in a basis where it is tridiagonal, and that basis.
    """

    values: Matrix
    vectors: Matrix
    form: Tridiagonal

    def turned(self, columns: Matrix) -> Matrix:
        """Return columns in the basis of the tridiagonal form."""
        return _turn(self.form, columns, "T")


def symmetric_spectrum(matrix: Matrix, count: int) -> SymmetricSpectrum:
    """Return all eigenvalues of a symmetric matrix and the leading eigenvectors as columns."""
    n = len(matrix)
    form = tridiagonal_form(matrix)
    values = tridiagonal_eigenvalues(form.diagonal, form.beside)
    values = np.asarray(np.linalg.eigvalsh(matrix), np.float64) if values is None else values
    vectors = scipy.linalg.eigh_tridiagonal(
        form.diagonal, form.beside, select="i", select_range=(n - count, n - 1), check_finite=False
    )[1]
    return SymmetricSpectrum(values[::-1], _turn(form, vectors, "N")[:, ::-1], form)


def _turn(form: Tridiagonal, columns: Matrix, transposed: str) -> Matrix:
    """Multiply columns by the basis of a tridiagonal form."""
    # The basis is 1 in its corner; the rest is stored as a QR decomposition stores it.
    turned = columns.copy(order="F")
    work = 64 * columns.shape[1]
    turned[1:] = scipy.linalg.lapack.dormqr(
        "L", transposed, form.reflectors[1:, :-1], form.scales, turned[1:], work
    )[0]
    return turned


class Eigenpairs(NamedTuple):
    """Eigenvalues and unit eigenvectors as columns."""

    values: NDArray[Any]
    vectors: NDArray[Any]


def leading_eigenvectors(
    matrix: Matrix, values: NDArray[Any], m: int, pool: ThreadPoolExecutor | None = None
) -> NDArray[Any] | None:
    """Return unit eigenvectors of the m leading eigenvalues as columns, by inverse iteration.

    `values` are all eigenvalues by real part, descending. Returns None where some are too close together.
    The largest entry of a complex vector is real, as in LAPACK, and the vectors of a pair are conjugate.
    """
    unit = _unit(matrix)
    size = float(np.linalg.norm(matrix / unit))
    for i in range(m):
        if not np.abs((np.delete(values, i) - values[i]) / unit).min(initial=np.inf) > _APART * size:
            return None
    found = eigenpairs_near(matrix, values[:m], pool)
    return None if found is None else found.vectors


def eigenpairs_near(
    matrix: Matrix, places: NDArray[Any], pool: ThreadPoolExecutor | None = None
) -> Eigenpairs | None:
    """Return the eigenvalues near some numbers and unit eigenvectors, by inverse iteration.

    A complex number is followed by its conjugate, and only the last one may lack it. Returns None where the
    iteration does not converge, or does so to one eigenvalue twice. Eigenvalues are found side by side if
    there is a pool.
    """
    # In this unit, squares neither overflow nor underflow.
    unit = _unit(matrix)
    matrix, places = matrix / unit, places / unit
    n, m, size = len(matrix), len(places), float(np.linalg.norm(matrix))
    values, vectors = np.empty(m, dtype=places.dtype), np.empty((n, m), dtype=places.dtype)
    own = [i for i in range(m) if not (i and places[i].imag and places[i] == np.conj(places[i - 1]))]
    shifts = [places[i] if places[i].imag else places[i].real for i in own]
    pairs = side_by_side(lambda shift: _inverse_iteration(matrix, shift, size), shifts, pool)
    for i, found in zip(own, pairs, strict=True):
        if found is None or (i and np.abs(values[:i] - found[0]).min() <= _APART * size):
            return None
        values[i], vectors[:, i] = found
        if i + 1 < m and i + 1 not in own:
            values[i + 1], vectors[:, i + 1] = found[0].conj(), found[1].conj()
    return Eigenpairs(values * unit, vectors)


def _unit(matrix: Matrix) -> float:
    return float(np.ldexp(1.0, int(np.frexp(np.abs(matrix).max())[1])))


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


def _inverse_iteration(matrix: Matrix, place: Any, size: float) -> tuple[Any, NDArray[Any]] | None:
    n = len(matrix)
    # Slightly off, so that the matrix is not singular where this is an eigenvalue to rounding.
    shifted = matrix.astype(np.result_type(matrix, place))
    shifted.flat[:: n + 1] -= place * (1 + 4 * np.finfo(np.float64).eps)
    getrf, getrs = scipy.linalg.get_lapack_funcs(("getrf", "getrs"), (shifted,))
    factors, pivots, failed = getrf(shifted.T, overwrite_a=True)
    if failed:
        return None
    x = np.cos(np.arange(n)).astype(shifted.dtype)
    for step in range(_MOST_STEPS):
        x = getrs(factors, pivots, x, trans=1)[0]
        x /= np.linalg.norm(x)
        if step + 1 < _STEPS:
            continue
        product = matrix @ x
        value = np.vdot(x, product)
        if np.linalg.norm(product - value * x) <= _RESIDUAL * size:
            largest = x[np.abs(x).argmax()]
            return value, x * (abs(largest) / largest)
    return None
