"""Metrics that are Euclidean after a map of the points, and the way back to their distances.

With z the mapped points: cosine and correlation distances are |z_x − z_y|² / 2, where z has unit length; the
Mahalanobis distance is |z_x − z_y| with z = L x and LᵀL = V⁻¹.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arguments import as_matrix, shown
from ..spectrum import symmetric_part
from .metric import CurvedMetric, inverse_factor, is_positive

Matrix = NDArray[np.float64]

METRICS = ("euclidean", "sqeuclidean", "cosine", "correlation", "mahalanobis")

# Rows shorter than this, relative to their largest entry, have no direction beyond rounding errors.
_NO_LENGTH = 1e-12


@dataclass(frozen=True)
class EuclideanMap:
    """A metric as the Euclidean distance of mapped points.

    Attributes
    ----------
    metric : str
        One of `METRICS`.
    matrix : ndarray of shape (t, d) or None
        L of the Mahalanobis distance.
    """

    metric: str
    matrix: Matrix | None = None

    def points(self, X: Matrix) -> Matrix:
        """Return the points whose Euclidean distances belong to the metric."""
        if self.matrix is not None:
            return np.ascontiguousarray(X @ self.matrix.T)
        if self.metric not in ("cosine", "correlation"):
            return np.ascontiguousarray(X)
        size = np.abs(X).max(axis=1, keepdims=True)
        # In units of the largest entry, no square overflows or underflows.
        rows = X / np.where(size > 0, size, 1.0)
        if self.metric == "correlation":
            rows -= rows.mean(axis=1, keepdims=True)
        lengths = np.linalg.norm(rows, axis=1)
        if not (lengths > _NO_LENGTH).all():
            row = int(np.argmin(lengths > _NO_LENGTH))
            what = "zeros only" if self.metric == "cosine" else "equal numbers only"
            raise ValueError(
                f"The {self.metric} distance of a row with {what} is undefined, got row {row}. "
                'Drop such rows, or use metric="euclidean".'
            )
        unit: Matrix = rows / lengths[:, None]
        return unit

    def distances(self, squared: Matrix) -> Matrix:
        """Return the metric's distances from squared Euclidean ones, in place."""
        if self.metric == "sqeuclidean":
            return squared
        if self.metric in ("cosine", "correlation"):
            squared /= 2
            return squared
        return np.sqrt(squared, out=squared)


def euclidean_map(metric: Any, metric_params: Any, X: Matrix) -> EuclideanMap:
    """Return the map of a metric for the rows X that are searched.

    Parameters
    ----------
    metric : str or CurvedMetric
        One of `METRICS`, or what the method `metric` of a fitted model returns.
    metric_params : dict or None
        For "mahalanobis" {"V": covariance} or {"VI": its inverse}; the covariance of X by default.
    X : ndarray of shape (n, d)
        The rows.

    Returns
    -------
    EuclideanMap
        The map.
    """
    given = {} if metric_params is None else metric_params
    known = {"V", "VI"} if metric == "mahalanobis" else set()
    if not isinstance(given, dict) or not set(given) <= known or len(given) > 1:
        expected = 'None, {"V": covariance} or {"VI": its inverse}' if known else f"None with {shown(metric)}"
        raise ValueError(f"metric_params must be {expected}, got {shown(given)}.")
    if isinstance(metric, CurvedMetric):
        return EuclideanMap("mahalanobis", _fitting(metric.map, "metric", X))
    if metric != "mahalanobis":
        return EuclideanMap(metric)
    if "VI" in given:
        factor = np.linalg.cholesky(_positive(given["VI"], "VI")).astype(np.float64)
        return EuclideanMap(metric, _fitting(factor.T, "VI", X))
    if "V" in given:
        return EuclideanMap(metric, _fitting(inverse_factor(_positive(given["V"], "V")), "V", X))
    covariance = np.atleast_2d(np.cov(X, rowvar=False)) if len(X) > 1 else np.zeros((X.shape[1],) * 2)
    if not is_positive(covariance, covariance):
        raise ValueError(
            "The Mahalanobis distance needs a positive definite covariance, got that of X, which is not. "
            'Drop constant and dependent columns, or pass metric_params={"V": covariance}.'
        )
    return EuclideanMap(metric, inverse_factor(covariance))


def _positive(matrix: Any, name: str) -> Matrix:
    form = symmetric_part(as_matrix(matrix, name))
    if not is_positive(form, form):
        raise ValueError(f"{name} must be positive definite, got a matrix that is not.")
    return form


def _fitting(matrix: Matrix, name: str, X: Matrix) -> Matrix:
    if matrix.shape[1] != X.shape[1]:
        raise ValueError(f"{name} must be for the {X.shape[1]} columns of X, got {matrix.shape[1]}.")
    return matrix
