"""The pictures of the report. Each function writes one file; matplotlib is imported when it is called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .figure_parts import BLUE, CLASSES, MARKS, RED, WIDTH, Target, drawing, mark, placed_name
from .statistics import average_ranks, bootstrap_interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_INDEX_TITLES = {"ARI": "ARI", "FM": "Fowlkes–Mallows", "V": "V-measure"}
BAND = 0.03


@dataclass(frozen=True)
class Point:
    """A score that the paper prints and ours for the same thing.

    Attributes
    ----------
    table : int
        Of the paper.
    method : str
        Title of the method, "PCA", "Isomap", "UMAP" or "SHOPCA".
    index : {"ARI", "FM", "V"}
        What is scored.
    printed, ours : float
        The two numbers.
    same_data : bool
        Whether our rows are those of the paper.
    """

    table: int
    method: str
    index: str
    printed: float
    ours: float
    same_data: bool


def against_print(points: Sequence[Point], path: Target) -> None:
    """Draw our scores against the printed ones: a row for each table, a column for each index.

    Parameters
    ----------
    points : sequence of Point
        What to draw, at least one.
    path : str or path-like
        The file to write; its suffix is the format.
    """
    tables = sorted({point.table for point in points})
    found = dict.fromkeys(point.method for point in points)
    # In the same order whatever comes first.
    marks = {method: mark(method) for method in (*(name for name in MARKS if name in found), *found)}
    with drawing(path, 3.1 * len(tables) + 0.65) as figure:
        grid = figure.subplots(len(tables), len(_INDEX_TITLES), squeeze=False)
        for row, table in zip(grid, tables, strict=True):
            for ax, index in zip(row, _INDEX_TITLES, strict=True):
                drawn = [point for point in points if (point.table, point.index) == (table, index)]
                _print_panel(ax, drawn, marks)
                ax.set_title(f"Table {table}, {_INDEX_TITLES[index]}", loc="left", fontweight="bold")
                if ax.get_subplotspec().is_last_row():
                    ax.set_xlabel("printed")
                if ax.get_subplotspec().is_first_col():
                    ax.set_ylabel("ours")
        _print_legend(figure, marks, any(not point.same_data for point in points))


def lambdas_against_print(points: Sequence[tuple[str, str, float, float]], path: Target) -> None:
    """Draw the ratio of our λ to the printed one, a panel for each way to choose the bases.

    A ratio, because λ spans four decades, on which a deviation of some percent cannot be seen.

    Parameters
    ----------
    points : sequence of (str, str, float, float)
        Data set, title of the bases, printed λ and ours, both positive; at least one.
    path : str or path-like
        The file to write; its suffix is the format.
    """
    titles = list(dict.fromkeys(point[1] for point in points))
    printed, ours = np.array([point[2:] for point in points], dtype=np.float64).T
    far = max(np.exp(np.abs(np.log(ours / printed)).max()) ** 1.25, 1 + 3 * BAND)
    with drawing(path, 2.05 * len(titles) + 0.3) as figure:
        grid = figure.subplots(len(titles), 1, squeeze=False, sharex=True, sharey=True)[:, 0]
        for ax, title in zip(grid, titles, strict=True):
            _ratio_axes(ax, (printed.min() / 1.6, printed.max() * 1.6), (1 / far, far))
            ax.set_title(title, loc="left", fontweight="bold")
        grid[-1].set_xlabel("printed λ")
        figure.supylabel("our λ / printed λ", fontsize=10)
        # Names are placed by their size on the page, which is known once the panels have their places.
        figure.draw_without_rendering()
        for ax, title in zip(grid, titles, strict=True):
            _ratio_points(ax, [(name, x, y / x) for name, bases, x, y in points if bases == title])


def ranking(scores: Mapping[str, Mapping[str, Sequence[float]]], path: Target, *, base: str = "PCA") -> None:
    """Draw how much better than a base method each method is, a panel for each measure.

    Parameters
    ----------
    scores : mapping of str to mapping of str to sequence of float
        Title of the measure → title of the method → scores on the same data sets, higher is better. All
        measures have the same methods.
    path : str or path-like
        The file to write; its suffix is the format.
    base : str, default="PCA"
        Title of the method that the others are compared with.
    """
    methods = list(next(iter(scores.values())))
    columns = min(len(scores), 2)
    rows = -(-len(scores) // columns)
    with drawing(path, rows * (0.34 * len(methods) + 0.85) + 0.3) as figure:
        figure.set_layout_engine("constrained", w_pad=0.12)
        grid = figure.subplots(rows, columns, squeeze=False, sharey=True).ravel()
        for ax, (measure, table) in zip(grid, scores.items(), strict=False):
            _ranking_panel(ax, {method: np.asarray(table[method]) for method in methods}, base)
            ax.set_title(f"{measure}, {len(table[base])} data sets", loc="left", fontweight="bold")
        for ax in grid[len(scores) :]:
            ax.set_visible(False)
        figure.supxlabel(
            f"difference from {base}: each data set (light), their mean with its 95 % bootstrap interval",
            fontsize=9,
        )


def embeddings(
    panels: Mapping[str, Mapping[str, tuple[NDArray[np.float64], ArrayLike]]], path: Target
) -> None:
    """Draw embeddings side by side, a row for each data set and a column for each method.

    Parameters
    ----------
    panels : mapping of str to mapping of str to (ndarray of shape (n, 2), array-like of shape (n,))
        Data set → title of the method → the embedding and the classes. Where a method is missing, its panel
        stays empty.
    path : str or path-like
        The file to write; its suffix is the format.
    """
    methods = list(dict.fromkeys(method for row in panels.values() for method in row))
    height = min((WIDTH - 0.3) / len(methods), 2.4)
    with drawing(path, len(panels) * height + 0.4) as figure:
        figure.set_layout_engine("constrained", w_pad=0.02, h_pad=0.02, wspace=0.02, hspace=0.02)
        grid = figure.subplots(len(panels), len(methods), squeeze=False)
        for axes, (data_set, row) in zip(grid, panels.items(), strict=True):
            for ax, method in zip(axes, methods, strict=True):
                ax.set(xticks=[], yticks=[])
                for spine in ax.spines.values():
                    spine.set(visible=method in row, color="0.75")
                if method in row:
                    _embedding_panel(ax, *row[method], area=height**2)
                if ax.get_subplotspec().is_first_row():
                    ax.set_title(method.replace(", ", ",\n"), fontsize=9)
            # Long names are set smaller: a letter is about 0.65 of the size wide.
            size = min(9.0, 72 * height / (0.65 * len(data_set)))
            axes[0].set_ylabel(data_set, fontsize=size, fontweight="bold", parse_math=False)


def _print_panel(ax: Axes, points: Sequence[Point], marks: Mapping[str, tuple[str, str]]) -> None:
    for method, (marker, colour) in marks.items():
        for same in (False, True):
            drawn = [point for point in points if (point.method, point.same_data) == (method, same)]
            ax.scatter(
                [point.printed for point in drawn],
                [point.ours for point in drawn],
                marker=marker,
                s=26,
                facecolors=colour if same else "none",
                edgecolors="white" if same else colour,
                linewidths=0.4 if same else 1.0,
                alpha=0.85,
                zorder=3,
            )
    low = min([0.0, *(value for point in points for value in (point.printed, point.ours))])
    limits = (low - 0.05, 1.05)
    ax.plot(limits, limits, color="0.6", linewidth=0.8, zorder=1)
    ticks = np.linspace(0, 1, 6)
    ax.set(xlim=limits, ylim=limits, aspect="equal", xticks=ticks, yticks=ticks)
    ax.grid(alpha=0.25, linewidth=0.6)
    ax.text(
        0.04, 0.97, _equal_counts(points), transform=ax.transAxes, ha="left", va="top", fontsize=8.5, zorder=4
    )


def _equal_counts(points: Sequence[Point]) -> str:
    lines = []
    for same, where in ((True, "equal to the 4th decimal"), (False, "on other data")):
        found = [point for point in points if point.same_data == same]
        if found or same:
            equal = sum(round(point.ours, 4) == round(point.printed, 4) for point in found)
            lines.append(f"{equal} of {len(found)} {where}")
    return "\n".join(lines)


def _print_legend(figure: Figure, marks: Mapping[str, tuple[str, str]], other_data: bool) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], linestyle="", marker=marker, color=colour, markersize=6, label=method)
        for method, (marker, colour) in marks.items()
    ]
    if other_data:
        hollow = {"markerfacecolor": "none", "color": "0.3", "markersize": 6}
        label = "hollow: other data than the paper's"
        handles.append(Line2D([], [], linestyle="", marker="o", label=label, **hollow))  # type: ignore[arg-type]
    figure.legend(handles=handles, loc="outside upper center", ncols=len(handles), handletextpad=0.2)


def _ranking_panel(ax: Axes, table: Mapping[str, NDArray[np.float64]], base: str) -> None:
    ranks = average_ranks(table)
    places = np.arange(len(table))[::-1]
    count = len(table[base])
    # The same scatter in every row and every run: a low-discrepancy sequence looks even, random does not.
    jitter = 0.5 * ((np.arange(count) * 0.6180339887) % 1 - 0.5)
    ax.axvline(0, color="0.6", linewidth=0.8, zorder=1)
    for place, (method, values) in zip(places, table.items(), strict=True):
        if method == base:
            ax.plot(0, place, marker="o", markersize=5, color="0.4", markerfacecolor="white", zorder=4)
        else:
            differences = values - table[base]
            low, high = bootstrap_interval(differences)
            colour = mark(method)[1]
            ax.scatter(differences, place + jitter, s=9, color="0.72", linewidths=0, zorder=2)
            ax.plot([low, high], [place, place], color=colour, linewidth=2.4, zorder=3)
            ax.plot(differences.mean(), place, marker="o", markersize=6, color=colour, zorder=4)
        ax.text(
            1.02, place, f"{ranks[method]:.2f}", transform=ax.get_yaxis_transform(), va="center", fontsize=9
        )
    ax.text(1.02, 1.02, "mean rank", transform=ax.transAxes, ha="center", va="bottom", fontsize=8.5)
    ax.set(yticks=places, yticklabels=list(table), ylim=(-0.6, len(table) - 0.4))
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    ax.grid(axis="x", alpha=0.25, linewidth=0.6)


def _embedding_panel(ax: Axes, Z: NDArray[np.float64], y: ArrayLike, area: float) -> None:
    codes = np.unique(np.asarray(y), return_inverse=True)[1]
    colours = _class_colours(int(codes.max()) + 1)
    # In an order that has nothing to do with the classes, so that no class lies on top of another.
    order = np.random.default_rng(0).permutation(len(Z))
    size = area * float(np.clip(900 / len(Z), 0.2, 2.6))
    ax.scatter(
        Z[order, 0], Z[order, 1], c=colours[codes[order]], s=size, linewidths=0, alpha=0.85, rasterized=True
    )
    ax.margins(0.04)


def _class_colours(count: int) -> NDArray[np.float64]:
    import matplotlib
    from matplotlib.colors import to_rgba_array

    if count <= len(CLASSES):
        return to_rgba_array(CLASSES[:count])
    # More than these cannot all be told apart; classes that follow each other at least are far apart.
    places = np.arange(count) * 0.6180339887 % 1
    return np.asarray(matplotlib.colormaps["turbo"](0.04 + 0.92 * places))


def _ratio_axes(ax: Axes, xlim: tuple[float, float], ylim: tuple[float, float]) -> None:
    from matplotlib.ticker import NullLocator

    ax.set(xscale="log", yscale="log", xlim=xlim, ylim=ylim)
    ax.axhspan(1 - BAND, 1 + BAND, color="0.88", linewidth=0, zorder=0)
    ax.axhline(1, color="0.5", linewidth=0.8, zorder=1)
    steps = [1.1, 1.5, 2, 5, 10, 100, 1000] if ylim[1] < 3 else [2, 5, 10, 100, 1000]
    ticks = [1.0, *(tick for step in steps if step < ylim[1] for tick in (1 / step, step))]
    ax.set_yticks(ticks, [f"{round(tick, 3):g}" for tick in ticks])
    ax.yaxis.set_minor_locator(NullLocator())
    ax.grid(alpha=0.25, linewidth=0.6)


def _ratio_points(ax: Axes, points: Sequence[tuple[str, float, float]]) -> None:
    far = [point for point in points if abs(point[2] - 1) > BAND]
    near = [point for point in points if abs(point[2] - 1) <= BAND]
    for drawn, colour in ((near, BLUE), (far, RED)):
        _, x, y = zip(*drawn, strict=True) if drawn else ((), (), ())
        ax.scatter(x, y, s=22, color=colour, alpha=0.85, linewidths=0, zorder=3)
    ax.set_title(f"{len(near)} of {len(points)} within {BAND:.0%}", loc="right", fontsize=9)
    unnamed = _name_points(ax, points, far)
    if unnamed:
        ax.text(0.01, 0.04, f"and {unnamed} more names", transform=ax.transAxes, fontsize=8, color="0.3")


def _name_points(
    ax: Axes, points: Sequence[tuple[str, float, float]], named: Sequence[tuple[str, float, float]]
) -> int:
    """Write names beside their points and over nothing else; return how many found no place."""
    from matplotlib.transforms import Bbox

    centres = ax.transData.transform(np.array([point[1:] for point in points]).reshape(-1, 2))
    taken = [Bbox.from_extents(x - 4, y - 4, x + 4, y + 4) for x, y in centres]
    unnamed = 0
    # The farthest off first: they are what one looks for.
    for name, x, y in sorted(named, key=lambda point: -abs(np.log(point[2]))):
        box = placed_name(ax, name, (x, y), taken, 1 if y > 1 else -1)
        if box is None:
            unnamed += 1
        else:
            taken.append(box)
    return unnamed
