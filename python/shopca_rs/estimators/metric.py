"""The distance of a positive definite matrix M: d(x, y)² = (x − y)ᵀ M⁻¹ (x − y).

M is SHOPCA's Σ_curv, where that is positive definite, or LPP's local scatter.
"""

from __future__ import annotations

import math

import numpy as np
import scipy.linalg  # type: ignore[import-untyped]
import scipy.spatial.distance  # type: ignore[import-untyped]
from numpy.typing import ArrayLike, NDArray

from ..arguments import as_matrices, as_numbers, as_weight
from ..spectrum import covariance_scale, symmetric_part

Matrix = NDArray[np.float64]

# Larger than the difference between the binary exponents of any two doubles.
MOST_DOUBLINGS = 3000


class CurvedMetric:
    """Distance between two points as a callable for scikit-learn's neighbour estimators.

    It is the Euclidean distance after a linear map, so it is a true metric. It can be pickled.

    Parameters
    ----------
    map : ndarray of shape (t, d)
        L with LᵀL = M⁻¹, where M is Σ_curv of SHOPCA or the local scatter of LPP.

    Attributes
    ----------
    map : ndarray of shape (t, d)
        As given. The Euclidean distances between the rows of ``X @ metric.map.T`` are these distances,
        which is faster for estimators that need many of them.

    Examples
    --------
    >>> metric = CurvedMetric(np.diag([1.0, 0.5]))
    >>> metric([0.0, 0.0], [3.0, 8.0])
    5.0
    >>> metric.pairwise([[0.0, 0.0]], [[3.0, 8.0], [0.0, 2.0]]).tolist()
    [[5.0, 1.0]]
    """

    def __init__(self, map: ArrayLike) -> None:  # noqa: A002
        self.map = as_numbers(map, "map", 2, "a matrix with a column for each feature")

    def __call__(self, x: ArrayLike, y: ArrayLike) -> float:
        """Distance between two points.

        Parameters
        ----------
        x, y : array-like of shape (d,)
            The points.

        Returns
        -------
        float
            Their distance.
        """
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                distance = float(np.linalg.norm(self.map @ np.subtract(x, y, dtype=np.float64)))
            expected = np.shape(x) == np.shape(y) == self.map.shape[1:] and math.isfinite(distance)
        except (TypeError, ValueError, OverflowError):
            expected = False
        # Validated only on failure: neighbour searches call this for every pair of points.
        if not expected:
            self._refuse(x, y)
        return distance

    def pairwise(self, X: ArrayLike, Y: ArrayLike | None = None) -> Matrix:
        """Distances between all rows of X and all rows of Y.

        Parameters
        ----------
        X : array-like of shape (a, d)
            Points as rows.
        Y : array-like of shape (b, d), optional
            Other points; X itself by default.

        Returns
        -------
        ndarray of shape (a, b)
            The distances.
        """
        A = self._checked(X, "X")
        B = A if Y is None else self._checked(Y, "Y")
        # Far from the origin, differences would lose digits; the metric is invariant to the shift.
        with np.errstate(over="ignore", invalid="ignore"):
            centre = (A / len(A)).sum(axis=0)  # a sum of large numbers may overflow
            points = (A - centre) @ self.map.T
            others = points if Y is None else (B - centre) @ self.map.T
            distances: Matrix = scipy.spatial.distance.cdist(points, others)
        if not np.isfinite(distances).all():
            raise _too_far("X" if Y is None else "X and Y")
        return distances

    def _refuse(self, x: ArrayLike, y: ArrayLike) -> None:
        what = f"a point of {self.map.shape[1]} numbers"
        for name, point in (("x", x), ("y", y)):
            numbers = as_numbers(point, name, 1, what)
            if len(numbers) != self.map.shape[1]:
                raise ValueError(f"{name} must be {what}, got {len(numbers)}.")
        raise _too_far("x and y")

    def _checked(self, X: ArrayLike, name: str) -> Matrix:
        points = as_numbers(X, name, 2, "2-D with points as rows")
        if points.shape[1] != self.map.shape[1]:
            raise ValueError(f"{name} must have {self.map.shape[1]} columns, got {points.shape[1]}.")
        return points


def _too_far(names: str) -> ValueError:
    return ValueError(f"{names} must have distances that fit in float64, got an infinite one. Rescale first.")


