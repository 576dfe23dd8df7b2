"""Curvature of point clouds: check the arguments, choose the settings that are "auto", call Rust."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _core
from ..arguments import (
    Progress,
    as_choice,
    as_count,
    as_flag,
    as_indices,
    as_points,
    as_progress,
    as_threads,
)
from ..neighbors import ALGORITHMS, Algorithm
from .cloud import Table
from .fit_plan import ORDERS, Plan, choose_dimension, choose_plan, variance_ratio
from .forms import Curvatures, SecondFundamentalForm
from .records import curvatures_of_records, form_of_records, warn_flagged

Auto = Literal["auto"]


class _Call(NamedTuple):
    """A call with everything chosen, and its records."""

    table: NDArray[np.float64]
    rows: NDArray[np.int64] | None
    m: int
    plan: Plan
    records: NDArray[np.float64]
    orient: bool
    algorithm: Algorithm
    threads: int

    def signs(self, normals: NDArray[np.float64], valid: NDArray[np.bool_]) -> NDArray[np.float64]:
        # SciPy's graph functions take longer to import than this whole package.
        from .orientation import consistent_signs

        cloud = self.table if self.rows is None else self.table[self.rows]
        return consistent_signs(cloud, normals, valid, self.algorithm, self.threads)


def second_fundamental_form(
    X: ArrayLike,
    n_neighbors: int | Auto = "auto",
    *,
    intrinsic_dim: int | Auto = "auto",
    stages: int | Auto = "auto",
    order: int | Auto = "auto",
    orient: bool = False,
    points: ArrayLike | None = None,
    neighbors: ArrayLike | None = None,
    algorithm: Algorithm = "auto",
    n_jobs: int | None = None,
    progress: Progress = None,
    random_state: int = 0,
) -> SecondFundamentalForm:
    """Second fundamental form of a point cloud, for any intrinsic dimension and any number of columns.

    Around each point, the neighbours are weighted by distance and their leading directions give a first
    tangent space. A polynomial is fitted to the normal coordinates: its slopes correct the tangent space and
    its second derivatives are II. Noisy clouds get a second stage, which fits how the tangent spaces of
    neighbours tilt.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Points as rows, in at least 2 columns.
    n_neighbors : int or "auto", default="auto"
        Number of neighbours of each fit. "auto" takes the one with the smallest error, estimated at
        200 points from the difference between two scales and the part of it that is noise.
    intrinsic_dim : int or "auto", default="auto"
        The dimension m of the surface, from 1 to d − 1. "auto" estimates it, see `intrinsic_dimension`. A
        wrong dimension gives meaningless results, so check the one that was used.
    stages : {1, 2, "auto"}, default="auto"
        "auto" is 2 where noise is at least half of the estimated error of one stage, and 1 where
        `n_neighbors`, an `order` other than 3 or `neighbors` is given.
    order : {2, 3, 4, "auto"}, default="auto"
        Degree of the polynomial. "auto" is 3, or 4 if its estimated error is smaller, or 2 with few
        neighbours.
    orient : bool, default=False
        In codimension 1, orient the normals consistently over the whole cloud, instead of along the mean
        curvature vector of each point.
    points : array-like of int, shape (p,), optional
        Rows at which to estimate the forms; all by default.
    neighbors : array-like of int, shape (n, k), optional
        Precomputed neighbours, used as given in one stage.
    algorithm : {"auto", "kd_tree", "brute"}, default="auto"
        How the neighbours are searched. The result does not depend on it.
    n_jobs : int, optional
        Number of threads; None or -1 for all cores, -2 for all but one. The result does not depend on
        it.
    progress : bool or callable, optional
        True shows a progress bar; a callable is called with (done, total).
    random_state : int, default=0
        Seed of the samples of points at which the settings are chosen.

    Returns
    -------
    SecondFundamentalForm
        `tangent` (p, d, m), `form` (p, m, m, d), `standard_error` (p,), `valid` (p,) and quantities derived
        from them.

    See Also
    --------
    intrinsic_dimension : The dimension of the cloud.

    Notes
    -----
    The standard error covers noise, not bias. Near the edge of a patch, errors are several times larger.
    Where the neighbours do not determine the fit, on grids or among duplicates, or in two stages where their
    tangent spaces disagree, the point is flagged and its numbers are NaN.

    References
    ----------
    .. [1] F. Cazals and M. Pouget, "Estimating differential quantities using polynomial fitting of osculating
       jets", Computer Aided Geometric Design 22, 2005.
    .. [2] E. Aamari and C. Levrard, "Nonasymptotic rates for manifold, tangent space and curvature
       estimation", Annals of Statistics 47, 2019.
    .. [3] G. Guennebaud and M. Gross, "Algebraic point set surfaces", ACM Transactions on Graphics 26, 2007.
    .. [4] H. Hoppe, T. DeRose, T. Duchamp, J. McDonald and W. Stuetzle, "Surface reconstruction from
       unorganized points", SIGGRAPH 1992.

    Examples
    --------
    >>> import numpy as np
    >>> from shopca_rs import second_fundamental_form
    >>> sphere = np.random.default_rng(0).normal(size=(2000, 3))
    >>> sphere *= 2 / np.linalg.norm(sphere, axis=1, keepdims=True)
    >>> bent = second_fundamental_form(sphere)
    >>> bent.intrinsic_dim, bent.form.shape
    (2, (2000, 2, 2, 3))
    >>> bool(np.allclose(bent.scalar_curvature, 2 / 2**2))
    True
    """
    call = _run(
        X,
        n_neighbors,
        intrinsic_dim,
        stages,
        order,
        orient,
        points,
        neighbors,
        algorithm,
        n_jobs,
        progress,
        random_state,
        scalars=False,
    )
    result = SecondFundamentalForm(**form_of_records(call.records, call.table.shape[1], call.m, call.plan))
    if call.orient:
        result.__dict__["signs"] = call.signs(result.normal, result.valid)
        del result.__dict__["normal"]
    return result


def curvatures(
    X: ArrayLike,
    n_neighbors: int | Auto = "auto",
    *,
    intrinsic_dim: int | Auto = "auto",
    stages: int | Auto = "auto",
    order: int | Auto = "auto",
    orient: bool = False,
    points: ArrayLike | None = None,
    neighbors: ArrayLike | None = None,
    algorithm: Algorithm = "auto",
    n_jobs: int | None = None,
    progress: Progress = None,
    random_state: int = 0,
    **removed: Any,
) -> Curvatures:
    """Mean, scalar, Gaussian and principal curvatures of a point cloud.

    The scalars of `second_fundamental_form`, without storing the forms.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Points as rows, in at least 2 columns.
    n_neighbors : int or "auto", default="auto"
        Number of neighbours of each fit.
    intrinsic_dim : int or "auto", default="auto"
        The dimension m of the surface, from 1 to d − 1; "auto" estimates it.
    stages, order, orient, points, neighbors, algorithm, n_jobs, progress, random_state
        As in `second_fundamental_form`.
    **removed
        None accepted: arguments of the former function of this name raise an error with a hint.

    Returns
    -------
    Curvatures
        `mean` (|H|), `scalar`, `gaussian` (m = 2), `principal` and `normal` (d = m + 1), `squared_norm`,
        `standard_error`, `valid`, each with one row or entry per point, and how they were estimated.

    Examples
    --------
    >>> import numpy as np
    >>> from shopca_rs import curvatures
    >>> sphere = np.random.default_rng(0).normal(size=(2000, 3))
    >>> sphere *= 2 / np.linalg.norm(sphere, axis=1, keepdims=True)
    >>> bent = curvatures(sphere)
    >>> bool(np.allclose(bent.mean, 1 / 2)), bool(np.allclose(bent.gaussian, 1 / 4))
    (True, True)
    """
    _refuse_removed(removed)
    call = _run(
        X,
        n_neighbors,
        intrinsic_dim,
        stages,
        order,
        orient,
        points,
        neighbors,
        algorithm,
        n_jobs,
        progress,
        random_state,
        scalars=True,
    )
    found = curvatures_of_records(call.records, call.table.shape[1], call.m, call.plan)
    if call.orient:
        signs = call.signs(found["normal"], found["valid"])
        found["normal"] = found["normal"] * signs[:, None]
        found["principal"] = np.sort(found["principal"] * signs[:, None], axis=1)
        found["mean"] = found["mean"] * signs
    return Curvatures(**found)


def _refuse_removed(options: dict[str, Any]) -> None:
    """Reject unknown arguments, with a hint for those of `operator_curvatures`, the former `curvatures`."""
    for name in options:
        if name in ("k", "degenerate"):
            raise TypeError(
                f"curvatures() has no argument {name}. For the curvature of the surface that the points lie "
                "on, use curvatures(X, n_neighbors=...); for that of the paper's shape operator, which had "
                f"this name in earlier versions, use operator_curvatures(X, k)."
            )
        raise TypeError(f"curvatures() got an unexpected keyword argument {name!r}.")


def _run(
    X: ArrayLike,
    n_neighbors: Any,
    intrinsic_dim: Any,
    stages: Any,
    order: Any,
    orient: bool,
    points: ArrayLike | None,
    neighbors: ArrayLike | None,
    algorithm: Algorithm,
    n_jobs: int | None,
    progress: Progress,
    random_state: int,
    *,
    scalars: bool,
) -> _Call:
    """Check the arguments, choose the settings that are "auto", compute the records."""
    table, threads = as_points(X), as_threads(n_jobs)
    as_choice(algorithm, "algorithm", ALGORITHMS)
    seed = as_count(random_state, "random_state", 0)
    stages, order = as_option(stages, "stages", (1, 2)), as_option(order, "order", ORDERS)
    rows = None if points is None else as_indices(points, "points", 1, "1-D, a list of rows")
    given = None if neighbors is None else as_indices(neighbors, "neighbors", 2, "2-D of shape (n, k)")
    k = as_neighbors(n_neighbors, given, stages)
    cloud = Table(table, algorithm, threads)
    m = choose_dimension(cloud, intrinsic_dim, seed)
    if as_flag(orient, "orient") and table.shape[1] != m + 1:
        raise ValueError(
            f"orient needs one normal direction (d = m + 1), but m = {m} and d = {table.shape[1]}. Use "
            "orient=False."
        )
    plan = choose_plan(cloud, m, k, stages, order, seed)
    arguments: dict[str, Any] = {
        "x": table,
        "k": plan.n_neighbors,
        "intrinsic_dim": m,
        "order": plan.order,
        "scalars": scalars,
        "points": rows,
        "algorithm": algorithm,
        "n_jobs": threads,
    }
    with as_progress(progress, "curvature") as report:
        if plan.stages == 1:
            records = _core.second_forms(**arguments, neighbors=given, progress=report)
        else:
            ratio = variance_ratio(cloud, m, plan, seed)
            arguments |= {"second": plan.second_neighbors, "variance_ratio": ratio}
            records = _core.two_stage_forms(**arguments, progress=report)
    warn_flagged(records[:, 0] == 1, plan.order, m)
    return _Call(table, rows, m, plan, records, orient, algorithm, threads)


def as_option(value: Any, name: str, choices: tuple[int, ...]) -> Any:
    """Return "auto" or one of some integers."""
    listed = ", ".join(map(str, choices))
    if isinstance(value, str):
        if value != "auto":
            raise ValueError(f'{name} must be "auto" or one of {listed}, got {value!r}.')
        return value
    count = as_count(value, name, choices[0])
    if count not in choices:
        raise ValueError(f'{name} must be "auto" or one of {listed}, got {count}.')
    return count


def as_neighbors(n_neighbors: Any, given: NDArray[np.int64] | None, stages: Any) -> Any:
    """Return the number of neighbours, or "auto"."""
    if isinstance(n_neighbors, str):
        as_choice(n_neighbors, "n_neighbors", ("auto",))
        k: Any = n_neighbors if given is None else given.shape[1]
    else:
        k = as_count(n_neighbors, "n_neighbors", 2)
    if given is not None:
        if given.shape[1] != k:
            raise ValueError(
                f"neighbors must have n_neighbors = {k} columns, got {given.shape[1]}. Leave n_neighbors "
                "out to use all."
            )
        if stages == 2:
            raise ValueError(
                "neighbors must be None with stages=2: the second stage searches among other points. Use "
                "stages=1."
            )
    return k
