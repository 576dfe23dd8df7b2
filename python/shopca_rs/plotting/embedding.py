"""The embedding of points by a fitted estimator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arguments import as_count, as_flag, as_text, shown
from ..classes import as_colors, short_name
from .drawing import as_axes, as_colormap, spaced
from .models import as_transformer, component_titles, embedded, model_title
from .points import draw_points

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_embedding(
    estimator: Any,
    X: Any,
    y: ArrayLike | None = None,
    *,
    ax: Axes | None = None,
    components: tuple[int, int] = (0, 1),
    cmap: Any = None,
    label: str | None = None,
    legend: bool = True,
    **scatter_kw: Any,
) -> Axes:
    """Draw the embedding of X, coloured by labels or numbers.

    Up to 20 classes have distinct colours and markers and a legend; more classes have colours along a
    colormap and a note. More than 20 000 points are drawn small and transparent, or as a density without `y`.

    Parameters
    ----------
    estimator : estimator or Pipeline
        Fitted: SHOPCA, LPP, scikit-learn's PCA or any other transformer, or a pipeline of them.
    X : array-like of shape (n_samples, n_features)
        Points to embed.
    y : array-like of shape (n_samples,), default=None
        Labels (text, or up to 20 distinct integers) are classes; other numbers are drawn on a scale from
        the 2nd to the 98th percentile, with arrows on the colour bar if some are beyond it. Points with
        missing labels (None, NaN, "") are grey.
    ax : matplotlib Axes, default=None
        Where to draw; a new one if None.
    components : tuple of two int, default=(0, 1)
        Which components to draw. A single component is drawn against the row number.
    cmap : str or Colormap, default=None
        Colours for `y` or the density; the palette of `shopca_rs.classes` for up to 20 classes, otherwise
        "viridis" if None.
    label : str, default=None
        Name of `y` for the legend or the colour bar; its attribute `name` if it is a Series.
    legend : bool, default=True
        Draw the legend or the colour bar.
    **scatter_kw
        Passed to `Axes.scatter`; if any are given, points are never drawn as a density.

    Returns
    -------
    ax : matplotlib Axes
        The plot.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from shopca_rs import SHOPCA, plot_embedding
    >>> X, y = load_iris(return_X_y=True)
    >>> plot_embedding(SHOPCA(alpha=1).fit(X), X, y).get_xlabel()
    'component 1 (90.7% of variance)'
    """
    x, z, titles = embedding_coordinates(estimator, X, components)
    colors = None if y is None else as_colors(y, len(x))
    colormap = as_colormap(cmap)
    as_flag(legend, "legend")
    given = getattr(y, "name", None) if label is None else as_text(label, "label")
    title = short_name(given) if isinstance(given, str) else None
    ax = as_axes(ax)
    ax.set(**titles)
    draw_points(ax, x, z, colors, title, colormap, legend, scatter_kw)
    return ax


def embedding_coordinates(
    estimator: Any, X: Any, components: tuple[int, int]
) -> tuple[NDArray[Any], NDArray[Any], dict[str, str]]:
    """Return the coordinates to draw, the title and the labels of the axes."""
    Z = embedded(as_transformer(estimator), X)
    m = Z.shape[1]
    names = component_titles(estimator, m)
    title = f"{model_title(estimator)}: {spaced(len(Z))} point{'s' if len(Z) != 1 else ''}"
    if m == 1:
        return np.arange(len(Z)), Z[:, 0], {"title": title, "xlabel": "row", "ylabel": names[0]}
    first, second = as_two(components, m)
    return Z[:, first], Z[:, second], {"title": title, "xlabel": names[first], "ylabel": names[second]}


def as_two(components: Any, m: int) -> tuple[int, int]:
    """Return the numbers of two of m components."""
    try:
        first, second = (as_count(each, "components", 0) for each in components)
        if max(first, second) < m:
            return first, second
    except (TypeError, ValueError):
        pass
    raise ValueError(f"components must be two numbers from 0 to {m - 1}, got {shown(components)}.")
