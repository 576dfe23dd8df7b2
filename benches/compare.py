"""The cost of the neighbour search and of S̄, against what else a Python user can install.

``python benches/compare.py`` takes about a minute; ``--full`` adds larger data, the curves over n, d and k,
threads and whole fits; ``--million`` a million points. Rivals take turns in one process on the same data.
Before every turn the process sleeps: the threads of OpenBLAS and OpenMP keep spinning after theirs. A turn is
one call or the best of some short ones. ``--out`` gets a CSV of everything, the tables as Markdown and, with
``--full``, the picture. Real data are read from ``--data`` or ``$SHOPCA_DATA``. The machine must be quiet,
and the output says if it is not.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import perf_counter, sleep
from typing import Any

import numpy as np
import rivals
from charts import Report, Times, draw_costs, spread, time_text, verdict
from rivals import Part
from shopca_rs import SHOPCA, k_neighbors, mean_shape_operator
from sklearn.decomposition import PCA

Calls = dict[str, Callable[[], Any]]

# (n, d, k) and the ratio to reach.
AGAINST_NUMPY = {(6430, 36, 13): 20, (10992, 16, 13): 8, (2000, 100, 11): 200, (2000, 400, 11): 3000}
SEARCHES = [(6430, 36, 13), (20_000, 16, 14)]
LARGE_SEARCHES = [(14_000, 784, 14), (100_000, 8, 17)]
MNIST = (14_000, 784, 14)
MILLION = (1_000_000, 16, 20)
REAL = {(6430, 36): "satimage", (10992, 16): "pendigits", (20_000, 16): "letter", (14_000, 784): "mnist_784"}
CURVES = {
    "n": [(n, 36, 13) for n in (1000, 2000, 4000, 8000, 16_000, 32_000)],
    "d": [(4000, d, 12) for d in (16, 32, 64, 128, 256, 512, 1024)],
    "k": [(8000, 36, k) for k in (5, 8, 12, 18, 27, 36)],
}
PRICES = {"n": (2000, 4000, 8000, 16_000), "d": (16, 36, 64, 100, 200, 400)}
PAUSE = 0.15


def seconds(call: Callable[[], Any]) -> float:
    """Return the least time of the calls begun within 0.1 s: what disturbs a short one can only add to it."""
    sleep(PAUSE)
    times: list[float] = []
    while sum(times) < 0.1:
        start = perf_counter()
        call()
        times.append(perf_counter() - start)
    return min(times)


def race(calls: Calls, repeats: int) -> Times:
    """Time the calls in turn, `repeats` rounds; what takes 10 s and 3 times the first only once."""
    rounds: dict[str, list[float]] = {name: [] for name in calls}
    first = next(iter(calls))
    for _ in range(repeats):
        for name, call in calls.items():
            slow = rounds[name] and rounds[name][0] > 3 * rounds[first][0] and rounds[name][0] > 10
            rounds[name].append(rounds[name][0] if slow else seconds(call))
    return {name: np.array(times) for name, times in rounds.items()}


def cloud(n: int, d: int) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(n, d))


def real(folder: Path | None, n: int, d: int) -> np.ndarray | None:
    """Return the real data set of this shape, if the folder has it."""
    path = folder / f"{REAL.get((n, d))}.npz" if folder else None
    if path is None or not path.exists():
        return None
    X = np.load(path)["X"].astype(float)
    return X[:n] if X.shape[0] >= n and X.shape[1] == d else None


def stages(X: np.ndarray, k: int, **options: Any) -> Calls:
    found = k_neighbors(X, k)[0]
    return {
        "S̄ and search": lambda: mean_shape_operator(X, k, **options),
        "search": lambda: k_neighbors(X, k, **options),
        "S̄ after": lambda: mean_shape_operator(X, k, neighbors=found, **options),
    }


def machine(report: Report, jobs: int) -> dict[str, float]:
    """Measure the peak of matrix products (flop/s) and of copying (B/s, read and written)."""
    peak = {}
    for name, dtype in (("float32", np.float32), ("float64", np.float64)):
        A = cloud(3072, 3072).astype(dtype)
        out = np.empty_like(A)
        np.matmul(A, A, out=out)
        peak[name] = (
            2 * 3072**3 / min(seconds(lambda A=A, out=out: np.matmul(A, A, out=out)) for _ in range(3))
        )
    source, target = np.ones((2, 1 << 26))
    parts = list(zip(np.array_split(source, jobs), np.array_split(target, jobs), strict=True))
    with ThreadPoolExecutor(jobs) as pool:
        copy = min(
            seconds(lambda: list(pool.map(lambda pair: np.copyto(pair[1], pair[0]), parts))) for _ in range(3)
        )
    peak["bytes"] = 2 * source.nbytes / copy
    report.text(
        f"This machine, {jobs} threads: NumPy's matrix product reaches {peak['float32'] / 1e9:.0f} Gflop/s "
        f"in single and {peak['float64'] / 1e9:.0f} in double precision, a large copy moves "
        f"{peak['bytes'] / 1e9:.1f} GB/s. Ratios are medians over rounds [least, greatest]; NumPy's times "
        "on some points are scaled to all; calls over 10 s that are 3 times slower than ours run once."
    )
    report.rows += [{"section": "machine", "name": name, "median": value} for name, value in peak.items()]
    return peak


def operator_flops(n: int, d: int, k: int) -> float:
    """Flops of S̄ after the search on data in general position; docs/performance.md derives them."""
    rank = min(k - 1, d)
    if k > d:
        return n * (2 * k * d + k * d * d + 9 * d**3 + 4 * rank**2 * d + 2 * d * d * rank)
    frames = 4 * k * d + rank * (rank + 1) * d + 9 * rank**3 + 2 * rank**2 * d
    pairs = rank * (rank + 1) / 2
    operators = 4 * rank * d * d if d <= pairs else 2 * d * pairs * ((rank + 2) / 3 + rank)
    total = 3 * k * d + 2 * d * d if d >= 32 else 2 * d * d * rank
    return n * (frames + operators + total)


def against_numpy(report: Report, repeats: int, budget: float) -> list[tuple[tuple[int, int, int], Times]]:
    """Race S̄ with neighbours against the paper's algorithms in NumPy on scikit-learn's neighbours."""
    measured = []

    def lines() -> Iterable[str]:
        for (n, d, k), wanted in AGAINST_NUMPY.items():
            X = cloud(n, d)
            found = rivals.sklearn_search(X, k, "brute")
            plans = rivals.plan_algorithms(X, k, found, budget)
            calls = stages(X, k) | {
                "scikit-learn brute": lambda X=X, k=k: rivals.sklearn_search(X, k, "brute")
            }
            calls |= {plan.name: plan.call for plan in plans}
            times = race(calls, repeats)
            for plan in plans:
                times[plan.name] = times[plan.name] * n / plan.points + times["scikit-learn brute"]
            report.times("numpy", (n, d, k), times)
            measured.append(((n, d, k), times))
            ratios = np.minimum(*(times[plan.name] for plan in plans)) / times["S̄ and search"]
            theirs = " | ".join(f"{time_text(times[plan.name])} ({plan.note})" for plan in plans)
            met = verdict(np.median(ratios) >= wanted, f"≥ {wanted}")
            ours = time_text(times["S̄ and search"])
            yield f"{n} | {d} | {k} | {ours} | {theirs} | {spread(ratios, 1)} | {met}"

    header = "n | d | k | ours | Algorithm 1 | Algorithm 2 | faster of both ÷ ours | goal"
    report.table("S̄ with its neighbours against NumPy", header, lines())
    return measured


def against_searches(
    report: Report, shapes: list[tuple[int, int, int]], folder: Path | None, repeats: int
) -> None:
    """Race the search alone against scikit-learn's three, and faiss."""

    def lines() -> Iterable[str]:
        cases = [("normal", shape, cloud(*shape[:2])) for shape in shapes if shape != MNIST]
        for shape in shapes:
            if (X := real(folder, *shape[:2])) is not None:
                cases.append((REAL[shape[:2]], shape, X))
            elif shape == MNIST:
                cases.append(("normal", shape, cloud(*shape[:2])))
        for data, (n, d, k), X in cases:
            guesses = {name: rivals.estimate_search(X, k, name) for name in rivals.SEARCHES}
            near = [name for name, guess in guesses.items() if guess < 3 * min(guesses.values())]
            calls: Calls = {"ours": lambda X=X, k=k: k_neighbors(X, k)}
            calls |= {name: lambda X=X, k=k, name=name: rivals.sklearn_search(X, k, name) for name in near}
            if faiss := rivals.faiss_search(X, k):
                calls["faiss"] = faiss
            times = race(calls, repeats)
            report.times("search", (n, d, k), times, data)
            ratios = times["ours"] / np.min([times[name] for name in near], axis=0)
            cells = " | ".join(
                time_text(times[name]) if name in near else f"≈ {time_text(guess)}"
                for name, guess in guesses.items()
            )
            cells = f"{time_text(times['ours'])} | {cells}"
            other = time_text(times["faiss"]) if faiss else "not installed"
            met = verdict(np.median(ratios) <= 0.8, "≤ 0.8")
            yield f"{data} | {n} | {d} | {k} | {cells} | {other} | {spread(ratios)} | {met}"

    header = (
        "data | n | d | k | ours | brute | kd_tree | ball_tree | faiss, float32 | ours ÷ best of 3 | goal"
    )
    report.table("The search alone", header, lines())
    report.text("≈: more than 3 times slower than the best, estimated from 500 queries.")


