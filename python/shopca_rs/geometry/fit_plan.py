"""How curvature is estimated: intrinsic dimension, k, order and stages, given or chosen from the points."""

from __future__ import annotations

import warnings
from math import comb
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..arguments import as_choice, as_count
from .dimension import IntrinsicDimension

ORDERS = (2, 3, 4)
# The order of the potential in the second stage.
CUBIC = 3

# Points at which k is chosen, and at which the intrinsic dimension is estimated.
SAMPLE = 200
DIMENSION_SAMPLE = 2000
DIMENSION_NEIGHBORS = 20

# Two stages where noise is at least this share of the estimated error of one.
NOISY = 0.5
# k of the first stage relative to the best k of one stage, and of the second relative to the first. They and
# NOISY come from experiments on surfaces with known curvature, and were not tuned again here.
FIRST_STAGE = 1.4
SECOND_STAGE = 0.5

# The response of both stages to noise is measured with this many added columns at this many points.
RESPONSE_COLUMNS = 8
RESPONSE_POINTS = 10
RESPONSE_SIZE = 1e-6


class Plan(NamedTuple):
    """The settings of an estimate.

    Attributes
    ----------
    stages : int
        1 or 2.
    order : int
        Degree of the polynomial, that of the first stage with two.
    n_neighbors : int
        Neighbours of a fit, of the first stage with two.
    second_neighbors : int or None
        Foot points of the second stage.
    noise_share : float or None
        The fraction of noise in the estimated squared error of one stage; None where k was given.
    """

    stages: int
    order: int
    n_neighbors: int
    second_neighbors: int | None
    noise_share: float | None


def unknowns(intrinsic_dim: int, order: int) -> int:
    """Return the number of coefficients of a polynomial in `intrinsic_dim` variables."""
    return comb(intrinsic_dim + order, order)


