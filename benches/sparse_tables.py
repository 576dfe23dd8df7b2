"""SHOPCA and LPP on a large sparse table, beside scikit-learn's PCA by ARPACK.

``python benches/sparse_tables.py [--rows N] [--columns D] [--filled F]`` measures each in its own process:
the wall-clock time, the CPU time, and the peak memory beyond what the process had before it made the table.
The bound is four times the sparse data plus n × max_features doubles.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from time import perf_counter, process_time

import numpy as np
from rivals import resident
from scipy import sparse
from shopca_rs import LPP, SHOPCA
from sklearn.decomposition import PCA

FEATURES = 25
MODELS = {
    "PCA(25, svd_solver='arpack')": lambda: PCA(FEATURES, svd_solver="arpack", random_state=0),
    "SHOPCA(max_features=25)": lambda: SHOPCA(max_features=FEATURES),
    "LPP(max_features=25)": lambda: LPP(max_features=FEATURES),
}


def table(n: int, d: int, filled: float) -> sparse.csr_matrix:
    """Return random entries at random places."""
    rng = np.random.default_rng(0)
    each = rng.binomial(d, filled, size=n)
    starts = np.append(0, np.cumsum(each))
    columns = rng.integers(0, d, size=starts[-1], dtype=np.int32)
    X = sparse.csr_matrix((rng.random(starts[-1]), columns, starts.astype(np.int32)), shape=(n, d))
    X.sum_duplicates()
    return X


def one(name: str, n: int, d: int, filled: float) -> None:
    SHOPCA(n_neighbors=2, n_jobs=1).fit(np.random.default_rng(0).normal(size=(20, 3)))  # loads the libraries
    before = resident("VmRSS")
    X = table(n, d, filled)
    stored = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    start, started = perf_counter(), process_time()
    MODELS[name]().fit(X)
    seconds, processor = perf_counter() - start, process_time() - started
    peak, bound = resident("VmHWM") - before, 4 * stored + n * FEATURES * 8
    dense = n * d * 8
    print(
        f"| `{name}` | {seconds:.1f} s | {processor:.1f} s | {peak / 1e6:.0f} MB | {bound / 1e6:.0f} MB "
        f"| {stored / 1e6:.0f} MB | {dense / 1e6:.0f} MB |",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--columns", type=int, default=20_000)
    parser.add_argument("--filled", type=float, default=0.001)
    parser.add_argument("--only", choices=list(MODELS), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.only:
        return one(given.only, given.rows, given.columns, given.filled)
    print(
        "| fit | time | processor time | peak | bound | sparse data | dense copy |\n"
        "|---|---|---|---|---|---|---|",
        flush=True,
    )
    sizes = ["--rows", given.rows, "--columns", given.columns, "--filled", given.filled]
    for name in MODELS:
        subprocess.run([sys.executable, __file__, *map(str, sizes), "--only", name], check=True)
    return None


if __name__ == "__main__":
    main()
