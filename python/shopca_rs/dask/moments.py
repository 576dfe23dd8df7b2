"""Count, mean and scatter of rows: of one block, and of two together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Moments:
    """What the covariance of some rows is made of.

    Attributes
    ----------
    count : int
        Number of rows.
    mean : ndarray of shape (d,)
        Their mean.
    scatter : ndarray of shape (d, d)
        Σ (x − mean)(x − mean)ᵀ. Unlike Σ x xᵀ it does not lose digits to an offset of the data.
    """

    count: int
    mean: Matrix
    scatter: Matrix


def moments(block: NDArray[Any]) -> Moments:
    """Return the moments of a block of rows.

    Parameters
    ----------
    block : ndarray of shape (n, d)
        The rows.

    Returns
    -------
    Moments
        Of these rows.
    """
    X = np.asarray(block, dtype=np.float64)
    mean = X.mean(axis=0)
    # The mean of equal numbers can miss them by a rounding error, which is no variance.
    constant = X.min(axis=0) == X.max(axis=0)
    mean[constant] = X[0, constant]
    centred = X - mean
    return Moments(len(X), mean, centred.T @ centred)


def merge(one: Moments, other: Moments) -> Moments:
    """Return the moments of the rows of both.

    Parameters
    ----------
    one, other : Moments
        Of disjoint rows.

    Returns
    -------
    Moments
        Of all of them.
    """
    count = one.count + other.count
    step = other.mean - one.mean
    return Moments(
        count,
        one.mean + step * (other.count / count),
        one.scatter + other.scatter + np.outer(step, step) * (one.count * other.count / count),
    )
