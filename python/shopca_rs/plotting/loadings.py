"""The loadings of components: how much each feature contributes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arguments import as_array, as_count, shown
from ..classes import PALETTE, short_name
from ..estimators.component_models import component_matrix, feature_names
from .coloring import DIVERGING
from .drawing import as_axes, as_colormap, figure_of, thin_grid
from .models import model_title

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

# Columns of a heat map at most, and how many rows and columns leave room for their numbers.
_MOST_COMPONENTS = 10
_NUMBERED = (30, 6)


def plot_loadings(
    estimator: Any,
    *,
    components: int | Sequence[int] | None = None,
    n_features: int = 15,
    names: ArrayLike | None = None,
    ax: Axes | None = None,
    cmap: Any = None,
) -> Axes:
    """Draw the loadings of the components: one as bars, several as a heat map.

    Features are sorted by their largest |loading| in the components drawn. Loadings are the rows of
    `components_`; they are comparable only if the features have comparable units.

    Parameters
    ----------
    estimator : estimator or Pipeline
        Fitted, with `components_`: SHOPCA, LPP, scikit-learn's PCA and others, or a pipeline that ends with
        one.
    components : int or list of int, default=None
        Which components to draw, from 0; the first ten if None.
    n_features : int, default=15
        How many features to draw at most.
    names : array-like of str, default=None
        Names of the features; those the estimator was fitted with, or x0, x1, … if None.
    ax : matplotlib Axes, default=None
        Where to draw; a new one if None.
    cmap : str or Colormap, default=None
        Colours of the heat map; "RdBu_r" if None.

    Returns
    -------
    ax : matplotlib Axes
        The plot.

    See Also
    --------
    plot_biplot : The largest loadings as arrows in the embedding.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from shopca_rs import SHOPCA, plot_loadings
    >>> iris = load_iris(as_frame=True).data
    >>> plot_loadings(SHOPCA(alpha=1).fit(iris), components=0).get_title()
    'SHOPCA, α = 1: loadings of component 1'
    """
    matrix = component_matrix(estimator, "estimator")
    chosen = as_components(components, len(matrix), _MOST_COMPONENTS)
    count = as_count(n_features, "n_features", 1)
    features = as_feature_names(names, estimator)
    colormap = as_colormap(cmap)
    ax = as_axes(ax)
    rows = matrix[chosen]
    order = np.argsort(-np.abs(rows).max(axis=0), kind="stable")[:count]
    values = rows[:, order]
    part = "" if len(order) == len(features) else f"\nthe largest {len(order)} of {len(features)}"
    if len(chosen) == 1:
        colors = [PALETTE[0] if value >= 0 else PALETTE[1] for value in values[0]]
        ax.barh(np.arange(len(order)), values[0], color=colors, height=0.75)
        ax.axvline(0, color="0.4", linewidth=0.7)
        ax.set(xlabel="loading", ylim=(len(order) - 0.5, -0.5))
        thin_grid(ax)
        ax.grid(visible=False, axis="y")
        what = f"loadings of component {chosen[0] + 1}"
    else:
        _draw_heat_map(ax, values.T, colormap or DIVERGING)
        ax.set_xticks(range(len(chosen)), [str(j + 1) for j in chosen])
        ax.set_xlabel("component")
        what = "loadings"
    write_names(ax, [features[j] for j in order])
    ax.set_title(f"{model_title(estimator)}: {what}{part}")
    return ax


def write_names(ax: Axes, names: list[str]) -> None:
    """Write names of features along the vertical axis."""
    ax.set_yticks(range(len(names)), [""] * len(names))
    labels = [short_name(name) for name in names]
    ax.set_yticklabels(labels, parse_math=False, fontsize="small" if len(names) <= 30 else "xx-small")


def as_feature_names(names: Any, estimator: Any) -> list[str]:
    """Return the given names of the features, or those that the last step of a model was fitted with."""
    known = feature_names(estimator)
    if names is None:
        return known
    given = as_array(names, "names", "a list of the names of the features")
    if given.shape != (len(known),):
        raise ValueError(
            f"names must have one entry for each of the {len(known)} features, got shape {given.shape}."
        )
    return [str(name) for name in given.tolist()]


def as_components(components: Any, m: int, most: int) -> list[int]:
    """Return the numbers of some of m components; the first `most` for None."""
    if components is None:
        return list(range(min(m, most)))
    try:
        listed = components if isinstance(components, list | tuple | range | np.ndarray) else [components]
        chosen = [as_count(each, "components", 0) for each in listed]
        if chosen and max(chosen) < m and len(chosen) <= m:
            return chosen
    except (TypeError, ValueError):
        pass
    raise ValueError(
        f"components must be a number from 0 to {m - 1}, a list of them or None, got {shown(components)}."
    )


def _draw_heat_map(ax: Axes, values: NDArray[np.float64], colormap: Any) -> None:
    largest = float(np.abs(values).max()) or 1.0
    image = ax.imshow(values, cmap=colormap, vmin=-largest, vmax=largest, aspect="auto")
    figure_of(ax).colorbar(image, ax=ax, label="loading")
    if len(values) > _NUMBERED[0] or values.shape[1] > _NUMBERED[1]:
        return
    for (row, column), value in np.ndenumerate(values):
        r, g, b = image.to_rgba(np.array([value]))[0, :3]
        # Black on light cells and white on dark ones, by their luminance.
        color = "black" if 0.299 * r + 0.587 * g + 0.114 * b > 0.5 else "white"
        text = f"{value:.2f}" if 0.01 <= largest < 100 else f"{value:.1e}"
        ax.text(column, row, text, ha="center", va="center", fontsize="small", color=color)