def cost_model(
    report: Report, peak: dict[str, float], measured: list[tuple[tuple[int, int, int], Times]]
) -> None:
    """Where the time goes, and what part of the machine's peak each stage reaches."""

    def lines() -> Iterable[str]:
        for (n, d, k), times in measured:
            search, after = np.median(times["search"]), np.median(times["S̄ after"])
            ratios = times["S̄ after"] / times["search"]
            reached = (
                2 * n * n * d / search / peak["float32"],
                operator_flops(n, d, k) / after / peak["float64"],
            )
            met = verdict(np.median(ratios) <= 1, "≤ 1")
            cells = f"{time_text(search)} | {reached[0]:.0%} | {time_text(after)} | {reached[1]:.0%}"
            yield f"{n} | {d} | {k} | {cells} | {after / n * 1e6:.2f} µs | {spread(ratios)} | {met}"

    header = "n | d | k | search | of float32 peak | S̄ after | of float64 peak | a point | S̄ ÷ search | goal"
    report.table("Where the time goes", header, lines())


def price_of_neighbors(report: Report, repeats: int) -> None:
    """Divide S̄ by the search over n and d, k = log2 n."""

    def lines() -> Iterable[str]:
        for n in PRICES["n"]:
            k, cells = round(np.log2(n)), []
            for d in PRICES["d"]:
                calls = stages(cloud(n, d), k)
                times = race({name: calls[name] for name in ("search", "S̄ after")}, repeats)
                report.times("price", (n, d, k), times)
                cells.append(spread(times["S̄ after"] / times["search"]))
            yield " | ".join([str(n), str(k), *cells])

    header = " | ".join(["n", "k", *(f"d = {d}" for d in PRICES["d"])])
    report.table("S̄ ÷ search on normal data", header, lines())


