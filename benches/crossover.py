"""Where the k-d tree stops being faster than brute force: the table behind ``algorithm="auto"``.

``python benches/crossover.py [--rows N ...] [--columns D ...] [--neighbors K] [--levels L]`` prints brute
force's time divided by the tree's on a normal cloud, k = log2 n if not given: above 1 the tree wins. With
``--levels`` the points are whole numbers below L, so that many of them coincide.
"""

from __future__ import annotations

import argparse
from time import perf_counter

import numpy as np
from shopca_rs import k_neighbors

ROWS = (500, 2_000, 8_000, 32_000, 128_000)
COLUMNS = (2, 3, 4, 5, 6, 7, 8)


def seconds(X: np.ndarray, k: int, algorithm: str, repeats: int) -> float:
    times = []
    for _ in range(repeats):
        start = perf_counter()
        k_neighbors(X, k, algorithm=algorithm)
        times.append(perf_counter() - start)
    return min(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=ROWS)
    parser.add_argument("--columns", type=int, nargs="+", default=COLUMNS)
    parser.add_argument("--neighbors", type=int, help="k for every n instead of log2 n")
    parser.add_argument("--levels", type=int, help="whole numbers below this instead of a normal cloud")
    options = parser.parse_args()
    print("n \\ d   " + "".join(f"{d:8d}" for d in options.columns))
    for n in options.rows:
        k, repeats = options.neighbors or round(np.log2(n)), max(1, 50_000 // n)
        ratios = []
        for d in options.columns:
            rng = np.random.default_rng(0)
            X = rng.integers(options.levels, size=(n, d)) * 1.0 if options.levels else rng.normal(size=(n, d))
            ratios.append(seconds(X, k, "brute", repeats) / seconds(X, k, "kd_tree", repeats))
        print(f"{n:7d} " + "".join(f"{ratio:8.2f}" for ratio in ratios), flush=True)


if __name__ == "__main__":
    main()
