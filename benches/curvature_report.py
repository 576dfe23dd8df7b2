"""What `benches/curvature.py` writes: tables, pictures, and the marked places of the page that they fill."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from charts import Report, slope

# Paul Tol's bright scheme, safe for colour-blind readers; the markers differ as well.
COLOURS = ("#4477aa", "#ee6677", "#228833", "#aa3377", "#ccbb44", "#66ccee")
MARKERS = "osD^vP"
OPENING, END = "<!-- {name}: benches/curvature.py -->", "<!-- end -->"


class Curve(NamedTuple):
    """Errors over something, and what to say about them."""

    label: str
    points: list[tuple[float, float]]
    chosen: tuple[float, float] | None = None  # what the automatic choice gave
    colour: int | None = None  # its number, that of the curve's place by default
    dashed: bool = False


class Panel(NamedTuple):
    """One pair of axes."""

    title: str
    across: str
    curves: list[Curve]
    up: str = "median relative error of II"
    slopes: bool = True  # whether the power law nearest to each curve is given
    linear: bool = False  # whether the values across are numbers to count by


class Page(Report):
    """The tables by name."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks: dict[str, str] = {}

    def block(self, name: str, title: str, header: str, lines: Iterable[str]) -> None:
        """Print a table line by line and keep it by name."""
        start = len(self.markdown)
        self.table(title, header, lines)
        self.blocks[name] = "\n".join(self.markdown[start:]).partition("\n\n")[2]

    def note(self, name: str, line: str) -> None:
        """Print a paragraph below a table."""
        self.text(line)
        self.blocks[name] += f"\n\n{line}"

    def save(self, folder: Path) -> None:
        """Write all tables to curvature.md."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "curvature.md").write_text("\n".join(self.markdown).lstrip() + "\n", encoding="utf-8")

    def fill(self, page: Path, pictures: Path) -> None:
        """Put the tables into their places in a page and the pictures into the folder of its name."""
        text = page.read_text("utf-8")
        for name, block in self.blocks.items():
            opening = OPENING.format(name=name)
            place = re.compile(f"{re.escape(opening)}.*?{re.escape(END)}", re.DOTALL)
            new = f"{opening}\n\n{block}\n\n{END}"
            text, found = place.subn(lambda _, new=new: new, text)
            if found != 1:
                raise ValueError(f"{page} must have one place for the table {name}, got {found}.")
        page.write_text(text, encoding="utf-8")
        folder = page.with_suffix("")
        folder.mkdir(exist_ok=True)
        for picture in pictures.glob("*.png"):
            shutil.copy(picture, folder)


def exponents(panel: Panel) -> dict[str, float]:
    """Return the exponent of the power law nearest to each curve of a panel."""
    return {curve.label: slope(curve.points)[0] for curve in panel.curves}


def draw(title: str, panels: list[Panel], path: Path) -> None:
    """Draw panels side by side on log axes, with slopes in their legends."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.2 * len(panels), 4.7), layout="constrained")
    figure.suptitle(title)
    for place, panel in enumerate(panels):
        axes = figure.add_subplot(1, len(panels), place + 1)
        for number, (curve, marker) in enumerate(zip(panel.curves, MARKERS, strict=False)):
            x, y = np.array(curve.points).T
            colour = COLOURS[number if curve.colour is None else curve.colour]
            style = {"color": colour, "marker": marker, "linestyle": "--" if curve.dashed else "-"}
            label = curve.label
            if panel.slopes:
                label += f": slope {slope(curve.points)[0]:.2f}"
            axes.loglog(x, y, label=label, markersize=5, **style)
            if curve.chosen is not None:
                axes.loglog(*curve.chosen, marker="*", color=colour, markersize=16, markeredgecolor="black")
        if any(curve.chosen for curve in panel.curves):
            axes.loglog([], [], "*", color="white", markersize=13, markeredgecolor="black", label="automatic")
        if panel.linear:
            axes.set_xscale("linear")
            axes.set_xticks([x for x, _ in panel.curves[0].points])
        axes.set(xlabel=panel.across, ylabel=panel.up, title=panel.title)
        axes.legend(frameon=False, fontsize=9)
        axes.grid(alpha=0.3, which="both")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=100)
