"""Quality of an embedding against scikit-learn and, where it is installed, zadu.

``python benches/quality.py [--rows N] [--columns D] [--neighbors K] [--large N D] [--rounds R]`` measures
trustworthiness and continuity of two columns, both sides in this process: the wall-clock time, the
CPU time of all threads and the peak memory. Then the larger table by itself, in units of the
neighbour search of the same table: medians of R rounds, in which the calls take turns. ``--large 0 0``
leaves it out. On a busy machine compare CPU time.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, NamedTuple

import numpy as np
from rivals import resident
from shopca_rs import continuity, k_neighbors, quality, trustworthiness
from sklearn.manifold import trustworthiness as sklearn_trustworthiness

PEAKS = Path("/proc/self/clear_refs")


class Cost(NamedTuple):
    """What a call took."""

    seconds: float
    processor: float
    megabytes: float
    value: Any


def measure(call: Callable[[], Any]) -> Cost:
    if PEAKS.exists():
        PEAKS.write_text("5")  # forget the peak so far
    before, start, started = resident("VmRSS"), perf_counter(), process_time()
    value = call()
    seconds, processor = perf_counter() - start, process_time() - started
    return Cost(seconds, processor, (resident("VmHWM") - before) / 1e6, value)


def show(name: str, cost: Cost, unit: Cost) -> None:
    numbers = f"{cost.seconds:9.3f} s {cost.processor:9.3f} s {cost.megabytes:9.1f} MB"
    ratios = f"{cost.seconds / unit.seconds:8.2f} {cost.processor / unit.processor:8.2f}"
    print(f"{name:44s}{numbers}{ratios}", flush=True)


def cloud(n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Return a normal cloud with columns of falling variance, and its two widest columns."""
    X = np.random.default_rng(0).normal(size=(n, d)) / np.sqrt(np.arange(1, d + 1))
    return X, X[:, :2].copy()


def both(X: np.ndarray, Z: np.ndarray, k: int) -> tuple[float, float]:
    return trustworthiness(X, Z, k), continuity(X, Z, k)


def against_others(n: int, d: int, k: int) -> None:
    X, Z = cloud(n, d)
    print(f"\n{n} rows, {d} columns, k = {k}: data of {X.nbytes / 1e6:.1f} MB; ratios to the first line")
    both(X[:500], Z[:500], k)
    ours = measure(lambda: both(X, Z, k))
    show("trustworthiness and continuity", ours, ours)
    show("quality, all sizes", measure(lambda: quality(X, Z, k)), ours)

    def scikit_learn() -> tuple[float, float]:
        return (sklearn_trustworthiness(X, Z, n_neighbors=k), sklearn_trustworthiness(Z, X, n_neighbors=k))

    theirs = measure(scikit_learn)
    show("scikit-learn's trustworthiness, twice", theirs, ours)
    print(f"  largest difference: {np.abs(np.subtract(theirs.value, ours.value)).max():.1e}")
    try:
        from zadu.measures import trustworthiness_continuity
    except ImportError:
        print("zadu is not installed")
        return
    theirs = measure(lambda: trustworthiness_continuity.measure(X, Z, k=k))
    show("zadu's trustworthiness_continuity", theirs, ours)
    difference = np.subtract([*theirs.value.values()], ours.value)
    print(f"  largest difference: {np.abs(difference).max():.1e}")


def median(costs: list[Cost]) -> Cost:
    """Return the medians of times, and the largest memory."""
    seconds, processor = (float(np.median([cost[at] for cost in costs])) for at in range(2))
    return Cost(seconds, processor, max(cost.megabytes for cost in costs), costs[-1].value)


def against_search(n: int, d: int, k: int, rounds: int) -> None:
    X, Z = cloud(n, d)
    print(f"\n{n} rows, {d} columns, k = {k}: data of {X.nbytes / 1e6:.1f} MB; ratios to the search")
    calls: dict[str, Callable[[], Any]] = {
        "k_neighbors": lambda: k_neighbors(X, k),
        "trustworthiness": lambda: trustworthiness(X, Z, k),
        "continuity": lambda: continuity(X, Z, k),
    }
    costs: dict[str, list[Cost]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            costs[name].append(measure(call))
    parts = {name: median(each) for name, each in costs.items()}
    search, *measures = parts.values()
    for name, part in parts.items():
        show(name, part, search)
    together = [sum(part[at] for part in measures) for at in range(2)]
    show("both", Cost(*together, max(part.megabytes for part in measures), None), search)
    for sample in (1000,):
        sampled = measure(lambda sample=sample: quality(X, Z, k, sample=sample))
        show(f"quality, a sample of {sample}", sampled, search)
        error = sampled.value.standard_error
        print(f"  AUC {sampled.value.auc:.4f} ± {error.auc:.4f}, T ± {error.trustworthiness:.4f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--columns", type=int, default=50)
    parser.add_argument("--neighbors", type=int, default=5)
    parser.add_argument("--large", type=int, nargs=2, default=(100_000, 20), metavar=("N", "D"))
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    print(f"{'':44s}{'clock':>11s}{'processor':>12s}{'memory':>13s}{'ratios':>16s}")
    if options.rows:
        against_others(options.rows, options.columns, options.neighbors)
    if options.large[0]:
        against_search(*options.large, options.neighbors, options.rounds)


if __name__ == "__main__":
    main()