class Cloud(Protocol):
    """A point cloud on which settings can be tried, in memory or elsewhere."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        ...

    def dimension(self, rows: NDArray[np.int64], k: int) -> IntrinsicDimension:
        """Estimate the intrinsic dimension at some rows from k neighbours."""
        ...

    def scales(self, rows: NDArray[np.int64], m: int, order: int) -> NDArray[np.float64]:
        """Estimate the errors of fits at some rows for growing k: the table of `_core.fit_scales`."""
        ...

    def responses(self, rows: NDArray[np.int64], m: int, plan: Plan, seed: int) -> NDArray[np.float64]:
        """Return the `noise_response` at each of some rows, of shape (rows, 2)."""
        ...


def choose_dimension(cloud: Cloud, intrinsic_dim: Any, seed: int) -> int:
    """Return the intrinsic dimension as given, or estimated at a sample of the points."""
    n, d = cloud.shape
    if d < 2:
        raise ValueError(f"X must have at least 2 columns (curvature needs a normal direction), got {d}.")
    if isinstance(intrinsic_dim, str):
        as_choice(intrinsic_dim, "intrinsic_dim", ("auto",))
        if n < 4:
            raise ValueError(
                f"X must have at least 4 rows to estimate its dimension, got {n}. Give intrinsic_dim."
            )
        rows = sample_rows(n, DIMENSION_SAMPLE, seed)
        found = cloud.dimension(rows, min(DIMENSION_NEIGHBORS, n - 1))
        if found.dimension >= d:
            warnings.warn(
                f"The points seem to fill all {d} dimensions (estimate {found.estimate:.2f}). Curvature "
                f"is that of a hypersurface of dimension {d - 1}; give intrinsic_dim if they are noisy "
                "points of a surface of lower dimension.",
                stacklevel=3,
            )
        return int(min(found.dimension, d - 1))
    m = as_count(intrinsic_dim, "intrinsic_dim", 1)
    if m >= d:
        raise ValueError(
            f"intrinsic_dim must be from 1 to d − 1 = {d - 1} (curvature needs a normal direction), got {m}."
        )
    return m


def sample_rows(n: int, size: int, seed: int) -> NDArray[np.int64]:
    """Return rows chosen at random, in random order."""
    return np.random.RandomState(seed).permutation(n)[:size].astype(np.int64)


def choose_plan(
    cloud: Cloud,
    m: int,
    n_neighbors: int | Literal["auto"],
    stages: int | Literal["auto"],
    order: int | Literal["auto"],
    seed: int,
) -> Plan:
    """Return stages, order and k: as given, or those with the least estimated error."""
    n = cloud.shape[0]
    if n_neighbors != "auto":
        return given_plan(n, m, n_neighbors, stages, order)
    rows = sample_rows(n, SAMPLE, seed)
    degree = CUBIC if order == "auto" else order
    tried = cloud.scales(rows, m, degree)
    if len(tried) == 0 and order == "auto":
        degree = 2
        tried = cloud.scales(rows, m, degree)
    if len(tried) == 0:
        q = unknowns(m, degree)
        # Is a fit to all rows possible?
        given = "n_neighbors, or " if n >= q else ""
        raise ValueError(
            f'X must have at least {round(4.5 * q)} rows for n_neighbors="auto": a fit of order {degree} '
            f"in {m} dimensions has {q} unknowns and needs about {round(1.5 * q)} neighbours, at "
            f"most a third of the rows; got {n}. Give {given}a smaller intrinsic_dim if {m} was estimated."
        )
    best = tried[np.argmin(tried[:, 1])]
    k, error = int(best[0]), float(best[1])
    share = float(best[2] / error) if 0 < error < np.inf else 0.0
    if stages == 2 or (stages == "auto" and order in ("auto", CUBIC) and degree == CUBIC and share >= NOISY):
        k1 = max(int(min(FIRST_STAGE * k, n // 3)), k)
        return Plan(2, degree, k1, second_neighbors(m, k1), share)
    if order == "auto" and degree == CUBIC and share < NOISY:
        quartic = cloud.scales(rows, m, 4)
        if len(quartic) and quartic[:, 1].min() < error:
            return Plan(1, 4, int(quartic[np.argmin(quartic[:, 1]), 0]), None, share)
    return Plan(1, degree, k, None, share)


def given_plan(n: int, m: int, k: int, stages: int | Literal["auto"], order: int | Literal["auto"]) -> Plan:
    """Return the plan for a given k: one stage, of order 3 where k is 1.5 times its unknowns, else 2."""
    if order == "auto":
        order = CUBIC if k + 1 >= 1.5 * unknowns(m, CUBIC) or stages == 2 else 2
    q = unknowns(m, order)
    if k > n - 1:
        raise ValueError(
            f"n_neighbors must be at most n − 1 = {n - 1} (the point itself is not its neighbour), got {k}."
        )
    smaller = ["a lower order"] if order > ORDERS[0] else []
    smaller.append("a smaller intrinsic_dim")
    if n < q:
        raise ValueError(
            f"X must have at least {q} rows: a fit of order {order} in {m} dimensions has {q} unknowns; "
            f"got {n}. Use {' or '.join(smaller)}."
        )
    if k + 1 < q:
        raise ValueError(
            f"n_neighbors must be at least {q - 1}: a fit of order {order} in {m} dimensions has {q} "
            f"unknowns; got {k}. Use more neighbours, {', '.join(smaller)}, or operator_curvatures(X, k) "
            "for the paper's operator, which was curvatures(X, k) in earlier versions."
        )
    enough = int(np.ceil(1.5 * q)) - 1
    if k < enough:
        rows = f", more than {n} rows have" if enough > n - 1 else ""
        warnings.warn(
            f"n_neighbors = {k} is few for a fit of order {order} in {m} dimensions, which has {q} "
            f"unknowns: expect large errors below {enough} neighbours{rows}.",
            stacklevel=4,
        )
    if stages == 2:
        return Plan(2, order, k, second_neighbors(m, k), None)
    return Plan(1, order, k, None, None)


def second_neighbors(m: int, k1: int) -> int:
    """Return how many foot points the second stage takes."""
    return int(max(unknowns(m, CUBIC), SECOND_STAGE * k1))


def variance_ratio(cloud: Cloud, m: int, plan: Plan, seed: int) -> float:
    """Return the noise in |II|² after two stages, relative to the noise after the first.

    The tangent spaces of neighbours share most of their points. So their errors are not independent, and the
    residuals of the second fit do not show them. But both stages respond linearly to small noise, see
    `noise_response`.
    """
    rows = sample_rows(cloud.shape[0], RESPONSE_POINTS, seed)
    responses = cloud.responses(rows, m, plan, seed)
    second, first = responses[~np.isnan(responses).any(axis=1)].T
    if not np.isfinite(first).all() or not first.sum() > 0:
        return 1.0
    return float(second.sum() / first.sum())


def noise_response(
    around: NDArray[np.float64], place: int, m: int, plan: Plan, seed: tuple[int, int], threads: int
) -> tuple[float, float]:
    """Return what unit noise in one column adds to |II|² at a point, after two stages and after the first.

    Columns of tiny noise are appended to the points, and II in these columns is the response. Neighbours are
    those without the noise.

    Parameters
    ----------
    around : ndarray of shape (n, d)
        The point and all points that its two stages use: the neighbours of all its foot points.
    place : int
        Its row among them.
    m, plan
        How both stages are made.
    seed : pair of int
        Seed of the noise: that of the call, and the number of the point.
    threads : int
        Number of threads.

    Returns
    -------
    second, first : float
        NaN where the neighbours do not determine the fits.
    """
    n, d = around.shape
    size = RESPONSE_SIZE * float(np.ptp(around, axis=0).max())
    noise = np.random.RandomState(seed).standard_normal((n, RESPONSE_COLUMNS))
    (record,) = _core.two_stage_forms(
        x=np.concatenate([around, size * noise], axis=1),
        k=plan.n_neighbors,
        second=plan.second_neighbors or 0,
        intrinsic_dim=m,
        order=plan.order,
        variance_ratio=1.0,
        scalars=False,
        points=np.array([place], dtype=np.int64),
        algorithm="auto",
        n_jobs=threads,
        progress=None,
        columns=d,
    )
    if record[0] != 1:
        return np.nan, np.nan
    width = d + RESPONSE_COLUMNS
    form = record[-m * m * width :].reshape(m, m, width)[..., d:] / size
    with np.errstate(divide="ignore", invalid="ignore"):
        first = record[3] / record[2] / (width - m)
    return float((form**2).sum()) / RESPONSE_COLUMNS, float(first)
