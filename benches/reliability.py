"""The numbers of docs/reliability.md: LAPACK's uninterruptible calls, and the loss of digits by scattering.

Usage: python benches/reliability.py [folder of .npz files ...]
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
from shopca_rs import k_neighbors, local_shape_operators

SIZES = (400, 700, 1000, 1400, 2000)

# As in src/routes.rs: the columns from which on S̄ may be scattered. As in src/scatter: the rows whose medians
# are the centre.
FEWEST_COLUMNS, ROWS_FOR_MEDIANS = 32, 65


def seconds_of_one_frame(size):
    X = np.random.default_rng(0).normal(size=(8, size))
    began = time.perf_counter()
    local_shape_operators(X, 5, points=[0], degenerate="lapack")
    return time.perf_counter() - began


def loss(X):
    """Σ rᵢ Dᵢ / Σ rᵢ² of the standardised rows, with the default number of neighbours."""
    deviation = X.std(axis=0)
    X = (X - X.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0)
    neighbors, _ = k_neighbors(X, max(2, round(np.log2(len(X)))))
    centre = np.median(X[:: -(-len(X) // ROWS_FOR_MEDIANS)], axis=0)
    distances = np.linalg.norm(X - centre, axis=1)[neighbors].max(axis=1)
    sizes = np.linalg.norm(X[neighbors[:, 0]] - X[neighbors[:, -1]], axis=1)
    return (distances * sizes).sum() / (sizes**2).sum()


def main():
    for size in SIZES:
        print(f"one eigenproblem of {size} rows: {seconds_of_one_frame(size):.1f} s")
    losses = []
    for file in (file for folder in sys.argv[1:] for file in sorted(Path(folder).glob("*.npz"))):
        X = np.nan_to_num(np.load(file, allow_pickle=False)["X"][:2000].astype(float))
        if X.shape[1] >= FEWEST_COLUMNS:
            losses.append(loss(X))
    if losses:
        print(f"loss of digits: {min(losses):.1f} to {max(losses):.1f} in {len(losses)} data sets")


if __name__ == "__main__":
    main()
