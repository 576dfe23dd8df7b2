"""The picture of where a map is better than PCA and where it is worse."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .figure_parts import Target, drawing, mark, placed_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Matrix = NDArray[np.float64]

_NAMED = 4  # data sets with the largest differences
_TICKS = (-0.3, -0.1, 0, 0.1, 0.3, 0.6)


@dataclass(frozen=True)
class Differences:
    """What is drawn.

    Attributes
    ----------
    data_sets : sequence of str
        Names of the data sets.
    rows : sequence of int
        Rows of each, which sort them.
    fresh : sequence of bool
        Whether each is not one of the paper's.
    values : mapping of str to sequence of float
        Title of the method → its difference to PCA on each data set.
    """

    data_sets: Sequence[str]
    rows: Sequence[int]
    fresh: Sequence[bool]
    values: Mapping[str, Sequence[float]]


def draw(content: Differences, path: Target) -> None:
    """Draw the differences to PCA, a panel for each method, data sets sorted by their number of rows.

    Parameters
    ----------
    content : Differences
        What to draw.
    path : str or path-like
        The file to write; its suffix is the format.
    """
    order = np.argsort(content.rows, kind="stable")
    rows, fresh = np.asarray(content.rows)[order], np.asarray(content.fresh, dtype=np.bool_)[order]
    places, names = np.arange(len(order)), [content.data_sets[place] for place in order]
    with drawing(path, 1.25 * len(content.values) + 0.9) as figure:
        grid = figure.subplots(len(content.values), 1, squeeze=False, sharex=True, sharey=True)[:, 0]
        everything = np.array(list(content.values.values()))
        for ax, (method, values) in zip(grid, content.values.items(), strict=True):
            found, colour = np.asarray(values)[order], mark(method)[1]
            ax.axhline(0, color="0.5", linewidth=0.8, zorder=1)
            for of, face in ((fresh, colour), (~fresh, "white")):
                ax.vlines(places[of], 0, found[of], color=colour, linewidth=1.0, alpha=0.6, zorder=2)
                ax.scatter(
                    places[of], found[of], s=16, facecolors=face, edgecolors=colour, linewidths=0.9, zorder=3
                )
            better, worse = int((found > 0).sum()), int((found < 0).sum())
            ax.set_title(method, loc="left", fontweight="bold", pad=3)
            ax.set_title(f"better on {better}, worse on {worse}", loc="right", fontsize=9, pad=3)
            ax.grid(axis="y", alpha=0.25, linewidth=0.6)
            # Square root: most differences are small, and the large ones still fit.
            ax.set_yscale("function", functions=(_signed_root, _signed_square))
            ax.set(ylim=(1.4 * everything.min(), 1.4 * everything.max()), yticks=_TICKS)
        steps = np.unique(np.linspace(0, len(order) - 1, min(len(order), 15)).round().astype(int))
        grid[-1].set_xticks(steps, [f"{rows[step]}" for step in steps])
        grid[-1].set_xlim(-0.8, len(order) - 0.2)
        grid[-1].set_xlabel("data sets by their number of rows; filled: not the paper's, hollow: the paper's")
        figure.supylabel("AVG4 less that of PCA", fontsize=10)
        # Names are placed by their size on the page, which is known once the panels have their places.
        figure.draw_without_rendering()
        for ax, values in zip(grid, content.values.values(), strict=True):
            _name_largest(ax, names, np.asarray(values)[order])


def _name_largest(ax: Axes, names: Sequence[str], found: Matrix) -> None:
    from matplotlib.transforms import Bbox

    centres = ax.transData.transform(np.column_stack([np.arange(len(found)), found]))
    taken = [Bbox.from_extents(x - 4, y - 4, x + 4, y + 4) for x, y in centres]
    for place in np.argsort(-np.abs(found), kind="stable")[:_NAMED]:
        at = (float(place), float(found[place]))
        if box := placed_name(ax, names[place], at, taken, 1 if at[1] > 0 else -1):
            taken.append(box)


def _signed_root(values: Matrix) -> Matrix:
    return np.copysign(np.sqrt(np.abs(values)), values)


def _signed_square(values: Matrix) -> Matrix:
    return np.copysign(values**2, values)
