"""Checks for the estimators of this package."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import check_is_fitted  # type: ignore[import-untyped]

from ..arguments import shown
from .curved_pca import CurvedPCA
from .linear_projection import LinearProjection


def as_projection(estimator: Any) -> LinearProjection:
    """Return any estimator of this package, fitted or not."""
    if not isinstance(estimator, LinearProjection):
        raise TypeError(
            f"estimator must be a SHOPCA, a ShapeOperatorEigenmaps or an LPP, got {shown(estimator)}."
        )
    return estimator


def as_fitted_projection(estimator: Any) -> LinearProjection:
    """Return any fitted estimator of this package."""
    check_is_fitted(as_projection(estimator))
    return estimator  # type: ignore[no-any-return]


def as_fitted(estimator: Any) -> CurvedPCA:
    """Return a fitted estimator of this package that has an α."""
    if not isinstance(estimator, CurvedPCA):
        raise TypeError(
            "estimator must be a SHOPCA or a ShapeOperatorEigenmaps, which have an α, "
            f"got {shown(estimator)}."
        )
    check_is_fitted(estimator)
    return estimator
