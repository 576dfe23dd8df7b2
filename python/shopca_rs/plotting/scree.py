"""Scree plots: how much each component accounts for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..arguments import as_choice, as_numbers
from ..classes import MARKERS, class_style, short_name
from ..estimators.component_models import final_step
from ..spectrum import spectra
from .drawing import as_axes, draw, thin_grid
from .models import as_transformer, model_title
from .named import as_named, list_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]

_VARIANCE = "explained variance ratio"
_SHARE = "share of the sum of all |eigenvalues|"


def plot_scree(
    estimator: Any,
    *,
    values: Literal["auto", "variance", "eigenvalues"] = "auto",
    ax: Axes | None = None,
    **line_kw: Any,
) -> Axes:
    """Draw what each component accounts for, of one model or of several.

    Parameters
    ----------
    estimator : estimator, Pipeline, or list or dict of them
        Fitted: SHOPCA, LPP, scikit-learn's PCA and others. A dict gives their names.
    values : {"auto", "variance", "eigenvalues"}, default="auto"
        "variance" is the explained variance ratio of the components, which all methods have. "eigenvalues"
        are those that order the components, including the ones that are not kept: of Σ_curv (their real
        parts) for SHOPCA, the ratios μ for LPP, variances for PCA. With several models, each is divided by
        the sum of its absolute eigenvalues. "auto" is the eigenvalues of one SHOPCA or LPP and the variance
        otherwise.
    ax : matplotlib Axes, default=None
        Where to draw; a new one if None.
    **line_kw
        Passed to `Axes.plot`.

    Returns
    -------
    ax : matplotlib Axes
        The plot. A dashed line separates the components that are kept.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.decomposition import PCA
    >>> from shopca_rs import LPP, SHOPCA, plot_scree
    >>> X = load_iris().data
    >>> plot_scree(LPP().fit(X)).get_ylabel()
    'μ, global to local variance'
    >>> plot_scree([SHOPCA().fit(X), PCA(2).fit(X)]).get_ylabel()
    'explained variance ratio'
    """
    models = _as_models(estimator)
    kind = as_choice(values, "values", ("auto", "variance", "eigenvalues"))
    steps = {name: final_step(model) for name, model in models.items()}
    if kind == "auto":
        alone = len(steps) == 1 and hasattr(next(iter(steps.values())), "eigenvalues_")
        kind = "eigenvalues" if alone else "variance"
    if kind == "variance":
        curves, label = {name: _variances(step) for name, step in steps.items()}, _VARIANCE
    else:
        found = {name: _eigenvalues(step) for name, step in steps.items()}
        curves = {name: curve for name, (curve, _) in found.items()}
        label = next(iter(found.values()))[1]
        if len(found) > 1:
            curves, label = (
                {name: curve / (np.abs(curve).sum() or 1.0) for name, curve in curves.items()},
                _SHARE,
            )
    ax = as_axes(ax)
    for number, curve in enumerate(curves.values()):
        # Lines may overlap: their markers are hollow and differ in shape and size.
        marker = MARKERS[number % len(MARKERS)][0]
        style: dict[str, Any] = {"color": class_style(number).color, "linewidth": 1.5, "marker": marker}
        style |= {"markersize": 5 + 2 * (number % len(MARKERS)), "markerfacecolor": "none"}
        draw(ax.plot, line_kw, np.arange(1, len(curve) + 1), curve, **(style | line_kw))
    kept = {len(step.components_) for step in steps.values() if hasattr(step, "components_")}
    if len(kept) == 1 and max(kept) < max(len(curve) for curve in curves.values()):
        (m,) = kept
        ax.axvline(m + 0.5, color="0.4", linestyle="--", linewidth=1)
        ax.annotate(
            f"{m} kept",
            (m + 0.5, 1),
            xycoords=("data", "axes fraction"),
            xytext=(4, -4),
            textcoords="offset points",
            va="top",
            color="0.3",
            fontsize="small",
        )
    lowest = min(float(curve.min()) for curve in curves.values())
    if lowest >= 0:
        ax.set_ylim(bottom=0)
    else:
        ax.axhline(0, color="0.4", linewidth=0.7)
    what = "eigenvalues" if kind == "eigenvalues" else "explained variance"
    title = f"{model_title(next(iter(models.values())))}: {what}" if len(models) == 1 else what.capitalize()
    ax.set(xlabel="component", ylabel=label, title=f"{title} by component")
    _whole_ticks(ax)
    thin_grid(ax)
    if len(models) > 1:
        list_names(ax, ax.lines[: len(models)], [short_name(name) for name in models])
    return ax


def _whole_ticks(ax: Axes) -> None:
    from matplotlib.ticker import MaxNLocator

    ax.xaxis.set_major_locator(MaxNLocator(integer=True))


def _as_models(estimator: Any) -> dict[str, Any]:
    if isinstance(estimator, Mapping):
        models = as_named(estimator, "estimator", "fitted models")
    elif isinstance(estimator, list | tuple):
        models = {}
        for number, model in enumerate(estimator, start=1):
            title = model_title(as_transformer(model))
            models[f"{title} ({number})" if title in models else title] = model
        models = as_named(models, "estimator", "fitted models")
    else:
        models = {"": estimator}
    return {name: as_transformer(model) for name, model in models.items()}


def _variances(step: Any) -> Floats:
    ratios = getattr(step, "explained_variance_ratio_", None)
    if ratios is None:
        raise TypeError(
            "estimator must have explained_variance_ratio_, as SHOPCA, LPP and PCA do, "
            f"got a {type(step).__name__}."
        )
    return as_numbers(ratios, "explained_variance_ratio_", 1, "1-D")


def _eigenvalues(step: Any) -> tuple[Floats, str]:
    """Return the eigenvalues of a model and their label."""
    if hasattr(step, "curved_covariance_"):
        Sigma, S, _ = step._operators()
        alpha = f"{step.alpha_:.3g}".replace("inf", "∞")
        return spectra(Sigma, S, [step.alpha_])[0].real, f"eigenvalues of Σ_curv at α = {alpha}"
    if hasattr(step, "local_scatter_"):
        return step.eigenvalues_, "μ, global to local variance"
    if hasattr(step, "explained_variance_"):
        return as_numbers(step.explained_variance_, "explained_variance_", 1, "1-D"), "variance"
    raise TypeError(
        f"estimator must have eigenvalues, as SHOPCA, LPP and PCA do, got a {type(step).__name__}."
    )
