"""An embedding with the most important features as arrows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arguments import as_count, as_points
from ..classes import short_name
from ..estimators.component_models import component_matrix, final_input
from .embedding import as_two, plot_embedding
from .loadings import as_feature_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]

# The longest arrow reaches this fraction of the way to the edge of the axes.
_REACH = 0.8
# Arrows shorter than this fraction of the longest are left out: their labels would overlap.
_SHORTEST = 0.1
# Labels on one side are at least this fraction of the height apart.
_APART = 0.06


def plot_biplot(
    estimator: Any,
    X: Any,
    y: ArrayLike | None = None,
    *,
    ax: Axes | None = None,
    components: tuple[int, int] = (0, 1),
    n_features: int = 8,
    names: ArrayLike | None = None,
    cmap: Any = None,
    label: str | None = None,
    legend: bool = True,
    **scatter_kw: Any,
) -> Axes:
    """Draw the embedding of X with the most important features as arrows.

    An arrow shows how a point moves if one feature grows by its standard deviation in X. All arrows are
    scaled by the factor in the title.

    Parameters
    ----------
    estimator : estimator or Pipeline
        Fitted, with at least two `components_`: SHOPCA, LPP, scikit-learn's PCA and others, or a pipeline
        that ends with one.
    X : array-like of shape (n_samples, n_features)
        Points to embed.
    y : array-like of shape (n_samples,), default=None
        As in `plot_embedding`.
    ax : matplotlib Axes, default=None
        Where to draw; a new one if None.
    components : tuple of two int, default=(0, 1)
        Which components to draw.
    n_features : int, default=8
        How many features to draw at most: those with the longest arrows. Arrows shorter than a tenth of the
        longest are left out.
    names : array-like of str, default=None
        Names of the features; those the estimator was fitted with, or x0, x1, … if None.
    cmap, label, legend, **scatter_kw
        As in `plot_embedding`.

    Returns
    -------
    ax : matplotlib Axes
        The plot.

    See Also
    --------
    plot_loadings : The numbers.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from shopca_rs import SHOPCA, plot_biplot
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> plot_biplot(SHOPCA(alpha=1).fit(X), X, y, n_features=2).texts[-1].get_text()
    'petal width (cm)'
    """
    matrix = component_matrix(estimator, "estimator")
    if len(matrix) < 2:
        raise ValueError("estimator must have at least two components for a biplot, got one.")
    pair = as_two(components, len(matrix))
    count = as_count(n_features, "n_features", 1)
    features = as_feature_names(names, estimator)
    given = as_points(final_input(estimator, X))
    if given.shape[1] != matrix.shape[1]:
        raise ValueError(f"X must have {matrix.shape[1]} features, got {given.shape[1]}.")
    ax = plot_embedding(
        estimator, X, y, ax=ax, components=components, cmap=cmap, label=label, legend=legend, **scatter_kw
    )
    arrows = (matrix[list(pair)] * _spreads(given)).T
    lengths = np.hypot(*arrows.T)
    order = np.argsort(-lengths, kind="stable")[:count]
    order = order[lengths[order] > _SHORTEST * lengths.max()]
    # Arrows start at the mean, which may lie outside the points of another X.
    _widen(ax, np.zeros((1, 2)))
    factor = _factor(ax, arrows[order])
    _draw_arrows(ax, factor * arrows[order], [features[j] for j in order])
    part = "features" if len(order) == len(features) else f"{len(order)} of {len(features)} features"
    ax.set_title(f"{ax.get_title()}\narrows: {part}, one standard deviation × {factor:.2g}")
    return ax


def _spreads(points: Floats) -> Floats:
    """Return the standard deviation of each column."""
    with np.errstate(over="ignore", invalid="ignore"):
        spreads: Floats = points.std(axis=0)
    return np.nan_to_num(spreads, nan=0.0, posinf=0.0)


def _widen(ax: Axes, points: Floats) -> None:
    """Widen the limits as far as some points."""
    limits = np.array([ax.get_xlim(), ax.get_ylim()])
    low, high = np.minimum(limits[:, 0], points.min(axis=0)), np.maximum(limits[:, 1], points.max(axis=0))
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))


def _factor(ax: Axes, arrows: Floats) -> float:
    """Return the factor by which the arrows are scaled."""
    if len(arrows) == 0:
        return 1.0
    (left, right), (low, high) = ax.get_xlim(), ax.get_ylim()
    ends = np.array([[left, low], [right, high]])
    rooms = np.where(arrows < 0, -ends[0], ends[1])
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.where(arrows == 0, np.inf, rooms / np.abs(arrows))
    fitting = float(shares[np.isfinite(shares) & (shares > 0)].min(initial=np.inf))
    return _REACH * fitting if np.isfinite(fitting) else 1.0


def _draw_arrows(ax: Axes, tips: Floats, names: list[str]) -> None:
    for tip in tips:
        ax.annotate(
            "",
            tip,
            (0.0, 0.0),
            arrowprops={"arrowstyle": "->", "color": "black", "linewidth": 1.3, "shrinkA": 0, "shrinkB": 0},
            annotation_clip=False,
            zorder=4,
        )
    _widen(ax, np.vstack([tips, np.zeros(2)]))
    low, high = ax.get_ylim()
    heights = tips[:, 1].copy()
    for side in (tips[:, 0] < 0, tips[:, 0] >= 0):
        heights[side] = _apart(heights[side], _APART * (high - low))
    for name, (x, _), height in zip(names, tips, heights, strict=True):
        ax.text(
            x,
            height,
            short_name(name),
            ha="right" if x < 0 else "left",
            va="center",
            fontsize="small",
            parse_math=False,
            zorder=5,
            bbox={"facecolor": "white", "alpha": 0.75, "linewidth": 0, "pad": 1.0},
        )


def _apart(heights: Floats, gap: float) -> Floats:
    """Move heights as far apart as labels need, about their middle."""
    order = np.argsort(heights, kind="stable")
    steps = gap * np.arange(len(order))
    # Isotonic regression of what is left after the gaps: the nearest heights that keep them.
    from sklearn.isotonic import isotonic_regression  # type: ignore[import-untyped]

    moved = np.empty_like(heights)
    if len(order):
        moved[order] = isotonic_regression(heights[order] - steps) + steps
    return moved
