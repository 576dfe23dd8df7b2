"""Exact nearest neighbours: check the arguments, call Rust."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _core
from .arguments import Progress, as_choice, as_count, as_points, as_progress, as_threads

Algorithm = Literal["auto", "kd_tree", "brute"]
ALGORITHMS = ("auto", "kd_tree", "brute")

Result = TypeVar("Result")


def k_neighbors(
    X: ArrayLike,
    k: int,
    *,
    queries: ArrayLike | None = None,
    algorithm: Algorithm = "auto",
    n_jobs: int | None = None,
    progress: Progress = None,
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Exact k nearest neighbours in the Euclidean distance.

    Ties are broken by the smaller row number, so the result depends on the data alone.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Points as rows.
    k : int
        Number of neighbours: 2 to n − 1 for the rows of X themselves, 1 to n with `queries`.
    queries : array-like of shape (q, d), optional
        Points whose neighbours in X are searched. By default the rows of X, each without
        itself.
    algorithm : {"auto", "kd_tree", "brute"}, default="auto"
        How to search; "kd_tree" takes at most 32 columns. The result does not depend on it.
    n_jobs : int, optional
        Number of threads; None or -1 for all cores, -2 for all but one.
    progress : bool or callable, optional
        True shows a progress bar; a callable is called with (done, total).

    Returns
    -------
    indices : ndarray of int, shape (q, k)
        Row numbers in X, nearest first.
    distances : ndarray of shape (q, k)
        Their distances.

    Examples
    --------
    >>> from shopca_rs import k_neighbors
    >>> indices, distances = k_neighbors([[0.0], [1.0], [3.0], [7.0]], k=2)
    >>> indices.tolist()
    [[1, 2], [0, 2], [1, 0], [2, 1]]
    """
    arguments = {
        "x": as_points(X),
        "k": as_count(k, "k", 2 if queries is None else 1),
        "queries": None if queries is None else as_points(queries, "queries"),
        "points": None,
        "algorithm": as_choice(algorithm, "algorithm", ALGORITHMS),
        "n_jobs": as_threads(n_jobs),
        "roots": True,
    }
    indices, distances = run_core(_core.k_neighbors, arguments, progress, "neighbours")
    return indices, distances


def run_core(
    function: Callable[..., Result], arguments: dict[str, Any], progress: Progress, description: str
) -> Result:
    """Call the core with a progress bar of this description, or none."""
    with as_progress(progress, description) as report:
        return function(**arguments, progress=report)
