"""How much components change from sample to sample."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ..arguments import as_choice, as_count, shown
from ..classes import MARKERS, PALETTE, class_style
from .drawing import as_axes, spaced, thin_grid
from .loadings import as_components, write_names
from .models import model_title
from .named import list_names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

# Attributes of a result that the plot needs.
_PARTS = (
    "angles",
    "disjoint_angles",
    "loadings_std",
    "reference",
    "random_angle",
    "n_samples",
    "n_drawn",
    "estimator",
    "verdict",
)
# Number of components drawn by default.
_COMPONENTS = 3
# Half of the width over which the refits are spread.
_WIDTH = 0.3


def plot_stability(
    result: Any,
    *,
    kind: Literal["angles", "loadings"] = "angles",
    components: int | Sequence[int] | None = None,
    n_features: int = 15,
    ax: Axes | None = None,
) -> Axes:
    """Draw how much components or loadings change when they are fitted to other samples of the rows.

    Parameters
    ----------
    result : Stability
        What `stability` returned.
    kind : {"angles", "loadings"}, default="angles"
        "angles" draws the principal angles between each refit and the fit to all rows, their medians, and the
        largest angle between random subspaces. "loadings" draws the largest loadings of the
        fit to all rows, with one standard deviation over the refits on both sides.
    components : int or list of int, default=None
        Components whose loadings are drawn, from 0; the first three if None.
    n_features : int, default=15
        How many features to draw at most, by their largest |loading| in these components.
    ax : matplotlib Axes, default=None
        Where to draw; a new one if None.

    Returns
    -------
    ax : matplotlib Axes
        The plot.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from shopca_rs import SHOPCA, plot_stability, stability
    >>> from sklearn.datasets import load_iris
    >>> result = stability(SHOPCA(2, alpha=1), load_iris(as_frame=True).data, n_resamples=10)
    >>> plot_stability(result).get_title().splitlines()[0]
    'SHOPCA, α = 1: principal angles'
    >>> ax = plot_stability(result, kind="loadings", n_features=3)
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['component 1', 'component 2']
    """
    if isinstance(result, type) or not all(hasattr(result, part) for part in _PARTS):
        raise TypeError(f"result must be what stability returns, got {shown(result)}.")
    as_choice(kind, "kind", ("angles", "loadings"))
    chosen = as_components(components, len(result.reference.values), _COMPONENTS)
    count = as_count(n_features, "n_features", 1)
    ax = as_axes(ax)
    if kind == "angles":
        _draw_angles(ax, result)
    else:
        _draw_loadings(ax, result, chosen, count)
    part = f"{len(result.angles)} refits to {spaced(result.n_drawn)} of {spaced(result.n_samples)} rows"
    what = "principal angles" if kind == "angles" else "loadings ± standard deviation"
    ax.set_title(f"{model_title(result.estimator)}: {what}\n{part}: {result.verdict}")
    thin_grid(ax)
    return ax


def _draw_angles(ax: Axes, result: Any) -> None:
    m = result.angles.shape[1]
    places = np.arange(1, m + 1)
    handles: list[Any] = []
    names: list[str] = []
    for angles, color, (marker, _), name, side in (
        (result.angles, PALETTE[0], MARKERS[0], "refit and fit to all rows", -1),
        (result.disjoint_angles, PALETTE[4], MARKERS[1], "two refits without a common row", 1),
    ):
        if angles is None:
            continue
        # Side by side if there are both.
        middle = places + (0 if result.disjoint_angles is None else side * _WIDTH / 2)
        spread = np.linspace(-_WIDTH, _WIDTH, len(angles)) / 2 * (1 if len(angles) > 1 else 0)
        (drawn,) = ax.plot(
            (middle + spread[:, None]).ravel(),
            angles.ravel(),
            linestyle="",
            marker=marker,
            markersize=4,
            markeredgewidth=0,
            alpha=0.7,
            color=color,
        )
        medians = ax.hlines(
            np.median(angles, axis=0), middle - _WIDTH / 2, middle + _WIDTH / 2, color="black", zorder=3
        )
        handles.append(drawn)
        names.append(name)
    handles.append(medians)
    names.append("median")
    d = result.reference.values.shape[1]
    if m < d:
        handles.append(ax.axhline(result.random_angle, color=PALETTE[1], linestyle="--", linewidth=1.2))
        names.append(f"chance: largest angle of random subspaces, {result.random_angle:.0f}°")
    ax.set(ylim=(-2, 92), xlim=(0.4, m + 0.6), ylabel="degrees", xlabel="principal angle, by size")
    ax.set_yticks(range(0, 91, 15))
    if m <= 20:
        ax.set_xticks(places)
    list_names(ax, handles, names)


def _draw_loadings(ax: Axes, result: Any, chosen: list[int], count: int) -> None:
    values, spread = result.reference.values[chosen], result.loadings_std[chosen]
    order = np.argsort(-np.abs(values).max(axis=0), kind="stable")[:count]
    rows = np.arange(len(order))
    offsets = np.linspace(-_WIDTH, _WIDTH, len(chosen)) if len(chosen) > 1 else np.zeros(1)
    handles = []
    for number, offset in enumerate(offsets):
        look = class_style(number)
        handles.append(
            ax.errorbar(
                values[number, order],
                rows + offset,
                xerr=spread[number, order],
                fmt=look.marker,
                color=look.color,
                markersize=5,
                elinewidth=2.5,
                alpha=0.85,
            )
        )
    ax.axvline(0, color="0.4", linewidth=0.7)
    ax.set(xlabel="loading", ylim=(len(order) - 0.5, -0.5))
    write_names(ax, [result.reference.features[j] for j in order])
    list_names(ax, handles, [f"component {j + 1}" for j in chosen])