def memory(report: Report, cases: list[tuple[str, tuple[int, int, int]]]) -> None:
    """Peak memory of one call in a process of its own, the data included, in multiples of the data."""

    def lines() -> Iterable[str]:
        for name, (n, d, k) in cases:
            command = [sys.executable, __file__, "--child", json.dumps([name, n, d, k])]
            child = subprocess.run(command, capture_output=True, text=True, check=False)
            if child.returncode:
                yield f"{name} | {n} | {d} | {k} | failed: {child.stderr.strip().splitlines()[-1]} | | "
                continue
            taken, peak = json.loads(child.stdout)
            report.times("memory", (n, d, k), {name: np.array([taken])}, peak_bytes=peak)
            size = 8 * n * d
            yield f"{name} | {n} | {d} | {k} | {time_text(taken)} | {peak / 1e6:.0f} MB | {peak / size:.1f}"

    report.table("Peak memory, the data included", "call | n | d | k | time | peak | ÷ the data", lines())


def child(name: str, n: int, d: int, k: int) -> None:
    """Print time and peak memory of one call, above what the imports take."""
    start = rivals.resident("VmRSS")
    X = cloud(n, d)
    found = rivals.sklearn_search(X, k, "brute") if name.startswith("Algorithm") else None
    calls: Calls = {
        "mean_shape_operator": lambda: mean_shape_operator(X, k),
        "k_neighbors": lambda: k_neighbors(X, k),
        "scikit-learn brute": lambda: rivals.sklearn_search(X, k, "brute"),
        "Algorithm 2, batch 64, 256 points": lambda: rivals.algorithm_2(Part(X, 256), k, 64, found),
    }
    taken = seconds(calls[name])
    print(json.dumps([taken, rivals.resident("VmHWM") - start]))


