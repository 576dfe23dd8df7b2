"""A whole fit of LPP against its neighbour search, and where the rest of its time goes.

Usage: python benches/lpp.py [rows [columns]]; 200 000 × 20 by default, everything in one process.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from statistics import median
from time import perf_counter, process_time
from typing import Any

import numpy as np
from shopca_rs import LPP, k_neighbors, resolution
from shopca_rs.estimators.neighbor_graph import degree_covariance, local_scatter, neighbor_graph

REPEATS = 3


def timed(call: Callable[..., Any], *arguments: Any) -> tuple[float, float, Any]:
    """Return the wall-clock time, the CPU time of all threads, and the result."""
    clock, processors = perf_counter(), process_time()
    result = call(*arguments)
    return perf_counter() - clock, process_time() - processors, result


def told(name: str, clock: float, processors: float) -> str:
    return f"{name:30} {clock:8.2f} s {processors:8.2f} s CPU"


def main() -> None:
    given = [int(text) for text in sys.argv[1:]]
    rows, columns = given + [200_000, 20][len(given) :]
    X = np.random.default_rng(0).normal(size=(rows, columns))
    k = LPP()._resolve_neighbors(rows)
    # In turns, so that what else the machine does slows both.
    searches, fits = [], []
    for _ in range(REPEATS):
        searches.append(timed(k_neighbors, X, k)[:2])
        fits.append(timed(LPP().fit, X)[:2])
    search, fit = ([median(column) for column in zip(*runs, strict=True)] for runs in (searches, fits))
    print(f"{rows} x {columns}, k = {k}, medians of {REPEATS}")
    print(told("neighbour search", *search))
    print(told("LPP().fit", *fit) + f"   {fit[0] / search[0]:.2f} x the search (wanted: 1.20)")

    neighbors, _ = k_neighbors(X, k)
    *seconds, graph = timed(neighbor_graph, neighbors)
    print(told(f"\n{len(graph.first)} edges of the graph", *seconds))
    print(told("scatter along the edges", *timed(local_scatter, X, graph)[:2]))
    print(told("covariance by degrees", *timed(degree_covariance, X, graph)[:2]))
    print(told("resolution of the columns", *timed(resolution, X)[:2]))


if __name__ == "__main__":
    main()
