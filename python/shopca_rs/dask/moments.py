"""Count, mean, scatter and range of rows: of one block, and of two together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .ranges import Box, box_of

Matrix = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Moments:
    """The moments from which the covariance of some rows is computed.

    Attributes
    ----------
    count : int
        Number of rows.
    weight : float
        The sum of their weights; their number without weights.
    mean : ndarray of shape (d,)
        Their mean, weighted.
    scatter : ndarray of shape (d, d)
        Σ w (x − mean)(x − mean)ᵀ. Unlike Σ x xᵀ it does not lose digits to an offset of the data. Not finite
        where squares overflow.
    box : Box
        Around the rows.
    """

    count: int
    weight: float
    mean: Matrix
    scatter: Matrix
    box: Box

    def covariance(self) -> Matrix:
        """Return the covariance, divided by n − 1, with weights of mean 1.

        Returns
        -------
        ndarray of shape (d, d)
            Σ.
        """
        return self.scatter * (self.count / self.weight) / (self.count - 1)


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
    box = box_of(X)
    with np.errstate(over="ignore", invalid="ignore"):
        mean = X.mean(axis=0)
        # The mean of equal numbers can miss them by a rounding error, which is no variance.
        constant = box.low == box.high
        mean[constant] = X[0, constant]
        centred = X - mean
        return Moments(len(X), len(X), mean, centred.T @ centred, box)


def weighted_moments(block: NDArray[Any]) -> Moments:
    """Return the moments of a block of rows whose last column is their weights.

    Parameters
    ----------
    block : ndarray of shape (n, d + 1)
        The rows, all of a weight above 0.

    Returns
    -------
    Moments
        Of these rows.
    """
    X, weights = block[:, :-1], block[:, -1]
    box, weight = box_of(X), float(weights.sum())
    with np.errstate(over="ignore", invalid="ignore"):
        mean = weights @ X / weight
        constant = box.low == box.high
        mean[constant] = X[0, constant]
        centred = (X - mean) * np.sqrt(weights)[:, None]
        return Moments(len(X), weight, mean, centred.T @ centred, box)


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
    weight = one.weight + other.weight
    with np.errstate(over="ignore", invalid="ignore"):
        step = other.mean - one.mean
        return Moments(
            one.count + other.count,
            weight,
            one.mean + step * (other.weight / weight),
            one.scatter + other.scatter + np.outer(step, step) * (one.weight * other.weight / weight),
            one.box.around(other.box),
        )
