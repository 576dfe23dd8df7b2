"""Whole fits of SHOPCA against PCA: small data, wide data, and every feature kept.

``python benches/fit.py [DIR]``, DIR with mnist_784.npz for the largest case; else data like it are drawn.
Everything runs in one process, the imports first. Beside the wall-clock time stands the CPU time of all
threads, which other work on the machine changes less.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from time import perf_counter, process_time, sleep
from typing import Any

# Threads of OpenBLAS spin for a while after a call, and slow down the next one.
PAUSE = 0.15


def timed(call: Callable[[], Any]) -> tuple[float, float]:
    """Return the wall-clock time and the CPU time of all threads, in seconds."""
    clock, processors = perf_counter(), process_time()
    call()
    return perf_counter() - clock, process_time() - processors


def import_package() -> None:
    import shopca_rs  # noqa: F401


def import_estimator() -> None:
    from shopca_rs import SHOPCA  # noqa: F401


def in_turns(calls: dict[str, Callable[[], Any]], repeats: int) -> dict[str, tuple[float, float]]:
    """Return the medians of calls that take turns, so that what else the machine does slows all.

    Before each there is a pause, as in `benches/compare.py`, so that no call pays for the one before it.
    """
    runs: dict[str, list[tuple[float, float]]] = {name: [] for name in calls}
    for _ in range(repeats):
        for name, call in calls.items():
            sleep(PAUSE)
            runs[name].append(timed(call))
    return {name: (median(a for a, _ in some), median(b for _, b in some)) for name, some in runs.items()}


def compare(
    title: str, calls: dict[str, Callable[[], Any]], rivals: tuple[str, ...], repeats: int, goal: float | None
) -> None:
    """Print the times of all calls, and the ratio of the first to the sum of some others."""
    found = in_turns(calls, repeats)
    print(f"\n{title}, medians of {repeats}")
    for name, (clock, processors) in found.items():
        print(f"  {name:34} {clock * 1e3:10.1f} ms {processors * 1e3:10.1f} ms CPU", flush=True)
    first = next(iter(found.values()))
    ratios = [first[j] / sum(found[name][j] for name in rivals) for j in (0, 1)]
    wanted = "" if goal is None else f" (wanted: {goal:g})"
    print(f"  first ÷ {' + '.join(rivals)}: {ratios[0]:.2f}, CPU {ratios[1]:.2f}{wanted}", flush=True)


def images(folder: str | None) -> Any:
    """14 000 × 784: handwritten digits, or mixtures of smooth patches."""
    import numpy as np

    if folder is not None:
        with np.load(Path(folder) / "mnist_784.npz", allow_pickle=True) as file:
            X = np.asarray(file["X"], dtype=np.float64)
        return X[np.random.default_rng(0).permutation(len(X))[:14_000]]
    rng = np.random.default_rng(0)
    patches = rng.normal(size=(60, 784)) * 0.9 ** np.arange(60)[:, None]
    return rng.normal(size=(14_000, 60)) @ patches + 0.1 * rng.normal(size=(14_000, 784))


def spectra(n: int, d: int) -> Iterator[tuple[str, Any]]:
    """Yield data with a flat spectrum, with clusters, with few strong directions, with a power law."""
    import numpy as np

    rng = np.random.default_rng(0)
    noise = rng.normal(size=(n, d))
    yield "normal", noise
    yield "ten clusters", rng.normal(size=(10, d))[rng.integers(10, size=n)] + noise
    yield (
        "low rank and noise",
        rng.normal(size=(n, 20)) * 0.8 ** np.arange(20) @ rng.normal(size=(20, d)) + noise / 2,
    )
    yield "power law", noise * np.arange(1, d + 1) ** -0.5


def print_steps(X: Any) -> None:
    """Fit once more on one thread, and print how often each step of the choice of α was taken."""
    from unittest.mock import patch

    from shopca_rs import SHOPCA
    from shopca_rs.alpha_search import _Search

    taken: dict[str, list[float]] = {}

    def counted(name: str) -> Callable[..., Any]:
        step = getattr(_Search, name)

        def run(self: Any, i: int) -> Any:
            start = process_time()
            found = step(self, i)
            taken.setdefault(name, []).append(process_time() - start)
            return found

        return run

    with patch.multiple(
        _Search, **{name: counted(name) for name in ("symmetric", "bound", "solve", "exact")}
    ):
        SHOPCA(2, max_features=None, n_jobs=1).fit(X)
    for name, times in taken.items():
        print(f"  {name:10} {len(times):3} times, {sum(times):6.2f} s CPU", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", metavar="DIR", nargs="?", help="has mnist_784.npz")
    folder = parser.parse_args().folder
    assert "numpy" not in sys.modules
    print(f"import shopca_rs                      {timed(import_package)[0]:7.3f} s (NumPy included)")
    print(
        f"then from shopca_rs import SHOPCA     {timed(import_estimator)[0]:7.3f} s (scikit-learn and SciPy)"
    )

    import numpy as np
    from shopca_rs import SHOPCA, k_neighbors
    from sklearn.datasets import load_digits, load_iris
    from sklearn.decomposition import PCA

    for name, X in (("iris", load_iris().data), ("digits", load_digits().data)):
        compare(
            f"{name}, {X.shape[0]} x {X.shape[1]}",
            {
                "SHOPCA(2)": lambda X=X: SHOPCA(2).fit(X),
                "SHOPCA(2, alpha=1)": lambda X=X: SHOPCA(2, alpha=1).fit(X),
                "SHOPCA(2, max_features=None)": lambda X=X: SHOPCA(2, max_features=None).fit(X),
                "PCA(2)": lambda X=X: PCA(2).fit(X),
            },
            ("PCA(2)",),
            15,
            None,
        )
    for shape in ((1500, 2000), (400, 4096)):
        X = np.random.default_rng(0).normal(size=shape)
        compare(
            f"normal, {shape[0]} x {shape[1]}",
            {"SHOPCA(2)": lambda X=X: SHOPCA(2).fit(X), "PCA(2)": lambda X=X: PCA(2).fit(X)},
            ("PCA(2)",),
            5,
            3,
        )
    for name, X in spectra(1500, 2000):
        compare(
            f"{name}, 1500 x 2000, all features",
            {
                "SHOPCA(2, max_features=None)": lambda X=X: SHOPCA(2, max_features=None).fit(X),
                'PCA(2, svd_solver="full")': lambda X=X: PCA(2, svd_solver="full").fit(X),
            },
            ('PCA(2, svd_solver="full")',),
            1,
            3,
        )
        print_steps(X)
    X = images(folder)
    k = round(np.log2(len(X)))
    compare(
        "images, 14000 x 784, all features",
        {
            "SHOPCA(2, max_features=None)": lambda: SHOPCA(2, max_features=None).fit(X),
            'PCA(2, svd_solver="full")': lambda: PCA(2, svd_solver="full").fit(X),
            "k_neighbors": lambda: k_neighbors(X, k),
        },
        ('PCA(2, svd_solver="full")', "k_neighbors"),
        1,
        2,
    )
    print_steps(X)


if __name__ == "__main__":
    main()
