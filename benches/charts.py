"""What `benches/compare.py` writes: tables, a CSV, and the picture of cost against n, d and k."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

Times = dict[str, np.ndarray]
Costs = dict[str, dict[str, list[tuple[int, float]]]]
COLOURS = {"search": "#4477aa", "S̄ after": "#cc6677"}


def spread(ratios: np.ndarray, digits: int = 2) -> str:
    """Return the median with the least and the greatest."""
    return f"{np.median(ratios):.{digits}f} [{ratios.min():.{digits}f}, {ratios.max():.{digits}f}]"


def time_text(times: np.ndarray | float) -> str:
    """Return the median time with its unit."""
    value = float(np.median(times))
    return f"{value * 1e3:.1f} ms" if value < 1 else f"{value:.2f} s"


def verdict(met: bool, wanted: str) -> str:
    """Return a goal and whether it is met."""
    return f"{wanted}: {'yes' if met else '**no**'}"


class Report:
    """Everything measured: lines on the screen, tables in Markdown, rows in a CSV."""

    def __init__(self) -> None:
        self.markdown: list[str] = []
        self.rows: list[dict[str, Any]] = []

    def table(self, title: str, header: str, lines: Iterable[str]) -> None:
        """Print a table line by line as it is measured; cells are separated by bars."""
        columns = header.count("|") + 1
        self._line(f"\n### {title}\n\n| {header} |\n|{'---|' * columns}")
        for line in lines:
            self._line(f"| {line} |")

    def text(self, line: str) -> None:
        """Print a paragraph."""
        self._line(f"\n{line}")

    def times(
        self, section: str, shape: tuple[int, ...], times: Times, data: str = "normal", **more: Any
    ) -> None:
        """Keep the times of one race for the CSV."""
        for name, seconds in times.items():
            spread = {"median": np.median(seconds), "min": seconds.min(), "max": seconds.max()}
            place = dict(zip("ndk", shape, strict=False))
            self.rows.append({"section": section, "data": data, **place, "name": name, **spread, **more})

    def write(self, folder: Path) -> None:
        """Write performance.md and performance.csv."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "performance.md").write_text("\n".join(self.markdown).lstrip() + "\n")
        fields = list(dict.fromkeys(field for row in self.rows for field in row))
        with (folder / "performance.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, fields)
            writer.writeheader()
            writer.writerows(self.rows)

    def _line(self, line: str) -> None:
        print(line, flush=True)
        self.markdown.append(line)


def slope(points: list[tuple[int, float]]) -> tuple[float, float]:
    """Exponent and factor of the power law fitted to the points on log axes."""
    x, y = np.log(np.array(points)).T
    exponent, offset = np.polyfit(x, y, 1)
    return float(exponent), float(np.exp(offset))


def draw_costs(
    costs: Costs, shapes: dict[str, list[tuple[int, int, int]]], folder: Path
) -> list[tuple[str, str, int, int, float]]:
    """Write costs.png and return (axis, stage, from, to, slope) for every curve and its upper half."""
    slopes = []
    for axis, stages in costs.items():
        for stage, points in stages.items():
            for part in (points, points[len(points) // 2 :]):
                slopes.append((axis, stage, part[0][0], part[-1][0], slope(part)[0]))
    try:
        from matplotlib.figure import Figure
    except ImportError:
        print("matplotlib is not installed: no pictures")
        return slopes
    figure = Figure(figsize=(12, 4), layout="constrained")
    for place, (axis, stages) in enumerate(costs.items()):
        axes = figure.add_subplot(1, len(costs), place + 1)
        for stage, points in stages.items():
            x, y = np.array(points).T
            exponent, factor = slope(points)
            axes.loglog(x, y, "o", color=COLOURS[stage])
            axes.loglog(
                x, factor * x**exponent, color=COLOURS[stage], label=f"{stage}: {axis}^{exponent:.2f}"
            )
        n, d, k = shapes[axis][0]
        fixed = {"n": f"d = {d}, k = {k}", "d": f"n = {n}, k = {k}", "k": f"n = {n}, d = {d}"}[axis]
        axes.set(xlabel=axis, ylabel="seconds" if place == 0 else "", title=fixed)
        axes.legend(frameon=False)
        axes.grid(alpha=0.3, which="both")
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / "costs.png", dpi=120)
    return slopes
