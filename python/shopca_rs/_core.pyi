# The native half of the package. Arguments arrive checked: see arguments.py and operators.py.
from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "k_neighbors",
    "local_shape_operators",
    "mean_shape_operator",
    "principal_curvatures",
    "sampled_shape_operator",
    "shape_sum",
]

_Progress = Callable[[int, int], object]
_Degenerate = Literal["average", "lapack"]
_Algorithm = Literal["auto", "kd_tree", "brute"]

def k_neighbors(
    x: NDArray[np.float64],
    k: int,
    queries: NDArray[np.float64] | None,
    points: NDArray[np.int64] | None,
    algorithm: _Algorithm,
    n_jobs: int,
    progress: _Progress | None,
    bounds: NDArray[np.float64] | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.float64]]: ...
def mean_shape_operator(
    x: NDArray[np.float64],
    k: int,
    degenerate: _Degenerate,
    algorithm: _Algorithm,
    neighbors: NDArray[np.int64] | None,
    n_jobs: int,
    progress: _Progress | None,
) -> NDArray[np.float64]: ...
def local_shape_operators(
    x: NDArray[np.float64],
    k: int,
    points: NDArray[np.int64] | None,
    degenerate: _Degenerate,
    algorithm: _Algorithm,
    neighbors: NDArray[np.int64] | None,
    n_jobs: int,
    progress: _Progress | None,
) -> NDArray[np.float64]: ...
def sampled_shape_operator(
    x: NDArray[np.float64],
    k: int,
    points: NDArray[np.int64],
    degenerate: _Degenerate,
    algorithm: _Algorithm,
    neighbors: NDArray[np.int64] | None,
    n_jobs: int,
    progress: _Progress | None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...
def shape_sum(
    x: NDArray[np.float64],
    neighbors: NDArray[np.int64],
    degenerate: _Degenerate,
    n_jobs: int,
    progress: _Progress | None,
) -> NDArray[np.float64]: ...
def principal_curvatures(
    x: NDArray[np.float64],
    k: int,
    degenerate: _Degenerate,
    algorithm: _Algorithm,
    neighbors: NDArray[np.int64] | None,
    n_jobs: int,
    progress: _Progress | None,
) -> NDArray[np.float64]: ...
