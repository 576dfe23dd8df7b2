# The native module. The callers validate the arguments: see arguments.py and operators.py.
from collections.abc import Callable
from typing import Literal, Self, final

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "NeighborIndex",
    "continuity",
    "fit_scales",
    "foot_points",
    "force_simd_level",
    "group_cuts",
    "k_neighbors",
    "local_dimensions",
    "local_shape_operators",
    "mean_of_groups",
    "mean_shape_operator",
    "part_dimensions",
    "part_forms",
    "part_penalties",
    "part_quality",
    "part_ranks",
    "part_scale_fits",
    "part_second_stage",
    "penalty_estimate",
    "principal_curvatures",
    "quality",
    "quality_of_counts",
    "quality_of_distances",
    "rows_near",
    "sampled_shape_operator",
    "scale_candidates",
    "scales_of_fits",
    "second_forms",
    "shape_sum",
    "simd_level",
    "simd_levels",
    "squared_distances",
    "trustworthiness",
    "two_stage_forms",
]

_Progress = Callable[[int, int], object]
_Degenerate = Literal["average", "lapack"]
_Algorithm = Literal["auto", "kd_tree", "brute"]

@final
class NeighborIndex:
    def __new__(cls, x: NDArray[np.float64], algorithm: _Algorithm, n_jobs: int) -> Self: ...
    def k_neighbors(
        self, queries: NDArray[np.float64] | None, k: int, n_jobs: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]: ...
    def rows(self) -> NDArray[np.float64]: ...
    def __getnewargs__(self) -> tuple[NDArray[np.float64], str, int]: ...

