"""The tree of boxes beside brute force: the table behind the choice that ``algorithm="auto"`` makes.

``python benches/boxes.py`` prints the processor time of "auto" on one thread, that of "brute", and the ratio
on normal clouds, which fill all of their columns, and on surfaces of few dimensions in many columns. Where
"auto" is brute force too, the ratio is about 1.
"""

from __future__ import annotations

from time import process_time

import numpy as np
from shopca_rs import k_neighbors

ROUNDS = 3
SHAPES = (
    ("normal", 10_000, 4, 4),
    ("normal", 100_000, 4, 4),
    ("normal", 10_000, 8, 8),
    ("normal", 100_000, 8, 8),
    ("normal", 50_000, 12, 12),
    ("surface", 100_000, 2, 10),
    ("surface", 100_000, 3, 30),
    ("surface", 50_000, 4, 20),
    ("surface", 50_000, 6, 20),
)


def cloud(kind: str, n: int, dimension: int, columns: int) -> np.ndarray:
    """Draw a normal cloud, or a curved surface of this dimension with a little noise."""
    rng = np.random.default_rng(0)
    if kind == "normal":
        return rng.normal(size=(n, columns))
    u = rng.random((n, dimension)) @ rng.normal(size=(dimension, columns))
    return np.sin(2 * u) + 0.01 * rng.normal(size=(n, columns))


def seconds(X: np.ndarray, k: int, algorithm: str) -> float:
    start = process_time()
    k_neighbors(X, k, algorithm=algorithm, n_jobs=1)
    return process_time() - start


def main() -> None:
    print("| cloud | rows | dimension | columns | k | auto | brute | ratio |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    for kind, n, dimension, columns in SHAPES:
        X = cloud(kind, n, dimension, columns)
        for k in (10, 30):
            times = {"auto": np.inf, "brute": np.inf}
            for _ in range(ROUNDS):
                for algorithm, best in times.items():
                    times[algorithm] = min(best, seconds(X, k, algorithm))
            auto, brute = times.values()
            sizes = f"{n} | {dimension} | {columns} | {k}"
            print(f"| {kind} | {sizes} | {auto:.3f} s | {brute:.3f} s | {auto / brute:.2f} |", flush=True)


if __name__ == "__main__":
    main()
