"""Fitted models with `components_`: an estimator, or a pipeline that ends with one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline  # type: ignore[import-untyped]
from sklearn.utils.validation import check_is_fitted  # type: ignore[import-untyped]

from ..arguments import as_numbers, shown

_EXPECTED = "a transformer with components_, such as SHOPCA, LPP or PCA, or a Pipeline that ends with one"


def as_model(model: Any, name: str) -> Any:
    """Return an estimator or a pipeline, fitted or not."""
    if isinstance(model, type) or not (hasattr(model, "fit") and hasattr(model, "get_params")):
        raise TypeError(f"{name} must be {_EXPECTED}, got {shown(model)}.")
    return model


def final_step(model: Any) -> Any:
    """Return the last step of a pipeline, or the estimator itself."""
    while isinstance(model, Pipeline):
        model = model.steps[-1][1]
    return model


def earlier_steps(model: Any) -> list[Any]:
    """Return the steps of a pipeline before the last, in order; none for an estimator."""
    found: list[Any] = []
    while isinstance(model, Pipeline):
        found += [step for _, step in model.steps[:-1]]
        model = model.steps[-1][1]
    return found


def final_input(model: Any, X: Any) -> Any:
    """Return what the last step of a fitted pipeline is given for X."""
    while isinstance(model, Pipeline):
        if len(model.steps) > 1:
            X = model[:-1].transform(X)
        model = model.steps[-1][1]
    return X


def component_matrix(model: Any, name: str) -> NDArray[np.float64]:
    """Return the components of a fitted model as rows: finite numbers, at most as many rows as columns."""
    step = final_step(as_model(model, name))
    if isinstance(step, str) or step is None:
        raise TypeError(f"{name} must be {_EXPECTED}, got a Pipeline that ends with {shown(step)}.")
    check_is_fitted(step)
    components = getattr(step, "components_", None)
    if components is None:
        raise TypeError(f"{name} must be {_EXPECTED}, got a {type(step).__name__}, which has none.")
    if hasattr(components, "toarray"):
        components = components.toarray()
    matrix = as_numbers(components, f"components_ of {name}", 2, "2-D with components as rows")
    m, d = matrix.shape
    if m > d:
        raise ValueError(
            f"{name} must have at most as many components as features, got {m} components of {d} features. "
            "Lower n_components."
        )
    return matrix


def feature_names(model: Any) -> list[str]:
    """Return the names of the features that the last step was given; x0, x1, … where there are none."""
    step = final_step(model)
    names = getattr(step, "feature_names_in_", None)
    if names is None and isinstance(model, Pipeline) and len(model.steps) > 1:
        try:
            names = model[:-1].get_feature_names_out()
        except (AttributeError, ValueError, TypeError):  # not every transformer knows its names
            names = None
    d = step.components_.shape[1]
    if names is None or len(names) != d:
        return [f"x{j}" for j in range(d)]
    return [str(name) for name in names]


def component_names(model: Any) -> list[str]:
    """Return the names of the components, as scikit-learn gives them to the columns of an embedding."""
    step = final_step(model)
    return [f"{type(step).__name__.lower()}{j}" for j in range(step.components_.shape[0])]
