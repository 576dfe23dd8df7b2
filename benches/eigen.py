"""What the eigensolver of single neighbourhoods costs: a frame with all its eigenvectors, sizes 2 to 400.

``python benches/eigen.py`` prints a row of the table in docs/building.md for the build that is installed. It
measures the processor time of one thread, the least of several runs, so that a busy machine disturbs little.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from shopca_rs import _core

SIZES = (2, 4, 8, 13, 16, 25, 36, 48, 60, 100, 150, 200, 300, 400)
# Processor time of one run, about, in seconds: far more than starting a thread takes.
RUN = 0.05


def seconds_of_one_frame(size: int, runs: int) -> float:
    """Return the least time of a frame of `size` columns, from size + 2 points."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(4 * size + 40, size))

    def seconds(count: int) -> float:
        lists = np.array([rng.permutation(len(x))[: size + 2] for _ in range(count)])
        began = time.process_time()
        _core.part_dimensions(x, lists, 1)
        return time.process_time() - began

    count = 1
    while (taken := seconds(count)) < RUN:
        count = max(2 * count, min(int(count * RUN / max(taken, 1e-6)) + 1, 100 * count))
    return min(seconds(count) for _ in range(runs)) / count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=20, help="runs of each size (default: %(default)s)")
    options = parser.parse_args()
    times = [1e6 * seconds_of_one_frame(size, options.runs) for size in SIZES]
    print("| size | " + " | ".join(map(str, SIZES)) + " |")
    print("| µs | " + " | ".join(f"{each:.2g}" if each < 10 else f"{each:.0f}" for each in times) + " |")


if __name__ == "__main__":
    main()
