"""Points coloured by curvature: reliable ones on a scale, the others in grey."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..geometry.quantities import LABELS, Curvature, color_range, doubtful, is_signed, quantity
from .drawing import draw, figure_of, marker_size

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SEQUENTIAL, DIVERGING = "viridis", "RdBu_r"
GREY = "0.6"


def draw_colored(
    ax: Axes,
    coordinates: tuple[NDArray[Any], ...],
    curvature: Curvature,
    name: str,
    colormap: Any,
    scatter_kw: dict[str, Any],
) -> None:
    """Draw points with their colour bar, and those without a reliable value in grey with labels."""
    values = quantity(curvature, name)
    flagged = ~curvature.valid
    # Standard errors are shown for doubtful points too.
    doubted = doubtful(curvature) & (name != "standard_error")
    colored = curvature.valid & ~doubted & np.isfinite(values)
    solid = hasattr(ax, "get_zlim")
    size = marker_size(len(values), solid)
    style: dict[str, Any] = {"s": size, "linewidths": 0, "alpha": 1.0} | scatter_kw
    grey: dict[str, Any] = {"s": style["s"], "alpha": 0.8}
    if solid:
        style.setdefault("depthshade", False)
        grey |= {"depthshade": False, "alpha": 0.5}
    if doubted.any():
        label = f"standard error exceeds |II| ({_points(doubted)})"
        hollow = {"facecolors": "none", "edgecolors": GREY, "linewidths": 0.7, "label": label}
        draw(ax.scatter, scatter_kw, *_chosen(coordinates, doubted), **(grey | hollow))
    if flagged.any():
        label = f"flagged ({_points(flagged)})"
        cross = {"color": GREY, "marker": "x", "linewidths": 0.8, "label": label}
        draw(ax.scatter, scatter_kw, *_chosen(coordinates, flagged), **(grey | cross))
    shown = values[colored]
    # The largest on top: they are few.
    order = np.argsort(np.abs(shown), kind="stable")
    places = tuple(axis[order] for axis in _chosen(coordinates, colored))
    draw_scale(ax, places, shown[order], LABELS[name], colormap, style, scatter_kw, is_signed(name, shown))


def draw_scale(
    ax: Axes,
    coordinates: tuple[NDArray[Any], ...],
    values: NDArray[np.float64],
    label: str,
    colormap: Any,
    style: dict[str, Any],
    scatter_kw: dict[str, Any],
    signed: bool = False,
    bar: bool = True,
) -> None:
    """Draw points coloured by numbers, with a colour bar that has arrows if there are numbers beyond it."""
    finite = values[np.isfinite(values)]
    style = {"cmap": colormap or (DIVERGING if signed else SEQUENTIAL)} | style
    if "norm" not in style:
        span = color_range(values, signed)
        style = {"vmin": span.low, "vmax": span.high} | style
    # matplotlib leaves out points whose number is infinite.
    held = np.clip(values, finite.min(), finite.max()) if len(finite) else values
    drawn = draw(ax.scatter, scatter_kw, *coordinates, c=held, **style)
    if len(values) and bar:
        low, high = drawn.get_clim()
        below, above = bool((values < low).any()), bool((values > high).any())
        extend = {(0, 0): "neither", (1, 0): "min", (0, 1): "max", (1, 1): "both"}[below, above]
        options = {"shrink": 0.75, "pad": 0.15} if hasattr(ax, "get_zlim") else {}
        colorbar = figure_of(ax).colorbar(drawn, ax=ax, extend=extend, **options)
        colorbar.set_label(label, parse_math=False)


def draw_legend(ax: Axes) -> None:
    """Draw a legend if something has a label."""
    if ax.get_legend_handles_labels()[0]:
        ax.legend(fontsize="small", loc="upper left" if hasattr(ax, "get_zlim") else "best", framealpha=0.8)


def _chosen(coordinates: tuple[NDArray[Any], ...], mask: NDArray[np.bool_]) -> tuple[NDArray[Any], ...]:
    return tuple(axis[mask] for axis in coordinates)


def _points(mask: NDArray[np.bool_]) -> str:
    count = int(mask.sum())
    return f"{count} point{'s' if count != 1 else ''}"