def curves(report: Report, repeats: int, folder: Path) -> None:
    """Time both stages over n, d and k; draw them with their slopes."""
    costs: dict[str, dict[str, list[tuple[int, float]]]] = {}
    for axis, shapes in CURVES.items():
        costs[axis] = {"search": [], "S̄ after": []}
        for n, d, k in shapes:
            calls = stages(cloud(n, d), k)
            del calls["S̄ and search"]
            times = race(calls, repeats)
            report.times(f"curve {axis}", (n, d, k), times)
            for stage, values in times.items():
                costs[axis][stage].append(({"n": n, "d": d, "k": k}[axis], float(values.min())))
    slopes = draw_costs(costs, CURVES, folder)
    lines = (f"{axis} | {stage} | {low} … {high} | {slope:.2f}" for axis, stage, low, high, slope in slopes)
    report.table("Slopes on log axes (costs.png)", "against | stage | range | slope", lines)


def threads(report: Report, folder: Path | None, repeats: int) -> None:
    def lines() -> Iterable[str]:
        for n, d, k in [(6430, 36, 13), MNIST, (100_000, 8, 17)]:
            data = real(folder, n, d) if (n, d, k) == MNIST else None
            X = cloud(n, d) if data is None else data
            one, two = stages(X, k, n_jobs=1), stages(X, k, n_jobs=2)
            # Both of a pair in turn, so that what disturbs one disturbs the other too.
            calls = {f"{name}, {jobs}": own[name] for name in one for jobs, own in ((1, one), (2, two))}
            # A second core is not always there: short calls need more rounds for a steady median.
            times = race(calls, repeats if n * d > 1 << 18 else 3 * repeats)
            report.times("threads", (n, d, k), times)
            gains = [
                times[f"{name}, 1"] / times[f"{name}, 2"] for name in ("search", "S̄ after", "S̄ and search")
            ]
            met = verdict(np.median(gains[2]) >= 1.8, "≥ 1.8")
            yield f"{n} | {d} | {k} | " + " | ".join(map(spread, gains)) + f" | {met}"

    header = "n | d | k | search | S̄ after | both | goal"
    report.table("Two threads against one", header, lines())


