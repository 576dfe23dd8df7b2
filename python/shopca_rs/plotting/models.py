"""Fitted models in plots: their embeddings and their names."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted  # type: ignore[import-untyped]

from ..arguments import as_numbers, shown
from ..estimators.component_models import final_step


def as_transformer(estimator: Any) -> Any:
    """Return a fitted transformer, or a pipeline of them."""
    needed = ("fit", "transform", "get_params")
    if isinstance(estimator, type) or not all(hasattr(estimator, part) for part in needed):
        raise TypeError(
            "estimator must be a transformer, such as SHOPCA, LPP or PCA, or a Pipeline of them, "
            f"got {shown(estimator)}."
        )
    check_is_fitted(estimator)
    return estimator


def embedded(estimator: Any, X: Any) -> NDArray[np.float64]:
    """Return the embedding of X as a table of finite numbers."""
    Z = estimator.transform(X)
    if hasattr(Z, "toarray"):
        Z = Z.toarray()
    return as_numbers(Z, "What transform returns", 2, "2-D with a column for each component")


def component_titles(estimator: Any, m: int) -> list[str]:
    """Return the names of m components, with their share of the variance where it is known."""
    ratios = getattr(final_step(estimator), "explained_variance_ratio_", None)
    if ratios is None or len(ratios) != m:
        return [f"component {j + 1}" for j in range(m)]
    return [f"component {j + 1} ({ratio:.1%} of variance)" for j, ratio in enumerate(ratios)]


def model_title(estimator: Any) -> str:
    """Return the name of a model, with its α where it has one."""
    step = final_step(estimator)
    title = type(step).__name__
    if hasattr(step, "alpha_") and hasattr(step, "curved_covariance_"):
        title += f", α = {step.alpha_:.3g}".replace("inf", "∞")
    return title
