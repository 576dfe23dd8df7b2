"""What happens to the rows before a method sees them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]

MOST_FEATURES = 25
INFLATED_SHARE, INFLATED_BY = 0.02, 5.0


def standardised(X: Matrix) -> Matrix:
    """Scale every column to mean 0 and variance 1, leaving NaN where a value is missing.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Data.

    Returns
    -------
    ndarray of shape (n, d)
        Scaled data.
    """
    from sklearn.preprocessing import StandardScaler  # type: ignore[import-untyped]

    scaled: Matrix = StandardScaler().fit_transform(X)
    return scaled


def reduced(X: Matrix) -> Matrix:
    """Replace more than 25 features by the scores of the first 25 principal components.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Complete data.

    Returns
    -------
    ndarray of shape (n, min(d, 25))
        Their scores, or X itself.
    """
    from sklearn.decomposition import PCA  # type: ignore[import-untyped]

    if X.shape[1] <= MOST_FEATURES:
        return X
    scores: Matrix = PCA(MOST_FEATURES, svd_solver="full").fit_transform(X)
    return scores


def sampled_rows(n: int, most: int) -> NDArray[np.int64]:
    """Choose which rows take part: all, or a fixed random sample where there are too many.

    Parameters
    ----------
    n : int
        Number of rows.
    most : int
        How many may take part.

    Returns
    -------
    ndarray of int, shape (min(n, most),)
        Row numbers, ascending; the same for the same n.
    """
    if n <= most:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).permutation(n)[:most])


def inflated(X: Matrix, seed: int) -> tuple[Matrix, NDArray[np.bool_]]:
    """Move 2 % of the rows, at least one, five times as far from the origin.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Standardised data, whose mean is the origin.
    seed : int
        Which rows.

    Returns
    -------
    X : ndarray of shape (n, d)
        A copy with outliers.
    untouched : ndarray of bool, shape (n,)
        True for the rows that are as they were.

    Examples
    --------
    >>> X, untouched = inflated(np.ones((100, 1)), seed=0)
    >>> X[~untouched].ravel().tolist()
    [5.0, 5.0]
    """
    n = len(X)
    chosen = np.random.default_rng(seed).permutation(n)[: max(round(INFLATED_SHARE * n), 1)]
    X, untouched = X.copy(), np.ones(n, dtype=np.bool_)
    X[chosen] *= INFLATED_BY
    untouched[chosen] = False
    return X, untouched