def k_neighbors(
    x: NDArray[np.float64],
    k: int,
    queries: NDArray[np.float64] | None,
    points: NDArray[np.int64] | None,
    algorithm: _Algorithm,
    n_jobs: int,
    progress: _Progress | None,
    bounds: NDArray[np.float64] | None = None,
    part: bool = False,
    roots: bool = False,
) -> tuple[NDArray[np.int64], NDArray[np.float64]]: ...
def mean_shape_operator(
    x: NDArray[np.float64],
    k: int,
    degenerate: _Degenerate,
    algorithm: _Algorithm,
    neighbors: NDArray[np.int64] | None,
    n_jobs: int,
    progress: _Progress | None,
    include_self: bool = False,
    weights: NDArray[np.float64] | None = None,
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
    include_self: bool = False,
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
    include_self: bool = False,
    weights: NDArray[np.float64] | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...
def shape_sum(
    x: NDArray[np.float64],
    neighbors: NDArray[np.int64],
    degenerate: _Degenerate,
    n_jobs: int,
    progress: _Progress | None,
    weights: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]: ...
def principal_curvatures(
    x: NDArray[np.float64],
    k: int,
    degenerate: _Degenerate,
    algorithm: _Algorithm,
    neighbors: NDArray[np.int64] | None,
    n_jobs: int,
    progress: _Progress | None,
    include_self: bool = False,
) -> NDArray[np.float64]: ...
def second_forms(
    x: NDArray[np.float64],
    k: int,
    intrinsic_dim: int,
    order: int,
    scalars: bool,
    points: NDArray[np.int64] | None,
    algorithm: _Algorithm,
    neighbors: NDArray[np.int64] | None,
    n_jobs: int,
    progress: _Progress | None,
) -> NDArray[np.float64]: ...
def rows_near(
    x: NDArray[np.float64], points: NDArray[np.int64], k: int, algorithm: _Algorithm, n_jobs: int
) -> NDArray[np.int64]: ...
def two_stage_forms(
    x: NDArray[np.float64],
    k: int,
    second: int,
    intrinsic_dim: int,
    order: int,
    variance_ratio: float,
    scalars: bool,
    points: NDArray[np.int64] | None,
    algorithm: _Algorithm,
    n_jobs: int,
    progress: _Progress | None,
    columns: int | None = None,
) -> NDArray[np.float64]: ...
def fit_scales(
    x: NDArray[np.float64],
    intrinsic_dim: int,
    order: int,
    points: NDArray[np.int64],
    algorithm: _Algorithm,
    n_jobs: int,
    progress: _Progress | None,
) -> NDArray[np.float64]: ...
def local_dimensions(
    x: NDArray[np.float64],
    k: int,
    points: NDArray[np.int64] | None,
    algorithm: _Algorithm,
    n_jobs: int,
    progress: _Progress | None,
) -> NDArray[np.float64]: ...
def part_forms(
    x: NDArray[np.float64],
    points: NDArray[np.int64],
    neighbors: NDArray[np.int64],
    intrinsic_dim: int,
    order: int,
    scalars: bool,
    n_jobs: int,
) -> NDArray[np.float64]: ...
def part_second_stage(
    feet: NDArray[np.float64],
    tangents: NDArray[np.float64],
    errors: NDArray[np.float64],
    points: NDArray[np.int64],
    neighbors: NDArray[np.int64],
    intrinsic_dim: int,
    variance_ratio: float,
    scalars: bool,
    n_jobs: int,
) -> NDArray[np.float64]: ...
def foot_points(n: int, second: int) -> int: ...
def scale_candidates(n: int, intrinsic_dim: int, order: int) -> list[int]: ...
def part_scale_fits(
    x: NDArray[np.float64],
    points: NDArray[np.int64],
    neighbors: NDArray[np.int64],
    sizes: list[int],
    intrinsic_dim: int,
    order: int,
    n_jobs: int,
) -> NDArray[np.float64]: ...
def scales_of_fits(
    fits: NDArray[np.float64], sizes: list[int], dim: int, intrinsic_dim: int, order: int
) -> NDArray[np.float64]: ...
def part_dimensions(
    x: NDArray[np.float64], neighbors: NDArray[np.int64], n_jobs: int
) -> NDArray[np.float64]: ...
def trustworthiness(
    x: NDArray[np.float64],
    z: NDArray[np.float64],
    k: int,
    points: NDArray[np.int64] | None,
    n_jobs: int,
    progress: _Progress | None,
) -> tuple[float, float]: ...
def continuity(
    x: NDArray[np.float64],
    z: NDArray[np.float64],
    k: int,
    points: NDArray[np.int64] | None,
    n_jobs: int,
    progress: _Progress | None,
) -> tuple[float, float]: ...
def quality(
    x: NDArray[np.float64],
    z: NDArray[np.float64],
    k: int,
    points: NDArray[np.int64] | None,
    n_jobs: int,
    progress: _Progress | None,
) -> tuple[list[tuple[float, float]], list[NDArray[np.float64]]]: ...
def group_cuts(count: int) -> list[int]: ...
def mean_of_groups(
    sums: list[NDArray[np.float64]], sizes: list[int], weights: list[float], rows: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...
def simd_levels() -> list[str]: ...
def simd_level() -> str: ...
def force_simd_level(name: str | None) -> None: ...
def squared_distances(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]: ...
def part_ranks(
    x: NDArray[np.float64],
    first: int,
    queries: NDArray[np.float64],
    own: NDArray[np.int64],
    squared: NDArray[np.float64],
    targets: NDArray[np.int64],
    n_jobs: int,
) -> NDArray[np.uint32]: ...
def part_penalties(
    x: NDArray[np.float64],
    z: NDArray[np.float64],
    k: int,
    points: NDArray[np.int64],
    reverse: bool,
    n_jobs: int,
) -> NDArray[np.uint64]: ...
def penalty_estimate(penalties: NDArray[np.uint64], k: int, n: int) -> tuple[float, float]: ...
def part_quality(
    x: NDArray[np.float64],
    z: NDArray[np.float64],
    k: int,
    points: NDArray[np.int64],
    sampled: bool,
    n_jobs: int,
) -> tuple[NDArray[np.uint64], NDArray[np.uint64], NDArray[np.uint64], NDArray[np.float64]]: ...
def quality_of_distances(
    in_x: NDArray[np.float64],
    in_z: NDArray[np.float64],
    k: int,
    points: NDArray[np.int64],
    sampled: bool,
) -> tuple[NDArray[np.uint64], NDArray[np.uint64], NDArray[np.uint64], NDArray[np.float64]]: ...
def quality_of_counts(
    pairs: NDArray[np.uint64],
    squares: NDArray[np.uint64],
    penalties: NDArray[np.uint64],
    areas: NDArray[np.float64],
    k: int,
    n: int,
) -> tuple[list[tuple[float, float]], list[NDArray[np.float64]]]: ...
