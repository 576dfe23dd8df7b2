"""How errors fall: II in n, k, noise and m, and the paper's S̄ in n."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from pathlib import Path

import numpy as np
from curvature_cases import Cloud, Sizes, cloud, number, shapes
from curvature_report import Curve, Page, Panel, draw, exponents
from shopca_rs import mean_shape_operator

# The corrected fit is exact on spheres and their products, so without noise they show rounding errors.
BENT = ("ellipsoid", "torus", "catenoid", "egg box")
NOISY = ("ellipsoid", "torus", "Clifford torus", "S3 in R6")
# k of one stage of each order, 1.5 times the unknowns of m = 2 and more.
ORDERS = {2: 12, 3: 20, 4: 30}
# Neighbours of S̄, the same for every n.
OPERATOR_NEIGHBORS = 12
# Clouds of the largest n over which the squared distance of S̄ to its limit is averaged; more of smaller n.
CLOUDS = 4
HALF_PERCENT = 0.005
TWO_PERCENT = 0.02


def convergence(page: Page, sizes: Sizes, folder: Path) -> None:
    """Draw all curves and print their slopes."""
    growth = in_n(sizes)
    draw("Error of the second fundamental form: more points", growth, folder / "convergence-n.png")
    neighbors = in_k(sizes)
    draw("Error of the second fundamental form: more neighbours", neighbors, folder / "convergence-k.png")
    noise = [in_noise(sizes), in_m(sizes)]
    title = "Error of the second fundamental form: more noise, more dimensions"
    draw(title, noise, folder / "convergence-noise.png")
    operator = mean_operator(sizes)
    draw("The mean shape operator S̄ of the paper: more points", operator, folder / "mean-operator.png")
    slopes(
        page, "slopes", "Slopes of the error of II", [*growth, noise[0]._replace(title="in noise, automatic")]
    )
    dimensions(page, noise[1])
    slopes(page, "operator", "Slopes of the mean shape operator S̄ in n", operator)


def slopes(page: Page, name: str, title: str, panels: list[Panel]) -> None:
    """Print the first and the last error of every curve, and its slope."""

    def lines() -> Iterable[str]:
        for panel in panels:
            for curve in panel.curves:
                (low, first), (high, last) = curve.points[0], curve.points[-1]
                exponent = exponents(panel)[curve.label]
                yield (
                    f"{panel.title} | {curve.label} | {low:g} … {high:g} | {number(first)} | "
                    f"{number(last)} | {exponent:.2f}"
                )

    page.block(name, title, "what | curve | from … to | first | last | slope", lines())


def dimensions(page: Page, panel: Panel) -> None:
    """Print the errors over m."""
    header = " | ".join(f"m = {m:g}" for m, _ in panel.curves[0].points)
    lines = (f"{c.label} | {' | '.join(number(e) for _, e in c.points)}" for c in panel.curves)
    page.block("dimensions", f"Error of II over the dimension: {panel.title}", f"curve | {header}", lines)


def median_error(case: Cloud, sizes: Sizes, *arguments: int, **options: int) -> float:
    return case.error(case.some(sizes.rows), *arguments, **options)


def in_n(sizes: Sizes) -> list[Panel]:
    """Return the errors over n: automatic on some shapes, fixed orders on one, automatic with noise."""
    automatic = [
        Curve(name, [(n, median_error(cloud(name, n, 0.0), sizes)) for n in sizes.growing]) for name in BENT
    ]
    orders = []
    for order, k in ORDERS.items():
        points = [
            (n, median_error(cloud("ellipsoid", n, 0.0), sizes, k, order=order, stages=1))
            for n in sizes.growing
        ]
        orders.append(Curve(f"order {order}, k = {k}", points))
    noisy = [
        Curve(name, [(n, median_error(cloud(name, n, HALF_PERCENT), sizes)) for n in sizes.growing_noisy])
        for name in NOISY
    ]
    return [
        Panel("without noise, automatic", "number of points n", automatic),
        Panel("ellipsoid without noise, k fixed", "number of points n", orders),
        Panel("0.5 % noise, automatic", "number of points n", noisy),
    ]


def in_k(sizes: Sizes) -> list[Panel]:
    """Return the errors over k of one and of two stages, and the automatic choice."""
    panels = []
    for name in ("ellipsoid", "torus"):
        curves = []
        for colour, level in enumerate((0.0, HALF_PERCENT, TWO_PERCENT)):
            case = cloud(name, sizes.points, level)
            some = case.some(sizes.rows)
            bent = case.estimate(some)
            for stages in (1, 2) if level else (1,):
                points = [
                    (k, case.error(some, k, order=3, stages=stages)) for k in sizes.neighbors if k >= 20
                ]
                chosen = (bent.n_neighbors, case.error(some)) if bent.stages == stages else None
                label = f"{level:.1%} noise, {stages} stage{'s' * (stages > 1)}"
                curves.append(Curve(label, points, chosen, colour, dashed=stages == 1))
        title = f"{name}, n = {sizes.points}, order 3"
        panels.append(Panel(title, "number of neighbours k", curves, slopes=False))
    return panels


def in_noise(sizes: Sizes) -> Panel:
    """Return the errors over the level of noise."""
    curves = [
        Curve(
            name,
            [(100 * s, median_error(cloud(name, sizes.points, s), sizes)) for s in sizes.levels],
        )
        for name in NOISY
    ]
    return Panel(f"automatic, n = {sizes.points}", "noise, % of the rms radius", curves)


def in_m(sizes: Sizes) -> Panel:
    """Return the errors over the dimension: spheres with noise, ellipsoids without."""

    def curve(label: str, make, level: float) -> Curve:
        points = [
            (m, median_error(cloud(label, sizes.points, level, partial(make, m=m)), sizes))
            for m in sizes.dimensions
        ]
        return Curve(label, points)

    curves = [
        curve("spheres, 2 % noise", shapes.sphere, TWO_PERCENT),
        curve("spheres, 0.5 % noise", shapes.sphere, HALF_PERCENT),
        curve("ellipsoids without noise", ellipsoid, 0.0),
    ]
    title = f"automatic, n = {sizes.points}"
    return Panel(title, "intrinsic dimension m", curves, slopes=False, linear=True)


def ellipsoid(n: int, rng: np.random.Generator, m: int) -> shapes.Shape:
    """Return an ellipsoid of dimension m with axes from 2 to 1."""
    return shapes.ellipsoid(n, rng, np.linspace(2, 1, m + 1))


def mean_operator(sizes: Sizes) -> list[Panel]:
    """Return the size of S̄ over n, and the distance of S̄ / tr S̄ to that of many more points."""
    size, distance = [], []
    for name in ("torus", "Clifford torus", "S3 in R6"):
        limit = normalised(points_on(name, sizes.largest, 0))
        lengths, gaps = [], []
        for n in sizes.growing:
            seeds = range(1, 1 + CLOUDS * max(sizes.growing) // n)
            operators = [operator(points_on(name, n, seed)) for seed in seeds]
            lengths.append((n, float(np.mean([np.linalg.norm(s) for s in operators]))))
            squares = [np.linalg.norm(s / np.trace(s) - limit) ** 2 for s in operators]
            gaps.append((n, float(np.sqrt(np.mean(squares)))))
        m = 3 if name.startswith("S3") else 2
        size.append(Curve(f"{name}, m = {m}", lengths))
        distance.append(Curve(f"{name}, m = {m}", gaps))
    return [
        Panel(f"S̄ vanishes, k = {OPERATOR_NEIGHBORS}", "number of points n", size, "norm of S̄"),
        Panel(
            "S̄ / tr S̄ converges",
            "number of points n",
            distance,
            f"distance to that of {sizes.largest} points",
        ),
    ]


def points_on(name: str, n: int, seed: int) -> np.ndarray:
    """Return points on one of three shapes; in many columns without their forms, which take much memory."""
    rng = np.random.default_rng(seed)
    if name == "torus":
        return shapes.torus(n, rng).points
    if name == "Clifford torus":
        return np.c_[shapes.directions(n, rng, 2), shapes.directions(n, rng, 2)] * np.sqrt(0.5)
    turn = np.linalg.qr(np.random.default_rng(0).standard_normal((6, 6)))[0][:4]
    return shapes.directions(n, rng, 4) @ turn


def operator(X: np.ndarray) -> np.ndarray:
    return mean_shape_operator(X, OPERATOR_NEIGHBORS)


def normalised(X: np.ndarray) -> np.ndarray:
    found = operator(X)
    return found / np.trace(found)
