"""The others in `benches/compare.py`: the paper's algorithms in NumPy, scikit-learn, faiss and umap-learn."""

from __future__ import annotations

import os
import resource
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import perf_counter, sleep
from typing import Any, NamedTuple

import numpy as np
from sklearn.neighbors import NearestNeighbors
from threadpoolctl import threadpool_limits

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from reference import algorithm_1, algorithm_2

SEARCHES = ("brute", "kd_tree", "ball_tree")
BATCHES = (1, 4, 16, 64)
LARGEST_BATCH = 1 << 29
THREADS = (1, os.cpu_count() or 1)


class Part:
    """X as the reference algorithms see it, when they are to do the first m points only."""

    def __init__(self, X: np.ndarray, m: int) -> None:
        self.X = X
        self.shape = (min(m, len(X)), X.shape[1])

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: Any) -> np.ndarray:
        return self.X[rows]


class Plan(NamedTuple):
    """One of the two algorithms, on as many points as it can do in the time allowed."""

    name: str
    call: Callable[[], Any]
    points: int
    note: str


def plan_algorithms(X: np.ndarray, k: int, found: np.ndarray, budget: float) -> list[Plan]:
    """Algorithms 1 and 2 on as many points as take `budget` seconds, their batches and BLAS threads tuned."""
    n, d = X.shape
    pilot = 256 if d <= 20 else 64 if d <= 64 else 16 if d <= 160 else 1

    def first(points: int, threads: int, _: int) -> Any:
        with threadpool_limits(threads, user_api="blas"):
            return algorithm_1(Part(X, points), k, found)

    def second(points: int, threads: int, batch: int) -> Any:
        with threadpool_limits(threads, user_api="blas"):
            return algorithm_2(Part(X, points), k, batch, found[:points])

    fits = [b for b in BATCHES if b <= pilot and b * d * d * (d + 1) / 2 * 8 <= LARGEST_BATCH]
    plans = []
    for name, algorithm, batches, most in (
        ("Algorithm 1", first, [1], max(1, pilot // 4)),
        ("Algorithm 2", second, fits, pilot),
    ):
        each = {
            (threads, batch): _seconds(lambda: algorithm(most, threads, batch)) / most  # noqa: B023
            for threads in THREADS
            for batch in batches
        }
        threads, batch = min(each, key=each.__getitem__)
        points = min(n, max(1, round(budget / each[threads, batch] / batch)) * batch)
        settings = f"{threads} BLAS thread{'s' * (threads > 1)}, " + f"batch {batch}, " * (len(batches) > 1)
        call = partial(algorithm, points, threads, batch)
        plans.append(Plan(name, call, points, f"{settings}from {points} point{'s' * (points > 1)}"))
    return plans


def sklearn_search(X: np.ndarray, k: int, algorithm: str) -> np.ndarray:
    """Row numbers of the k nearest others."""
    search = NearestNeighbors(n_neighbors=k, algorithm=algorithm, n_jobs=-1)
    return search.fit(X).kneighbors(return_distance=False)


def estimate_search(X: np.ndarray, k: int, algorithm: str) -> float:
    """Seconds that `sklearn_search` would take, from some of its queries."""
    queries = min(len(X), 2500 if algorithm == "brute" else 500)
    start = perf_counter()
    search = NearestNeighbors(n_neighbors=k, algorithm=algorithm, n_jobs=-1).fit(X)
    built = perf_counter() - start
    search.kneighbors(X[:2], return_distance=False)  # starts the threads
    return built + _seconds(lambda: search.kneighbors(X[:queries], return_distance=False)) * len(X) / queries


def busy(pause: float = 1.0) -> float:
    """Part of the processors that others keep busy while this process sleeps; 0 without /proc/stat."""
    status = Path("/proc/stat")
    if not status.exists():
        return 0.0

    def ticks() -> np.ndarray:
        return np.array(status.read_text().split("\n")[0].split()[1:9], dtype=float)

    before = ticks()
    sleep(pause)
    spent = ticks() - before
    return float(1 - spent[3:5].sum() / spent.sum())


def faiss_search(X: np.ndarray, k: int) -> Callable[[], Any] | None:
    """Return the search by faiss's exact index, in single precision; None where it is not installed."""
    try:
        import faiss
    except ImportError:
        return None

    def search() -> Any:
        rows = X.astype(np.float32)
        index = faiss.IndexFlatL2(rows.shape[1])
        index.add(rows)
        return index.search(rows, k + 1)

    return search


def embeddings() -> dict[str, Callable[[], Any] | None]:
    """Fits of digits in two dimensions; None for what is not installed."""
    from shopca_rs import SHOPCA
    from sklearn.datasets import load_digits
    from sklearn.decomposition import PCA
    from sklearn.manifold import Isomap

    X = load_digits().data
    fits: dict[str, Callable[[], Any] | None] = {
        "PCA(2)": lambda: PCA(2).fit(X),
        "SHOPCA(2)": lambda: SHOPCA(2).fit(X),
        "SHOPCA(2, max_features=None)": lambda: SHOPCA(2, max_features=None).fit(X),
        "Isomap(n_components=2)": lambda: Isomap(n_components=2).fit(X),
    }
    try:
        from umap import UMAP
    except ImportError:
        return fits | {"UMAP(n_components=2)": None}
    UMAP(n_components=2).fit(X[:200])  # compiles
    return fits | {"UMAP(n_components=2)": lambda: UMAP(n_components=2).fit(X)}


def resident(field: str) -> int:
    """VmRSS or its peak VmHWM in bytes. Unlike ru_maxrss, VmHWM is reset in a child process."""
    status = Path("/proc/self/status")
    if not status.exists():
        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    line = next(line for line in status.read_text().splitlines() if line.startswith(field))
    return int(line.split()[1]) * 1024


def forget_peak() -> None:
    """Reset VmHWM, where Linux allows it."""
    if (place := Path("/proc/self/clear_refs")).exists():
        place.write_text("5")


def _seconds(call: Callable[[], Any]) -> float:
    start = perf_counter()
    call()
    return perf_counter() - start
