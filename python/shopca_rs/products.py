"""Products of large matrices by SciPy's BLAS.

NumPy and SciPy bring a BLAS each. The threads of the one that worked last spin for a while, beside those of
the other: what stands between two calls of LAPACK takes up to twice as long if NumPy multiplies.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg.blas  # type: ignore[import-untyped]
from numpy.typing import NDArray

Matrix = NDArray[np.float64]


def product(left: Matrix, right: Matrix) -> Matrix:
    """Multiply two matrices; the result is C-contiguous."""
    # Its transpose, in the order of BLAS.
    (a, a_turned), (b, b_turned) = map(_in_order, (right, left))
    result: Matrix = scipy.linalg.blas.dgemm(1.0, a, b, trans_a=not a_turned, trans_b=not b_turned).T
    return result


def squared(matrix: Matrix) -> Matrix:
    """Return MᵀM, symmetric to the last bit."""
    lower = lower_squared(matrix)
    result: Matrix = lower + lower.T
    result.flat[:: len(result) + 1] = lower.diagonal()
    return result


def lower_squared(matrix: Matrix) -> Matrix:
    """Return the lower triangle of MᵀM, and zeros above it."""
    ordered, turned = _in_order(matrix)
    result: Matrix = scipy.linalg.blas.dsyrk(1.0, ordered, trans=not turned, lower=True)
    return result


def _in_order(matrix: Matrix) -> tuple[Matrix, bool]:
    """Return a matrix in the order of BLAS, and whether that is its transpose."""
    if matrix.flags.f_contiguous:
        return matrix, False
    return np.ascontiguousarray(matrix).T, True
