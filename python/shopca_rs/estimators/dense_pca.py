"""Principal components and the covariance of a dense table, with or without weights."""

from __future__ import annotations

import numpy as np
import scipy.linalg  # type: ignore[import-untyped]
from numpy.typing import NDArray

from ..blas_threads import one_blas_thread
from ..products import lower_squared, product, squared
from ..spectrum import fix_signs

Matrix = NDArray[np.float64]

# Largest angle, in radians, by which rounding may turn principal components.
_ANGLE = 1e-9


def principal_components(
    centred: Matrix, count: int | None = None, weights: Matrix | None = None
) -> tuple[Matrix, Matrix]:
    """Variances and directions (rows) of the leading principal components, all of them for None.

    The computation is deterministic. It takes the leading eigenvectors of XᵀX or XXᵀ, whichever is smaller,
    and turns them into singular vectors of the data. Where the product loses too many digits, it takes the
    SVD of the data instead.
    """
    n, d = centred.shape
    deviations = centred
    if weights is not None:
        deviations = centred * np.sqrt(weights / weights.mean())[:, None]
    wanted = min(n, d) if count is None else min(count, n, d)
    found = _from_product(deviations, wanted)
    if found is None:
        _, sizes, directions = scipy.linalg.svd(deviations, full_matrices=False)
        found = sizes[:wanted], directions[:wanted]
    sizes, directions = found
    return sizes**2 / (n - 1), fix_signs(directions)


def _from_product(deviations: Matrix, count: int) -> tuple[Matrix, Matrix] | None:
    """Return leading singular values and right singular vectors (rows), None where digits would be lost."""
    n, d = deviations.shape
    unit = float(np.abs(deviations).max())
    if unit == 0:
        return np.zeros(count), np.eye(count, d)
    exponent = int(np.frexp(unit)[1])
    X = np.ldexp(deviations, -exponent)  # whose squares neither overflow nor underflow
    low = min(n, d)
    first = max(low - count - 1, 0)
    with np.errstate(under="ignore"):
        lower = lower_squared(X if d <= n else X.T)
        squares, vectors = scipy.linalg.eigh(lower, subset_by_index=(first, low - 1), check_finite=False)
    squares, vectors = squares[::-1], vectors[:, ::-1][:, :count]
    if d <= n:
        # The method and the accuracy of scikit-learn's "covariance_eigh".
        return np.ldexp(np.sqrt(squares[:count].clip(0)), exponent), vectors.T
    following = squares[count] if count < low else 0.0
    error = low * np.finfo(np.float64).eps * squares[0]
    if error > _ANGLE * (squares[count - 1] - following):
        return None
    # From a basis of the subspace to the singular vectors in it, without the squares.
    # On few columns, the threads of OpenBLAS now and then wait for each other longer than the work takes.
    with one_blas_thread():
        basis = scipy.linalg.qr(product(X.T, vectors), mode="economic", check_finite=False)[0]
        _, sizes, turned = scipy.linalg.svd(product(X, basis), full_matrices=False, check_finite=False)
    return np.ldexp(sizes, exponent), product(turned, basis.T)


def covariance(deviations: Matrix, weights: Matrix | None = None) -> Matrix:
    """Return Σ of points about their mean, divided by n − 1, with weights of mean 1."""
    if weights is not None:
        deviations = deviations * np.sqrt(weights / weights.mean())[:, None]
    return squared(deviations) / (len(deviations) - 1)


def total_variance(deviations: Matrix, weights: Matrix | None = None) -> float:
    """Return the trace of `covariance`."""
    squares = np.einsum("ij,ij->i", deviations, deviations)
    if weights is not None:
        squares *= weights / weights.mean()
    return float(squares.sum()) / (len(deviations) - 1)
