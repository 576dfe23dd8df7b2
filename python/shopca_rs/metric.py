"""The distance of a curved covariance: d(x, y)² = (x − y)ᵀ Σ_curv⁻¹ (x − y), where Σ_curv allows one."""

from __future__ import annotations

import numpy as np
import scipy.linalg  # type: ignore[import-untyped]
import scipy.spatial.distance  # type: ignore[import-untyped]
from numpy.typing import ArrayLike, NDArray

from .spectrum import covariance_scale, symmetric_part

Matrix = NDArray[np.float64]


class CurvedMetric:
    """Distance between two points as a callable for scikit-learn's neighbour estimators.

    It is the Euclidean distance after a linear map, so it is a true metric. It can be pickled.

    Parameters
    ----------
    map : ndarray of shape (t, d)
        L with LᵀL = Σ_curv⁻¹.

    Attributes
    ----------
    map : ndarray of shape (t, d)
        As given. ``X @ metric.map.T`` are points whose Euclidean distances these are: a faster way into
        estimators that work with many distances.

    Examples
    --------
    >>> metric = CurvedMetric(np.diag([1.0, 0.5]))
    >>> metric([0.0, 0.0], [3.0, 8.0])
    5.0
    >>> metric.pairwise([[0.0, 0.0]], [[3.0, 8.0], [0.0, 2.0]]).tolist()
    [[5.0, 1.0]]
    """

    def __init__(self, map: Matrix) -> None:  # noqa: A002
        self.map = map

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
        difference = np.asarray(x, dtype=np.float64) - np.asarray(y, dtype=np.float64)
        return float(np.linalg.norm(self.map @ difference))

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
        A = np.asarray(X, dtype=np.float64)
        B = A if Y is None else np.asarray(Y, dtype=np.float64)
        # Distances far from the origin would cancel; the metric does not see the shift.
        centre = A.mean(axis=0)
        points = (A - centre) @ self.map.T
        others = points if Y is None else (B - centre) @ self.map.T
        distances: Matrix = scipy.spatial.distance.cdist(points, others)
        return distances


def whitening(covariance: Matrix, shape_operator: Matrix, curved: Matrix, alpha: float) -> Matrix:
    """Return L with LᵀL = Σ_curv⁻¹, or raise with the reason why there is none.

    Parameters
    ----------
    covariance, shape_operator : ndarray of shape (t, t)
        Σ and S̄, for the advice.
    curved : ndarray of shape (t, t)
        Σ_curv. Its symmetric part is taken: the quadratic form sees no other.
    alpha : float
        The mixing coefficient it was made with, for the error text.

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
    form = symmetric_part(curved)
    if not _is_positive(form, covariance):
        smallest = float(np.linalg.eigvalsh(form)[0])
        raise ValueError(
            "A distance needs a positive definite curved covariance, got one whose symmetric part has the "
            f"smallest eigenvalue {smallest:.4g} at alpha = {alpha:.4g}. "
            + _advice(covariance, shape_operator)
        )
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
        The bound: ∞ where no α makes Σ_curv lose it.

    Examples
    --------
    >>> largest_alpha(np.diag([4.0, 1.0]), np.diag([-1.0, -1.0]))
    0.4
    """
    S = symmetric_part(shape_operator)
    lowest = float(scipy.linalg.eigh(S, symmetric_part(covariance), eigvals_only=True)[0])
    scale = covariance_scale(covariance, shape_operator)
    return -1.0 / (scale * lowest) if scale > 0 and lowest < 0 else float("inf")


def _is_positive(form: Matrix, covariance: Matrix) -> bool:
    # In units of the data's deviations, so that columns in small units are not taken for singular ones.
    deviation = np.sqrt(np.diag(covariance))
    if not (deviation > 0).all():
        return False
    values = np.linalg.eigvalsh(form / deviation / deviation[:, None])
    return bool(values[0] > 1e-12 * max(abs(values[-1]), 1.0))


def _advice(covariance: Matrix, shape_operator: Matrix) -> str:
    if not _is_positive(covariance, covariance):
        deviation = np.sqrt(np.diag(covariance))
        unit = np.where(deviation > 0, deviation, 1.0)
        rank = int((np.linalg.eigvalsh(covariance / unit / unit[:, None]) > 1e-12).sum())
        return (
            f"The data vary along {rank} of {len(covariance)} directions only, so no alpha helps. "
            f"Drop constant and dependent columns, or refit with max_features={max(rank, 1)}."
        )
    bound = largest_alpha(covariance, shape_operator)
    return (
        "Curvature outweighs variance along that direction. "
        f"Refit with alpha={0.99 * bound:.3g} or less: from {bound:.4g} on it is not positive definite."
    )
