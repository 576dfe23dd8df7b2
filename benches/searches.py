"""The neighbour search beside the fastest exact searches that can be installed, in one process.

``python benches/searches.py [--digits FILE.npz] [--shapes NAME ...]`` prints the seconds of each, with all
rows as queries and the index built anew, and ours divided by the fastest of the others: scikit-learn's three
algorithms (from some of their queries), SciPy's cKDTree, and faiss's flat index, usearch's exact search and
pykdtree where they are installed.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from importlib.util import find_spec
from time import perf_counter

import numpy as np
from rivals import SEARCHES, estimate_search, faiss_search
from scipy.spatial import cKDTree
from shopca_rs import k_neighbors
from sklearn.datasets import load_digits

ROUNDS = 3
# Columns up to which a tree can win, multiply-adds up to which exhaustive search is tried, and rows up to
# which usearch, which holds all distances, has memory.
MOST_COLUMNS_FOR_TREES = 12
MOST_PRODUCT = 1.6e11
MOST_ROWS_FOR_USEARCH = 20_000


def sheet(n: int, columns: int) -> np.ndarray:
    """Sample a curved surface in many columns."""
    rng = np.random.default_rng(0)
    u = rng.random((n, 2))
    return np.sin(u @ rng.normal(size=(2, columns)) * 2 + rng.random(columns)) + 0.001 * rng.normal(
        size=(n, columns)
    )


def normal(n: int, columns: int) -> np.ndarray:
    """Draw a normal cloud."""
    return np.random.default_rng(0).normal(size=(n, columns))


def sphere(n: int) -> np.ndarray:
    """Draw points on the unit sphere in R³."""
    X = normal(n, 3)
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def digits(path: str | None) -> np.ndarray:
    """Read images of digits from a file that has them as X, or take scikit-learn's small ones."""
    return np.load(path)["X"].astype(float) if path else load_digits().data


def shapes(path: str | None) -> dict[str, tuple[Callable[[], np.ndarray], tuple[int, ...]]]:
    """Make each cloud, and name the numbers of neighbours it is searched for."""
    clouds: dict[str, tuple[Callable[[], np.ndarray], tuple[int, ...]]] = {
        "digits": (lambda: digits(path), (14,)),
        "normal 50 000 × 50": (lambda: normal(50_000, 50), (16,)),
        "normal 6430 × 36": (lambda: normal(6430, 36), (13,)),
        "normal 100 000 × 8": (lambda: normal(100_000, 8), (17,)),
        "sheet 200 000 × 10": (lambda: sheet(200_000, 10), (18,)),
        "sheet 500 000 × 8": (lambda: sheet(500_000, 8), (19,)),
    }
    for n in (300_000, 1_000_000):
        clouds[f"sphere {n}"] = (lambda n=n: sphere(n), (10, 30, 100))
        clouds[f"R² {n}"] = (lambda n=n: normal(n, 2), (10, 30, 100))
    return clouds


def others(X: np.ndarray, k: int) -> dict[str, Callable[[], object]]:
    """Collect the searches that are worth a try for this shape."""
    searches: dict[str, Callable[[], object]] = {}
    if X.shape[1] <= MOST_COLUMNS_FOR_TREES:
        searches["cKDTree"] = lambda: cKDTree(X).query(X, k + 1, workers=-1)
        if find_spec("pykdtree"):
            from pykdtree.kdtree import KDTree

            searches["pykdtree"] = lambda: KDTree(X).query(X, k + 1)
    if len(X) ** 2 * X.shape[1] <= MOST_PRODUCT:
        if faiss := faiss_search(X, k):
            searches["faiss"] = faiss
        if find_spec("usearch") and len(X) <= MOST_ROWS_FOR_USEARCH:
            from usearch.index import search

            rows = X.astype(np.float32)
            searches["usearch"] = lambda: search(rows, rows, k + 1, metric="l2sq", exact=True, threads=0)
    return searches


def seconds(call: Callable[[], object]) -> float:
    start = perf_counter()
    call()
    return perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--digits", metavar="FILE", help="npz file with the images of digits as X")
    parser.add_argument("--shapes", nargs="+", help="only the shapes whose names begin with one of these")
    options = parser.parse_args()
    print("| cloud | k | ours | fastest other | ratio | all others |\n|---|---:|---:|---|---:|---|")
    for name, (make, all_k) in shapes(options.digits).items():
        if options.shapes and not name.startswith(tuple(options.shapes)):
            continue
        X = make()
        for k in all_k:
            rivals = others(X, k)
            ours = np.inf
            times = dict.fromkeys(rivals, np.inf)
            for _ in range(ROUNDS):
                ours = min(ours, seconds(lambda X=X, k=k: k_neighbors(X, k)))
                for rival, call in rivals.items():
                    times[rival] = min(times[rival], seconds(call))
            exhaustive = len(X) ** 2 * X.shape[1] <= MOST_PRODUCT
            ways = [way for way in SEARCHES if exhaustive or way != "brute"]
            times |= {f"scikit-learn {way}": estimate_search(X, k, way) for way in ways}
            fastest = min(times, key=times.__getitem__)
            rest = ", ".join(f"{rival} {time:.2g}" for rival, time in times.items() if rival != fastest)
            best = times[fastest]
            print(
                f"| {name} | {k} | {ours:.2f} s | {fastest} {best:.2f} s | {ours / best:.2f} | {rest} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
