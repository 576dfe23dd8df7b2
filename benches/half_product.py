"""One product for both sides of a pair: its time over the columns, divided by that of one product for each.

``python benches/half_product.py [--rows N] [--columns D ...] [--neighbors K]`` asks for the neighbours of all
rows of a normal cloud: once as rows, which share their products, and once as queries, which do not.
"""

from __future__ import annotations

import argparse
from time import process_time

import numpy as np
from shopca_rs import k_neighbors

ROUNDS = 4


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=8000)
    parser.add_argument("--columns", type=int, nargs="+", default=[32, 48, 64, 128, 256, 512, 784, 1024])
    parser.add_argument("--neighbors", type=int, default=14)
    options = parser.parse_args()
    print("processor time on one thread\n\n| columns | shared | each | ratio |\n|---:|---:|---:|---:|")
    for columns in options.columns:
        X = np.random.default_rng(0).normal(size=(options.rows, columns))
        k, times = options.neighbors, [np.inf, np.inf]
        for _ in range(ROUNDS):
            for side, (more, queries) in enumerate([(0, None), (1, X)]):
                start = process_time()
                k_neighbors(X, k + more, queries=queries, algorithm="brute", n_jobs=1)
                times[side] = min(times[side], process_time() - start)
        shared, each = times
        print(f"| {columns} | {shared:.2f} s | {each:.2f} s | {shared / each:.2f} |", flush=True)


if __name__ == "__main__":
    main()
