"""The clouds of `benches/curvature.py`: closed forms with noise, how far an estimate is off, and sizes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from shopca_rs import second_fundamental_form

sys.path.append(str(Path(__file__).parents[1] / "tests"))
import geometry_twin as twin
import shapes

__all__ = [
    "FULL",
    "SMALL",
    "Cloud",
    "Sizes",
    "cloud",
    "clouds",
    "errors",
    "lengths",
    "mean_error",
    "number",
    "shapes",
    "twin",
]

Make = Callable[..., shapes.Shape]

# The part of a patch that counts as inside: farther from its edge than this share of its points.
EDGE = 0.4
EXACT = 1e-9
SEED = 1


class Sizes(NamedTuple):
    """How much of everything is run."""

    shapes: tuple[str, ...]
    noise: tuple[float, ...]
    points: int
    growing: tuple[int, ...]  # n of the convergence in n
    growing_noisy: tuple[int, ...]
    largest: int  # n of the S̄ that stands for the limit
    levels: tuple[float, ...]  # noise of the convergence in noise
    dimensions: tuple[int, ...]
    neighbors: tuple[int, ...]  # k of the fixed settings
    rows: int  # rows at which errors are measured, where not at all
    surfaces: tuple[str, ...]
    scales: tuple[float, ...]  # of the others, in their own units
    clouds: tuple[tuple[int, int, int, int, int], ...]  # n, d, m, k, ratio to reach
    clean: int


FULL = Sizes(
    shapes=tuple(shapes.ALL),
    noise=(0.0, 0.005, 0.02),
    points=5000,
    growing=(500, 1000, 2000, 5000, 10_000, 20_000, 50_000),
    growing_noisy=(500, 1000, 2000, 5000, 10_000, 20_000),
    largest=400_000,
    levels=(0.001, 0.002, 0.005, 0.01, 0.02, 0.05),
    dimensions=(1, 2, 3, 4, 5),
    neighbors=(20, 30, 45, 70, 110, 170, 260, 400, 640, 1000),
    rows=400,
    surfaces=("sphere", "ellipsoid", "torus", "cylinder", "egg box"),
    scales=(2, 3, 4, 6, 8, 12, 16, 24, 32),
    clouds=((100_000, 3, 2, 30, 20), (10_000, 50, 3, 40, 15)),
    clean=100_000,
)
# Everything, but so small that it takes seconds: to see that it runs.
SMALL = Sizes(
    shapes=("ellipsoid", "cylinder"),
    noise=(0.0, 0.02),
    points=400,
    growing=(300, 600),
    growing_noisy=(300, 600),
    largest=1000,
    levels=(0.005, 0.02),
    dimensions=(1, 2),
    neighbors=(30, 45, 70),
    rows=50,
    surfaces=("torus", "cylinder"),
    scales=(3, 6),
    clouds=((500, 3, 2, 30, 20), (300, 10, 3, 40, 15)),
    clean=1000,
)


class Cloud(NamedTuple):
    """Points on or near a shape, and the rows that count."""

    name: str
    level: float
    X: np.ndarray
    shape: shapes.Shape
    rows: np.ndarray

    def some(self, count: int) -> np.ndarray:
        """Return about so many of the rows."""
        return self.rows[:: max(1, len(self.rows) // count)]

    def estimate(self, rows: np.ndarray, *arguments: Any, **options: Any) -> Any:
        """Return the form with the true dimension."""
        return second_fundamental_form(
            self.X, *arguments, intrinsic_dim=self.shape.dimension, points=rows, **options
        )

    def error(self, rows: np.ndarray, *arguments: Any, **options: Any) -> float:
        """Return the median relative error of II, estimated with the true dimension."""
        return errors(self.estimate(rows, *arguments, **options), self.shape, rows)[1]


def cloud(name: str, n: int, level: float, make: Make | None = None, seed: int = SEED) -> Cloud:
    """Return n points of a shape with so much noise."""
    rng = np.random.default_rng(seed)
    shape = (make or shapes.ALL[name])(n, rng)
    X = shapes.noisy(shape.points, level, rng) if level else shape.points
    rows = np.arange(n)
    if shape.inside is not None:
        rows = rows[shape.inside > np.quantile(shape.inside, EDGE)]
    return Cloud(name, level, X, shape, rows)


def clouds(sizes: Sizes) -> Iterator[Cloud]:
    """Yield every shape with every noise."""
    for name in sizes.shapes:
        for level in sizes.noise:
            yield cloud(name, sizes.points, level)


def errors(bent: Any, shape: shapes.Shape, rows: np.ndarray) -> tuple[float, float]:
    """Return the median relative errors of |H| and of the whole II."""
    truth = shape.form[rows]
    gap = shapes.ambient(bent.tangent, bent.form) - truth
    tensor = np.sqrt((gap**2).sum((1, 2, 3))) / lengths(truth)
    found = np.linalg.norm(bent.mean_curvature_vector, axis=1)
    return mean_error(found, shape, rows), float(np.nanmedian(tensor))


def mean_error(found: np.ndarray, shape: shapes.Shape, rows: np.ndarray) -> float:
    """Return the median error of |H|, relative to it, or to |II| where it vanishes."""
    truth = shape.form[rows]
    length, size = shapes.invariants(truth)[0] / shape.dimension, lengths(truth)
    scale = np.where(length > EXACT * size, length, size)
    return float(np.nanmedian(np.abs(found - length) / scale))


def lengths(form: np.ndarray) -> np.ndarray:
    """Return |II| of ambient tensors."""
    return np.sqrt((form**2).sum((1, 2, 3)))


def number(value: float) -> str:
    """Return an error in three digits or so."""
    return f"{value:.0e}" if value < 5e-5 else f"{value:.4f}"
