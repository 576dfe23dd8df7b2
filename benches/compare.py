"""The mean shape operator against NumPy: both sides in one process, neighbours included, ratios printed.

Run it with ``make bench``, or ``python benches/compare.py --repeats 5``. NumPy runs the paper's Algorithms 1
and 2 (`tests/reference.py`) on scikit-learn's neighbours, Algorithm 2 at the best of several batch sizes.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from shopca_rs import k_neighbors, mean_shape_operator
from sklearn.neighbors import NearestNeighbors

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from reference import algorithm_1, algorithm_2

SHAPES = [(6430, 36, 13), (2000, 100, 11), (10992, 16, 13)]
BATCHES = (4, 16, 64, 256)


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    start = perf_counter()
    result = call()
    return perf_counter() - start, result


def numpy_neighbors(X: np.ndarray, k: int) -> np.ndarray:
    return NearestNeighbors(n_neighbors=k, n_jobs=-1).fit(X).kneighbors(return_distance=False)


def best_batch(X: np.ndarray, k: int) -> int:
    """Return the batch size at which Algorithm 2 is fastest on a part of the data."""
    part = X[: min(len(X), 1024)]
    indices = numpy_neighbors(part, k)
    return min(BATCHES, key=lambda batch: timed(lambda: algorithm_2(part, k, batch, indices))[0])


def compare(n: int, d: int, k: int, repeats: int) -> None:
    X = np.random.default_rng(0).normal(size=(n, d))
    batch = best_batch(X, k)
    first, _ = timed(lambda: algorithm_1(X, k, numpy_neighbors(X, k)))
    ours, search, theirs = [], [], []
    for _ in range(repeats):
        ours.append(timed(lambda: mean_shape_operator(X, k))[0])
        search.append(timed(lambda: k_neighbors(X, k))[0])
        theirs.append(timed(lambda: algorithm_2(X, k, batch, numpy_neighbors(X, k)))[0])
    fastest = np.minimum(theirs, first)
    ratios = fastest / np.array(ours)
    print(
        f"n={n:6d} d={d:4d} k={k:3d}"
        f"  ours {np.median(ours) * 1e3:7.1f} ms, of it neighbours {np.median(search) * 1e3:6.1f} ms"
        f"  Algorithm 1 {first:6.2f} s  Algorithm 2 {np.median(theirs):6.2f} s (batch {batch})"
        f"  ratio {np.median(ratios):6.1f}× [{ratios.min():.1f}, {ratios.max():.1f}]",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    for shape in SHAPES:
        compare(*shape, options.repeats)


if __name__ == "__main__":
    main()
