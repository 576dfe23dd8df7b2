"""Points of an embedding, coloured by classes, by numbers or by density."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..arguments import MOST_CLASSES
from ..classes import MARKERS, MISSING, MISSING_COLOR, PALETTE, Classes, class_style, short_name
from .coloring import SEQUENTIAL, draw_scale
from .drawing import MANY_POINTS, draw, figure_of, literal, marker_size

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Cells along an axis of a density plot.
_CELLS = 120
# Smallest area at which the shapes of markers can be distinguished.
_SMALLEST_SHAPE = 14.0


def draw_points(
    ax: Axes,
    x: NDArray[Any],
    z: NDArray[Any],
    colors: Classes | NDArray[np.float64] | None,
    label: str | None,
    colormap: Any,
    legend: bool,
    scatter_kw: dict[str, Any],
) -> None:
    """Draw points with a legend or a colour bar titled `label`."""
    many = len(x) > MANY_POINTS
    style: dict[str, Any] = {"s": marker_size(len(x)), "linewidths": 0, "alpha": 0.4 if many else 0.85}
    style |= {"rasterized": many} | scatter_kw
    if colors is None:
        if many and not scatter_kw:
            _draw_density(ax, x, z, colormap, legend)
            return
        style.setdefault("color", PALETTE[0])
        draw(ax.scatter, scatter_kw, x, z, **style)
        return
    grey = {key: value for key, value in style.items() if key not in ("cmap", "norm", "vmin", "vmax")}
    grey = {"color": MISSING_COLOR} | grey
    if not isinstance(colors, Classes):
        missing = np.isnan(colors)
        if missing.any():
            draw(ax.scatter, scatter_kw, x[missing], z[missing], **grey)
        # Opaque, so that the colours are those of the bar.
        style["alpha"] = scatter_kw.get("alpha", 1.0)
        told = (x[~missing], z[~missing])
        draw_scale(ax, told, colors[~missing], label or "y", colormap, style, scatter_kw, bar=legend)
        if legend and missing.any():
            _legend(ax, [(f"{MISSING} ({int(missing.sum())})", MISSING_COLOR, MARKERS[0][0])])
        return
    missing = colors.codes < 0
    if missing.any():
        draw(ax.scatter, scatter_kw, x[missing], z[missing], **grey)
    rgba = _rgba(len(colors.names), colormap)
    # One call for each marker, with the points in their order, so that no class hides another.
    rounds = colors.codes // len(PALETTE) % len(MARKERS)
    if len(colors.names) > MOST_CLASSES:
        rounds = np.zeros_like(rounds)
    elif len(colors.names) > len(PALETTE):
        # Large enough to distinguish the shapes.
        style["s"] = scatter_kw.get("s", max(style["s"], _SMALLEST_SHAPE))
    for number, (marker, _) in enumerate(MARKERS):
        chosen = (rounds == number) & ~missing
        if chosen.any():
            own = {"c": rgba[colors.codes[chosen]], "marker": marker}
            if "color" in style:
                del own["c"]
            draw(ax.scatter, scatter_kw, x[chosen], z[chosen], **(own | style))
    if legend:
        count = len(colors.names)
        entries: list[tuple[str, Any, str]] = []
        if count <= MOST_CLASSES:
            markers = [class_style(j).marker for j in range(count)]
            entries = list(zip(map(short_name, colors.names), rgba, markers, strict=True))
        else:
            label = "\n".join(filter(None, [label, f"{count} classes:", "not listed"]))
        if missing.any():
            entries.append((MISSING, MISSING_COLOR, MARKERS[0][0]))
        _legend(ax, entries, label)


def _draw_density(ax: Axes, x: NDArray[Any], z: NDArray[Any], colormap: Any, legend: bool) -> None:
    cells = ax.hexbin(
        x, z, gridsize=_CELLS, bins="log", mincnt=1, cmap=colormap or SEQUENTIAL, linewidths=0.2
    )
    if legend:
        figure_of(ax).colorbar(cells, ax=ax, label="points in a cell")


def _rgba(count: int, colormap: Any) -> NDArray[np.float64]:
    """Return a colour for each class: the palette's if it has enough, else along a colormap."""
    import matplotlib
    from matplotlib.colors import to_rgba_array

    if colormap is None and count <= MOST_CLASSES:
        colors: NDArray[np.float64] = to_rgba_array([class_style(j).color for j in range(count)])
        return colors
    chosen = colormap or matplotlib.colormaps[SEQUENTIAL]
    along: NDArray[np.float64] = chosen(np.linspace(0, 1, count))
    return along


def _legend(ax: Axes, entries: list[tuple[str, Any, str]], title: str | None = None) -> None:
    """List names with their colours and markers beside the axes."""
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], marker=marker, linestyle="", markersize=5, markeredgewidth=0, color=color)
        for _, color, marker in entries
    ]
    legend = ax.legend(
        handles,
        # A label that starts with an underscore would be hidden: the texts come afterwards.
        [f"class {j}" for j in range(len(handles))],
        title=" " if title else None,
        title_fontsize="small",
        alignment="left",
        fontsize="small",
        frameon=False,
        loc="upper left",
        bbox_to_anchor=(1.0, 1.0),
        borderaxespad=0.2,
        handletextpad=0.2,
    )
    if title:
        literal(legend.get_title(), title)
    for text, (name, _, _) in zip(legend.get_texts(), entries, strict=True):
        literal(text, name)
