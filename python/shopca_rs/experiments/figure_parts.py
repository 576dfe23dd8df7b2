"""What all pictures of the report share: size, colours, marks, and names that overlap nothing."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

from ..atomic_files import as_target, replacing
from ..plotting.drawing import needing_matplotlib

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.transforms import Bbox

Target = str | os.PathLike[str]

WIDTH, _DPI = 9.0, 130
_STYLE: Any = {
    "font.size": 10,
    "axes.titlesize": 10,
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.labelsize": 9,
    "ytick.labelsize": 9,
    "legend.frameon": False,
    "figure.facecolor": "white",
}
# Okabe and Ito's colours, which people with any kind of colour vision can tell apart.
BLUE, ORANGE, GREEN, RED, PURPLE, SKY, YELLOW = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#D55E00",
    "#CC79A7",
    "#56B4E9",
    "#F0E442",
)
MARKS = {
    "PCA": ("s", BLUE),
    "Isomap": ("^", GREEN),
    "UMAP": ("D", PURPLE),
    "SHOPCA": ("o", RED),
    "LPP": ("v", ORANGE),
}
CLASSES = (BLUE, RED, GREEN, PURPLE, ORANGE, SKY, "#000000", YELLOW)


@contextmanager
def drawing(path: Target, height: float) -> Iterator[Figure]:
    """Yield an empty figure and write it when the block ends.

    Parameters
    ----------
    path : str or path-like
        The file to write; its suffix is the format.
    height : float
        Of the figure in inches.

    Yields
    ------
    Figure
        To draw on.
    """
    with needing_matplotlib():
        import matplotlib
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

    as_target(path)  # before the work, not after it
    # A figure of its own, without pyplot, needs no display and leaves nothing behind.
    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=(WIDTH, height), dpi=_DPI, layout="constrained")
        FigureCanvasAgg(figure)
        yield figure
        with replacing(path) as unfinished:
            figure.savefig(unfinished, dpi=_DPI)


def mark(method: str) -> tuple[str, str]:
    """Return marker and colour of a method; all variants of one have the same.

    Parameters
    ----------
    method : str
        Its title.

    Returns
    -------
    marker, colour : str
        As matplotlib takes them.
    """
    return next((mark for name, mark in MARKS.items() if method.startswith(name)), ("v", "#000000"))


def placed_name(
    ax: Axes, name: str, at: tuple[float, float], taken: Sequence[Bbox], away: Literal[1, -1]
) -> Bbox | None:
    """Write a name beside its point and over nothing else.

    Parameters
    ----------
    ax : Axes
        Where; its figure has been laid out.
    name : str
        The name.
    at : tuple of float
        The point.
    taken : sequence of Bbox
        Places that are taken, in pixels.
    away : {1, -1}
        Whether the name goes above or below the point if it does not fit beside it.

    Returns
    -------
    Bbox or None
        Where the name is; None if it found no place.
    """
    from matplotlib.text import Text

    frame, renderer = ax.get_window_extent(), _figure(ax).canvas.get_renderer()
    # Beside the point, else away from the line that the points are compared with, nearer places first.
    beside = [(6.0, 0.0), (-6.0, 0.0)]
    others = [(dx, away * dy) for dy in (10, 20, 32, 46) for dx in (0.0, 8.0, -8.0, 24.0, -24.0)]
    for dx, dy in beside + others:
        text = ax.annotate(
            name,
            at,
            xytext=(dx, dy),
            textcoords="offset points",
            ha="center" if dx == 0 else ("left" if dx > 0 else "right"),
            va="center",
            fontsize=8,
            color="0.15",
            parse_math=False,
            arrowprops={"arrowstyle": "-", "color": "0.65", "linewidth": 0.6, "shrinkA": 0, "shrinkB": 2}
            if dy
            else None,
            zorder=4,
        )
        text.update_positions(renderer)
        box = Text.get_window_extent(text)  # without the line to the point
        inside = frame.x0 <= box.x0 and box.x1 <= frame.x1 and frame.y0 <= box.y0 and box.y1 <= frame.y1
        if inside and not any(box.overlaps(other) for other in taken):
            return box
        text.remove()
    return None


def _figure(ax: Axes) -> Any:
    return ax.get_figure()
