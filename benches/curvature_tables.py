"""Real tables: what a sample can carry. Digits always; single cells and pixels from the folders given."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
from curvature_cases import Sizes
from curvature_report import Page
from shopca_rs import intrinsic_dimension, k_neighbors, second_fundamental_form
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

CELLS, PIXELS = "pbmc68k_reduced", "satimage"
CELL_COMPONENTS = 10
# Points at which the form is estimated.
POINTS = 200
# Points that lie off the fitted surface by this part of the window are not on a surface.
THICK = 0.25


def tables(page: Page, sizes: Sizes, folders: list[Path]) -> None:
    """Print m, k and how the standard errors compare with |II|, at some points of every table."""
    points = min(POINTS, sizes.points)

    def lines() -> Iterable[str]:
        for table in sources(folders, small=sizes.points < POINTS * 5):
            n, d = table.X.shape
            yield f"{table.name} | {n} | {d} | {verdict(table, points)}"

    page.block(
        "tables",
        f"Real tables, at {points} points",
        "table | n | d | m | stages | k | window ÷ radius of the table | thickness ÷ window | flagged | "
        "se ÷ size of II, median | se larger than II | what the sample can carry",
        lines(),
    )


class Table(NamedTuple):
    """A table and how its curvature is estimated."""

    name: str
    X: np.ndarray
    # One stage is enough to see what noise does, and two take minutes in nine dimensions.
    stages: int | Literal["auto"] = 1
    dimension: int | None = None  # None for the estimated one


def sources(folders: list[Path], small: bool = False) -> Iterator[Table]:
    """Yield digits, single cells and pixels."""
    digits = load_digits().data
    if small:
        yield Table("digits, some", digits[:300], 1, 2)
        return
    yield Table("digits", digits)
    yield Table("digits, default settings", digits, "auto")
    cells = load(folders, CELLS)
    if cells is not None:
        yield Table("single cells", cells)
        reduced = PCA(CELL_COMPONENTS, random_state=0).fit_transform(cells)
        yield Table(f"single cells, {CELL_COMPONENTS} principal components", reduced)
    pixels = load(folders, PIXELS)
    if pixels is not None:
        yield Table("pixels", pixels)
        yield Table("pixels, as a surface", pixels, 1, 2)


def load(folders: list[Path], name: str) -> np.ndarray | None:
    """Return the matrix X of name.npz in one of the folders, None if none has it."""
    for folder in folders:
        if (path := folder / f"{name}.npz").exists():
            with np.load(path) as file:
                return file["X"].astype(float)
    print(f"{name}.npz is in none of the folders {', '.join(map(str, folders)) or '(none given)'}: left out")
    return None


def verdict(table: Table, points: int) -> str:
    """Return the cells of one table."""
    X, m = table.X, table.dimension
    rows = np.random.RandomState(0).permutation(len(X))[:points]
    found = intrinsic_dimension(X, points=rows)
    taken = found.dimension if m is None else m
    dimension = f"{found.estimate:.1f}" if m is None else f"{m}, given"
    try:
        bent = second_fundamental_form(X, intrinsic_dim=taken, points=rows, stages=table.stages)
    except ValueError:
        return f"{dimension} {'| – ' * 7}| refused: too few rows for a fit in {taken} dimensions"
    k = bent.n_neighbors
    size = np.sqrt((bent.form**2).sum((1, 2, 3)))[bent.valid]
    ratio = bent.standard_error[bent.valid] / size
    window = np.median(k_neighbors(X, k)[1][rows, -1])
    radius = np.sqrt(((X - X.mean(0)) ** 2).sum(1).mean())
    thickness = np.median(bent.noise[bent.valid]) * np.sqrt(X.shape[1] - taken)
    above = float(np.mean(ratio > 1))
    return (
        f"{dimension} | {bent.stages} | {k} | {window / radius:.2f} | {thickness / window:.2f} | "
        f"{np.mean(~bent.valid):.0%} | {np.median(ratio):.2g} | {above:.0%} | "
        f"{sentence(above, thickness / window)}"
    )


def sentence(above: float, thickness: float) -> str:
    """Return what the numbers allow one to say."""
    if above > 0.5:
        return "no curvature: noise explains what was found"
    if thickness > THICK:
        return "how the cloud bends as a whole: at this scale it is no surface of this dimension"
    return "curvature where se is well below it"
