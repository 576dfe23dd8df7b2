"""Accuracy on closed forms: with default settings, and against the best of some fixed ones."""

from __future__ import annotations

from collections.abc import Iterable
from time import perf_counter
from typing import NamedTuple

import numpy as np
from curvature_cases import Cloud, Sizes, clouds, errors, lengths, number, shapes, twin
from curvature_report import Page
from shopca_rs import second_fundamental_form

# Errors of |H| and II of the NumPy prototype that the method was developed with, at the same sizes.
PROTOTYPE = {
    ("sphere", 0.005): (0.0023, 0.010),
    ("sphere", 0.02): (0.0087, 0.038),
    ("ellipsoid", 0.0): (0.0002, 0.0003),
    ("ellipsoid", 0.005): (0.016, 0.031),
    ("ellipsoid", 0.02): (0.029, 0.076),
    ("torus", 0.0): (0.0004, 0.0005),
    ("torus", 0.005): (0.020, 0.042),
    ("torus", 0.02): (0.048, 0.127),
    ("Clifford torus", 0.005): (0.0037, 0.015),
    ("Clifford torus", 0.02): (0.012, 0.052),
    ("Veronese", 0.005): (0.0034, 0.017),
    ("Veronese", 0.02): (0.011, 0.053),
    ("S3 in R6", 0.005): (0.0028, 0.012),
    ("S3 in R6", 0.02): (0.011, 0.046),
}


# The part of a patch that counts as its edge.
OUTER = 0.1
# Below this error of II the choice of a setting does not matter.
VISIBLE = 1e-4


class Outcome(NamedTuple):
    """What default settings gave on one cloud."""

    cloud: Cloud
    tensor: float


def accuracy(page: Page, sizes: Sizes) -> list[Outcome]:
    """Return and print the errors with default settings; print exact and estimated values beside them."""
    outcomes: list[Outcome] = []
    values: list[str] = []

    def lines() -> Iterable[str]:
        for case in clouds(sizes):
            start = perf_counter()
            bent = second_fundamental_form(case.X, points=case.rows)
            seconds = perf_counter() - start
            found = str(bent.intrinsic_dim)
            if bent.intrinsic_dim != case.shape.dimension:
                found = f"{found}, not {case.shape.dimension}"
                bent = case.estimate(case.rows)
            mean, tensor = errors(bent, case.shape, case.rows)
            size = lengths(case.shape.form[case.rows])
            covered = np.nanmedian(bent.standard_error / size) / tensor
            known = PROTOTYPE.get((case.name, case.level))
            prototype = f"{known[0]:.2g} ({known[1]:.2g})" if known else ""
            outcomes.append(Outcome(case, tensor))
            if case.level == 0:
                values.append(compared(case, bent))
            second = f" + {bent.second_neighbors}" if bent.second_neighbors else ""
            yield (
                f"{case.name} | {case.level:.1%} | {found} | {bent.order} | {bent.n_neighbors}{second} | "
                f"{number(mean)} | {number(tensor)} | {prototype} | {covered:.2f} | "
                f"{(~bent.valid).sum()} | {seconds:.1f}"
            )

    page.block(
        "accuracy",
        f"Median relative errors with default settings, n = {sizes.points}; patches away from their edges",
        "shape | noise | m | order | k | error of H | of II | prototype: H (II) | se ÷ error of II | "
        "flagged | s",
        lines(),
    )
    page.block(
        "values",
        f"Exact and estimated values, medians over {sizes.points} points without noise",
        "shape | m | d | exact H | estimated | exact scalar curvature | estimated",
        values,
    )
    edges(page, sizes, outcomes)
    return outcomes


def edges(page: Page, sizes: Sizes, outcomes: list[Outcome]) -> None:
    """Print the errors at the edges of patches beside those inside."""

    def lines() -> Iterable[str]:
        for case, inside in outcomes:
            if case.shape.inside is None:
                continue
            outer = np.argsort(case.shape.inside)[: int(OUTER * len(case.X))]
            error = case.error(outer[:: max(1, len(outer) // sizes.rows)])
            ratio = error / inside
            yield f"{case.name} | {case.level:.1%} | {number(inside)} | {number(error)} | {ratio:.1f}"

    page.block(
        "edges", "Error of II at the edges of patches", "shape | noise | inside | edge | ratio", lines()
    )


def compared(case: Cloud, bent) -> str:
    """Return the medians of |H| and scalar curvature, exact and estimated."""
    m, d = case.shape.dimension, case.X.shape[1]
    length, _, scalar = shapes.invariants(case.shape.form[case.rows])
    found = np.linalg.norm(bent.mean_curvature_vector, axis=1)
    pairs = ((length / m, found), (scalar, bent.scalar_curvature))
    # + 0.0 turns −0.0 into 0.0.
    medians = [f"{round(float(np.nanmedian(v)), 5) + 0.0:.5f}" for pair in pairs for v in pair]
    return f"{case.name} | {m} | {d} | {' | '.join(medians)}"


def best(page: Page, sizes: Sizes, outcomes: list[Outcome]) -> None:
    """Print the automatic choice beside the best of some fixed settings of the same estimator."""
    ratios: list[float] = []
    visible: list[float] = []

    def lines() -> Iterable[str]:
        for case, tensor in outcomes:
            least, (stages, order, k) = best_fixed(case, sizes)
            ratios.append(tensor / least)
            if tensor > VISIBLE:
                visible.append(ratios[-1])
            yield (
                f"{case.name} | {case.level:.1%} | {number(tensor)} | {number(least)} | {stages} | {order} | "
                f"{k} | {ratios[-1]:.2f}"
            )

    page.block(
        "best",
        "Error of II with the automatic choice and with the best of some fixed settings",
        "shape | noise | automatic | best fixed | its stages | order | k | ratio",
        lines(),
    )
    text = ", ".join(
        f"{name}: mean {np.exp(np.mean(np.log(r))):.2f}, worst {max(r):.2f}"
        for name, r in (
            ("Ratio over all", ratios),
            (f"where the error is above {VISIBLE:g}", visible),
        )
    )
    page.note("best", f"{text}.")


def best_fixed(case: Cloud, sizes: Sizes) -> tuple[float, tuple[int, int, int]]:
    """Return the least median error of II over the fixed settings, at some of the rows."""
    some = case.some(sizes.rows)
    settings = [(1, order, k) for order in (2, 3, 4) for k in sizes.neighbors]
    settings += [(2, 3, k) for k in sizes.neighbors if k > 30]
    found = [
        (case.error(some, k, stages=stages, order=order), (stages, order, k))
        for stages, order, k in settings
        if k + 1 >= 1.5 * twin.unknowns(case.shape.dimension, order)
    ]
    return min(found)