def fits(report: Report, folder: Path | None, repeats: int) -> None:
    """Time whole fits: 784 columns against PCA and a search, digits against PCA, Isomap and UMAP."""
    n, d, k = MNIST
    found = real(folder, n, d)
    data, X = ("normal", cloud(n, d)) if found is None else (REAL[n, d], found)
    calls: Calls = {
        "SHOPCA(max_features=None)": lambda: SHOPCA(2, max_features=None).fit(X),
        "PCA(2, full)": lambda: PCA(2, svd_solver="full").fit(X),
        "k_neighbors": lambda: k_neighbors(X, k),
    }
    times = race(calls, min(repeats, 3))
    report.times("fit", MNIST, times, data)
    ratios = times["SHOPCA(max_features=None)"] / (times["PCA(2, full)"] + times["k_neighbors"])
    cells = " | ".join(time_text(times[name]) for name in calls)
    header = (
        "data | n | d | SHOPCA(max_features=None) | PCA(2, full) | our search | first ÷ both others | goal"
    )
    met = verdict(np.median(ratios) < 5, "< 5")
    report.table("A whole fit", header, [f"{data} | {n} | {d} | {cells} | {spread(ratios)} | {met}"])

    embeddings = rivals.embeddings()
    times = race({name: call for name, call in embeddings.items() if call}, min(repeats, 3))
    report.times("digits", (1797, 64), times, "digits")
    lines = (
        f"{name} | {time_text(times[name])} | {spread(times[name] / times['PCA(2)'], 1)}"
        if call
        else f"{name} | not installed | "
        for name, call in embeddings.items()
    )
    report.table("Digits, 1797 × 64, two dimensions", "estimator | fit | ÷ PCA", lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--quick", action="store_true", help="under a minute (the default)")
    kind.add_argument("--full", action="store_true", help="everything but the million points, some minutes")
    parser.add_argument("--million", action="store_true", help="also n = 1 000 000, d = 16, k = 20")
    parser.add_argument("--repeats", type=int, help="rounds; 3 in quick mode, 5 in full mode")
    parser.add_argument("--out", type=Path, default=Path("build/performance"))
    parser.add_argument(
        "--data", type=Path, default=os.environ.get("SHOPCA_DATA"), help="folder of .npz data sets"
    )
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(*json.loads(options.child))
        return
    folder = Path(options.data) if options.data else None
    repeats = options.repeats or (5 if options.full else 3)
    report = Report()
    before = rivals.busy()
    start = perf_counter()
    peak = machine(
        report, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    measured = against_numpy(report, repeats, 3.0 if options.full else 0.25)
    if options.full:
        for shape in [MNIST, (20_000, 16, 14)]:
            found = real(folder, *shape[:2])
            X = cloud(*shape[:2]) if found is None else found
            times = race(stages(X, shape[2]), repeats)
            report.times("stages", shape, times, "normal" if found is None else REAL[shape[:2]])
            measured.append((shape, times))
    cost_model(report, peak, measured)
    searches = SEARCHES + LARGE_SEARCHES if options.full else SEARCHES
    against_searches(report, searches, folder if options.full else None, repeats if options.full else 2)
    cases = [
        (name, (6430, 36, 13))
        for name in ("mean_shape_operator", "scikit-learn brute", "Algorithm 2, batch 64, 256 points")
    ]
    if options.full:
        price_of_neighbors(report, repeats)
        threads(report, folder, repeats)
        curves(report, repeats, options.out)
        fits(report, folder, repeats)
        cases.append(("mean_shape_operator", MNIST))
    if options.million:
        cases.append(("mean_shape_operator", MILLION))
    memory(report, cases)
    company = max(before, rivals.busy())
    quiet = "quiet" if company < 0.05 else "**not quiet: do not trust the ratios**"
    report.text(f"Before or after the run other processes took {company:.0%} of the processors: {quiet}.")
    report.write(options.out)
    print(f"\n{perf_counter() - start:.0f} s; tables and CSV in {options.out}")


if __name__ == "__main__":
    main()
