"""Where the k-d tree is faster than brute force: the tables behind ``algorithm="auto"``.

``python benches/crossover.py [--rows N ...] [--columns D ...] [--neighbors K] [--levels L]`` prints brute
force's time divided by the tree's on a normal cloud, k = log2 n if not given: above 1 the tree wins. With
``--levels`` the points are whole numbers below L, so that many of them coincide. ``--auto`` prints the times
of both and of "auto" on clouds of many kinds.
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


def clouds(n: int, d: int) -> dict[str, np.ndarray]:
    """Clouds of many kinds: some that single precision tells apart, some that it does not."""
    rng = np.random.default_rng(0)
    normal = rng.normal(size=(n, d))
    side = round(n ** (1 / d))
    half = np.arange(n)[:, None] % 2
    return {
        "normal": normal,
        "sphere": normal / np.linalg.norm(normal, axis=1, keepdims=True),
        "heavy tails": rng.standard_cauchy(size=(n, d)),
        "far from the origin": normal + 1e6,
        "lattice": np.stack(np.meshgrid(*[np.arange(side) * 1.0] * d), axis=-1).reshape(-1, d),
        "16 copies": np.repeat(normal[: n // 16], 16, axis=0),
        "100 copies": np.repeat(normal[: n // 100], 100, axis=0),
        "5000 copies": np.repeat(normal[: n // 5000], 5000, axis=0),
        "a fifth zero": normal * (np.arange(n)[:, None] % 5 > 0),
        "two scales": normal * np.where(half, 1e-6, 1.0),
        "clusters far apart": 1e-3 * normal + 1e4 * half,
    }


def compare_auto(n: int, d: int, k: int) -> None:
    print(f"n = {n}, d = {d}, k = {k}\n\n| cloud | brute | kd_tree | auto |\n|---|---:|---:|---:|")
    for name, X in clouds(n, d).items():
        times = [seconds(X, k, algorithm, 2) * 1e3 for algorithm in ("brute", "kd_tree", "auto")]
        print(f"| {name} | " + " | ".join(f"{time:.0f} ms" for time in times) + " |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=ROWS)
    parser.add_argument("--columns", type=int, nargs="+", default=COLUMNS)
    parser.add_argument("--neighbors", type=int, help="k for every n instead of log2 n")
    parser.add_argument("--levels", type=int, help="whole numbers below this instead of a normal cloud")
    parser.add_argument(
        "--auto", action="store_true", help="many kinds of clouds, in three columns if not said otherwise"
    )
    options = parser.parse_args()
    if options.auto:
        for n in options.rows if options.rows is not ROWS else (50_000,):
            for d in options.columns if options.columns is not COLUMNS else (3,):
                compare_auto(n, d, options.neighbors or round(np.log2(n)))
        return
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
