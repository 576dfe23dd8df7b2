"""What curvature costs: against the NumPy twin, against its own neighbour search, and in memory."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterable
from functools import partial
from time import perf_counter, process_time

import numpy as np
import rivals
from curvature_cases import Sizes, shapes, twin
from curvature_report import Page
from shopca_rs import curvatures, k_neighbors, second_fundamental_form
from threadpoolctl import threadpool_limits

CALLS = {"curvatures": curvatures, "second_fundamental_form": second_fundamental_form}


def race(calls: dict[str, Callable[[], object]], repeats: int = 3) -> dict[str, float]:
    """Return the least time of each call, taking turns."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    # NumPy's threads only get in the way of each other on stacks of small matrices.
    with threadpool_limits(1):
        for _ in range(repeats):
            for name, call in calls.items():
                start = perf_counter()
                call()
                times[name].append(perf_counter() - start)
    return {name: min(taken) for name, taken in times.items()}


def speed(page: Page, sizes: Sizes) -> None:
    """Print one stage against the twin, and the automatic call against its neighbour search."""

    def lines() -> Iterable[str]:
        for n, d, m, k, wanted in sizes.clouds:
            rng = np.random.default_rng(0)
            shape = shapes.torus(n, rng) if m == 2 else shapes.sphere(n, rng, m)
            X = shapes.noisy(shapes.isometry(shape.points, rng, d), 0.002, rng)
            taken = race(
                {
                    "twin": lambda X=X, k=k, m=m: twin.second_form(X, twin.neighbors(X, k), m),
                    "here": lambda X=X, k=k, m=m: second_fundamental_form(X, k, intrinsic_dim=m, order=2),
                }
            )
            ratio = taken["twin"] / taken["here"]
            yield (
                f"{n} | {d} | {m} | {k} | {taken['twin']:.2f} s | {taken['here']:.3f} s | {ratio:.1f} | "
                f"{wanted}"
            )

    page.block(
        "speed",
        "One stage of order 2, neighbours included on both sides; the twin searches with SciPy's cKDTree",
        "n | d | m | k | NumPy | here | ratio | goal",
        lines(),
    )
    page.block(
        "search",
        "A clean torus in R³, automatic settings",
        "call | n | k | search of k neighbours | the call | ratio | peak memory ÷ (n·k + n·d) doubles",
        clean(sizes.clean),
    )


def clean(n: int) -> Iterable[str]:
    """Yield the automatic calls on a clean torus beside the search of the neighbours they choose."""
    X = clean_torus(n)
    k = curvatures(X).n_neighbors
    taken = race({"k_neighbors": lambda: k_neighbors(X, k)} | {c: partial(f, X) for c, f in CALLS.items()})
    for name in CALLS:
        multiple = peak(name, n) / (8 * n * (k + X.shape[1]))
        yield (
            f"`{name}` | {n} | {k} | {taken['k_neighbors']:.2f} s | {taken[name]:.2f} s | "
            f"{taken[name] / taken['k_neighbors']:.1f} | {multiple:.1f}"
        )


def clean_torus(n: int) -> np.ndarray:
    return shapes.torus(n, np.random.default_rng(0)).points


def peak(name: str, n: int) -> int:
    """Return the bytes that one call adds to a new process at its peak, its result included."""
    command = [sys.executable, __file__, name, str(n)]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def added(name: str, n: int) -> int:
    """Return the bytes that one call adds to this process at its peak."""
    X = clean_torus(n)
    k_neighbors(X[:100], 2)  # starts what is started once
    rivals.forget_peak()
    before = rivals.resident("VmRSS")
    CALLS[name](X)
    return rivals.resident("VmHWM") - before


def automatic(page: Page, n: int) -> None:
    """Print the whole automatic call on a noisy torus, for which the twin takes minutes."""
    rng = np.random.default_rng(0)
    X = shapes.noisy(shapes.torus(n, rng).points, 0.01, rng)
    sample = np.random.RandomState(0).permutation(n)[:200]
    calls: dict[str, Callable[[], object]] = {
        "twin": lambda: twin.automatic(X, 2, sample),
        "here": lambda: second_fundamental_form(X, intrinsic_dim=2),
    }
    taken = {}
    with threadpool_limits(1):
        for name, call in calls.items():
            start = np.array([perf_counter(), process_time()])
            call()
            taken[name] = np.array([perf_counter(), process_time()]) - start
    page.block(
        "automatic",
        "The automatic call on a torus with 1 % noise; processor time is that of all threads together",
        "n | time | NumPy | here | ratio",
        [
            f"{n} | {clock} | {theirs:.1f} s | {ours:.2f} s | {theirs / ours:.1f}"
            for clock, theirs, ours in zip(("elapsed", "processor"), *taken.values(), strict=True)
        ],
    )


if __name__ == "__main__":
    print(added(sys.argv[1], int(sys.argv[2])))
