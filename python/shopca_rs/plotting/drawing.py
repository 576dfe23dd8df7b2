"""matplotlib, imported when it is needed, and checks of the arguments for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import shown

# More points than this hide each other: they are drawn as a density, or small and transparent.
MANY_POINTS = 20_000

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@contextmanager
def needing_matplotlib() -> Iterator[None]:
    """Raise an error that says how to install matplotlib if its import fails."""
    try:
        yield
    except ImportError as error:
        raise ImportError(
            'Plots need matplotlib, which cannot be imported. Install it with pip install "shopca-rs[plot]".'
        ) from error


def as_pyplot() -> Any:
    """Return matplotlib.pyplot, or raise an error that says how to install it."""
    with needing_matplotlib():
        import matplotlib.pyplot as plt
    return plt


def as_axes(ax: Any) -> Axes:
    """Return the Axes to draw on, a new one for None."""
    plt = as_pyplot()
    if ax is None:
        # This layout leaves room for a legend beside the axes.
        return plt.subplots(layout="constrained")[1]  # type: ignore[no-any-return]
    from matplotlib.axes import Axes

    if not isinstance(ax, Axes):
        raise TypeError(f"ax must be a matplotlib Axes or None, got {shown(ax)}.")
    return ax


def as_solid_axes(ax: Any) -> Any:
    """Return the 3-D Axes to draw on, new ones for None."""
    if ax is None:
        return as_pyplot().figure(layout="constrained").add_subplot(projection="3d")
    if not hasattr(as_axes(ax), "get_zlim"):
        raise ValueError(
            'ax must be 3-D for points in three dimensions: plt.figure().add_subplot(projection="3d").'
        )
    return ax


def as_flat_axes(ax: Any) -> Axes:
    """Return the 2-D Axes to draw on, new ones for None."""
    if hasattr(ax, "get_zlim"):
        raise ValueError("ax must not be 3-D for points in two dimensions. Use plt.subplots().")
    return as_axes(ax)


def as_colormap(cmap: Any) -> Any:
    """Return a Colormap, or None for the default one."""
    with needing_matplotlib():
        import matplotlib
        from matplotlib.colors import Colormap
    if cmap is None or isinstance(cmap, Colormap):
        return cmap
    if not isinstance(cmap, str):
        raise TypeError(f"cmap must be the name of a colormap, a Colormap or None, got {shown(cmap)}.")
    if cmap not in matplotlib.colormaps:
        raise ValueError(f"cmap must be one of matplotlib.colormaps, got {shown(cmap)}.")
    return matplotlib.colormaps[cmap]


def draw(method: Callable[..., Any], given: dict[str, Any], *data: Any, **style: Any) -> Any:
    """Call a method of Axes, and blame its errors on the options `given` by the caller."""
    try:
        return method(*data, **style)
    except Exception as error:
        if not given:
            raise
        reason = " ".join(str(error).split()).rstrip(".")
        raise ValueError(
            f"The options {', '.join(given)} must be accepted by Axes.{method.__name__}: {reason}."
        ) from error


def figure_of(ax: Axes) -> Any:
    """Return the figure of an Axes."""
    return ax.get_figure()


def literal(text: Any, content: str) -> None:
    """Set a Text to data, in which dollar signs do not mean mathematics."""
    text.set_parse_math(False)
    text.set_text(content)


def thin_grid(ax: Axes) -> None:
    """Draw the grid of all plots of curves."""
    ax.grid(alpha=0.25, linewidth=0.6)
    ax.set_axisbelow(True)


def spaced(count: int) -> str:
    """Return a count with a space between thousands."""
    return f"{count:,}".replace(",", "\N{NO-BREAK SPACE}") if count >= 10_000 else str(count)


def marker_size(n: int, solid: bool = False) -> float:
    """Return the area of a marker: smaller where there are many; in 3-D those in front hide the others."""
    return float(np.clip((40_000 if solid else 6000) / max(n, 1), 6 if n <= MANY_POINTS else 1.5, 30))