def whitening(covariance: ArrayLike, shape_operator: ArrayLike, curved: ArrayLike, alpha: float) -> Matrix:
    """Return L with LᵀL = Σ_curv⁻¹, or raise an error that says why there is none.

    Parameters
    ----------
    covariance, shape_operator : array-like of shape (t, t)
        Σ and S̄, for the advice in the error message.
    curved : array-like of shape (t, t)
        Σ_curv. Only its symmetric part matters to the quadratic form.
    alpha : float
        The mixing coefficient it was computed with, for the error message.

    Returns
    -------
    ndarray of shape (t, t)
        The inverse of the Cholesky factor.

    Examples
    --------
    >>> Sigma, S = np.diag([4.0, 1.0]), np.diag([-1.0, -1.0])
    >>> whitening(Sigma, S, Sigma, alpha=0.0).tolist()
    [[0.5, 0.0], [0.0, 1.0]]
    """
    Sigma, S = as_matrices(covariance=covariance, shape_operator=shape_operator)
    _, form = as_matrices(covariance=Sigma, curved=symmetric_part(curved))
    alpha = as_weight(alpha, "alpha")
    if not is_positive(form, Sigma):
        smallest = float(np.linalg.eigvalsh(form)[0])
        raise ValueError(
            "A distance needs a positive definite curved covariance, got one whose symmetric part has the "
            f"smallest eigenvalue {smallest:.4g} at alpha = {alpha:.4g}. " + _advice(Sigma, S)
        )
    return inverse_factor(form)


def inverse_factor(form: Matrix) -> Matrix:
    """Return the inverse of the Cholesky factor of a positive definite matrix: L with LᵀL = M⁻¹."""
    factor = np.linalg.cholesky(form)
    inverse: Matrix = scipy.linalg.solve_triangular(factor, np.eye(len(factor)), lower=True)
    return inverse


def largest_alpha(covariance: ArrayLike, shape_operator: ArrayLike) -> float:
    """Return the α below which the symmetric part of Σ_curv(α) is positive definite.

    Parameters
    ----------
    covariance, shape_operator : array-like of shape (t, t)
        Σ, positive definite, and S̄.

    Returns
    -------
    float
        The bound; ∞ if it is positive definite for every α.

    Examples
    --------
    >>> largest_alpha(np.diag([4.0, 1.0]), np.diag([-1.0, -1.0]))
    0.4
    """
    Sigma, S = as_matrices(covariance=covariance, shape_operator=shape_operator)
    if not is_positive(symmetric_part(Sigma), Sigma):
        raise ValueError("covariance must be positive definite, got one that is not. Drop dependent columns.")
    # In units of about the deviations the eigenvalues are the same, and columns of any scale keep digits.
    # Powers of two, so that S̄ in these units, which may not fit a double, is 2^size times one that does.
    powers = np.frexp(np.sqrt(np.diag(Sigma)))[1]
    units = powers + powers[:, None]
    S, Sigma_in_units = symmetric_part(S), np.ldexp(symmetric_part(Sigma), -units)
    size = int(np.max(np.frexp(S)[1] - units, where=S != 0, initial=-MOST_DOUBLINGS))
    try:
        lowest = float(scipy.linalg.eigh(np.ldexp(S, -units - size), Sigma_in_units, eigvals_only=True)[0])
    except np.linalg.LinAlgError as error:
        raise ValueError(f"Σ and S̄ must have eigenvalues that can be computed: {error}") from None
    scale = covariance_scale(Sigma, S)
    if not (scale > 0 and lowest < 0):
        return float("inf")
    with np.errstate(over="ignore"):
        return float(np.ldexp(-1.0 / (scale * lowest), -size))


def is_positive(form: Matrix, covariance: Matrix) -> bool:
    """Tell whether a symmetric matrix of the size of Σ is positive definite beyond rounding."""
    # In units of the data's deviations, so that columns of small scale do not look singular.
    deviation = np.sqrt(np.diag(covariance).clip(0))
    if not (deviation > 0).all():
        return False
    with np.errstate(over="ignore"):
        correlation = form / deviation / deviation[:, None]
    # A positive form of the size of Σ has no entry beyond the product of two deviations.
    if not np.isfinite(correlation).all():
        return False
    values = np.linalg.eigvalsh(correlation)
    return bool(values[0] > 1e-12 * max(abs(values[-1]), 1.0))


def _advice(covariance: Matrix, shape_operator: Matrix) -> str:
    if not is_positive(covariance, covariance):
        deviation = np.sqrt(np.diag(covariance))
        unit = np.where(deviation > 0, deviation, 1.0)
        rank = int((np.linalg.eigvalsh(covariance / unit / unit[:, None]) > 1e-12).sum())
        return (
            f"The data vary along {rank} of {len(covariance)} directions only, so no alpha helps. "
            f"Drop constant and dependent columns, or refit with max_features={max(rank, 1)}."
        )
    bound = largest_alpha(covariance, shape_operator)
    return (
        "λS̄ outweighs the variance along that direction. "
        f"Refit with alpha={0.99 * bound:.3g} or less: from {bound:.4g} on, it is not positive definite."
    )
