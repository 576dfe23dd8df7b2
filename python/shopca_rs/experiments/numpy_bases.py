"""The mean shape operator with the eigenvectors that NumPy returns.

Where a neighbourhood has too few points for its features the eigenvectors are whatever the solver makes of
rounding errors, and another build of LAPACK makes something else. The published tables were computed with
NumPy's, so that is what their reproduction needs, and nothing else does.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_BLOCK = 256


def mean_shape_operator(X: NDArray[np.float64], neighbors: NDArray[np.int64]) -> NDArray[np.float64]:
    """Mean of S = −½ (I + P Pᵀ) C, P = W∘W, over all points, with W from `numpy.linalg.eigh`.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Points as rows.
    neighbors : ndarray of int, shape (n, k)
        Neighbours of each.

    Returns
    -------
    ndarray of shape (d, d)
        S̄.
    """
    d = X.shape[1]
    total = np.zeros((d, d))
    for start in range(0, len(X), _BLOCK):
        # One call of `cov` for each point, as the tables had: a stacked product rounds differently.
        C = np.stack([np.cov(X[row], rowvar=False) for row in neighbors[start : start + _BLOCK]])
        P = np.linalg.eigh(C).eigenvectors ** 2
        second_forms = 0.5 * (np.eye(d) + P @ P.transpose(0, 2, 1))
        for shape_operator in -(second_forms @ C):
            total += shape_operator
    return total / len(X)
