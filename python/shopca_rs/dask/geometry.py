"""Curvature and intrinsic dimension of dask collections."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arguments import as_choice, as_count, as_flag, as_indices
from ..geometry.dimension import METHODS, IntrinsicDimension
from ..geometry.fit_plan import ORDERS, choose_dimension, choose_plan, variance_ratio
from ..geometry.records import curvatures_of_records, form_of_records
from ..geometry.second_form import Auto, as_neighbors, as_option
from ..neighbors import ALGORITHMS, Algorithm
from . import fits
from .chunks import as_chunks
from .cloud import ChunkedCloud
from .fits import FirstStage, Fit
from .neighborhoods import Searcher
from .operators import MODES, Mode, chosen_mode
from .results import Curvatures, SecondFundamentalForm
from .workers import workers


def second_fundamental_form(
    X: Any,
    n_neighbors: int | Auto = "auto",
    *,
    intrinsic_dim: int | Auto = "auto",
    stages: int | Auto = "auto",
    order: int | Auto = "auto",
    orient: bool = False,
    points: ArrayLike | None = None,
    algorithm: Algorithm = "auto",
    mode: Mode = "auto",
    random_state: int = 0,
) -> SecondFundamentalForm:
    """Second fundamental form of a dask array or dataframe.

    The neighbours are exact over all rows, whatever the chunks: the numbers are those of
    `shopca_rs.second_fundamental_form`. What is "auto" is chosen when this is called, from the
    neighbourhoods of a few rows; the rest is lazy.

    Parameters
    ----------
    X : dask array of shape (n, d) or dask dataframe
        Points as rows. Unknown chunk sizes are computed once.
    n_neighbors, intrinsic_dim, stages, order, points, algorithm, random_state
        As in `shopca_rs.second_fundamental_form`.
    orient : bool, default=False
        Only False: a consistent orientation needs the whole cloud at once.
    mode : {"auto", "replicated", "sharded"}, default="auto"
        As in `shopca_rs.dask.mean_shape_operator`. With two stages the table of the first is a dask result
        that the workers keep in chunks, and "auto" counts it.

    Returns
    -------
    SecondFundamentalForm
        With dask arrays, chunked as X where `points` is None. `compute()` returns a
        `shopca_rs.SecondFundamentalForm`.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from shopca_rs.dask import second_fundamental_form
    >>> sphere = np.random.default_rng(0).normal(size=(1000, 3))
    >>> sphere *= 2 / np.linalg.norm(sphere, axis=1, keepdims=True)
    >>> bent = second_fundamental_form(da.from_array(sphere, chunks=(300, 3)), n_neighbors=20)
    >>> bent.form.shape, bent.form.chunks[0]
    ((1000, 2, 2, 3), (300, 300, 300, 100))
    >>> bool(np.allclose(bent.compute().scalar_curvature, 2 / 2**2, atol=1e-4))
    True
    """
    records, fit = _records(
        X,
        n_neighbors,
        intrinsic_dim,
        stages,
        order,
        orient,
        points,
        algorithm,
        mode,
        random_state,
        scalars=False,
    )
    return SecondFundamentalForm(**form_of_records(records, fit.d, fit.m, fit.plan))


def curvatures(
    X: Any,
    n_neighbors: int | Auto = "auto",
    *,
    intrinsic_dim: int | Auto = "auto",
    stages: int | Auto = "auto",
    order: int | Auto = "auto",
    orient: bool = False,
    points: ArrayLike | None = None,
    algorithm: Algorithm = "auto",
    mode: Mode = "auto",
    random_state: int = 0,
) -> Curvatures:
    """Mean, scalar, Gaussian and principal curvatures of a dask array or dataframe.

    The scalars of `shopca_rs.dask.second_fundamental_form`, without ever holding the forms.

    Parameters
    ----------
    X : dask array of shape (n, d) or dask dataframe
        Points as rows. Unknown chunk sizes are computed once.
    n_neighbors, intrinsic_dim, stages, order, orient, points, algorithm, mode, random_state
        As in `shopca_rs.dask.second_fundamental_form`.

    Returns
    -------
    Curvatures
        With dask arrays, chunked as X where `points` is None. `compute()` returns a `shopca_rs.Curvatures`.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from shopca_rs.dask import curvatures
    >>> sphere = np.random.default_rng(0).normal(size=(1000, 3))
    >>> sphere *= 2 / np.linalg.norm(sphere, axis=1, keepdims=True)
    >>> bent = curvatures(da.from_array(sphere, chunks=(300, 3)), n_neighbors=20)
    >>> bool(np.allclose(bent.gaussian.compute(), 1 / 4, atol=1e-4))
    True
    """
    records, fit = _records(
        X,
        n_neighbors,
        intrinsic_dim,
        stages,
        order,
        orient,
        points,
        algorithm,
        mode,
        random_state,
        scalars=True,
    )
    return Curvatures(**curvatures_of_records(records, fit.d, fit.m, fit.plan))


def intrinsic_dimension(
    X: Any,
    *,
    method: Literal["mle", "pca", "two_nn"] = "mle",
    n_neighbors: int = 20,
    points: ArrayLike | None = None,
    algorithm: Algorithm = "auto",
    mode: Mode = "auto",
) -> IntrinsicDimension:
    """Intrinsic dimension of a dask array or dataframe, as a whole and at each point.

    It is computed when this is called, and is that of `shopca_rs.intrinsic_dimension`.

    Parameters
    ----------
    X : dask array of shape (n, d) or dask dataframe
        Points as rows. Unknown chunk sizes are computed once.
    method, n_neighbors, points, algorithm
        As in `shopca_rs.intrinsic_dimension`. With `points` the cost does not grow with n².
    mode : {"auto", "replicated", "sharded"}, default="auto"
        As in `shopca_rs.dask.mean_shape_operator`.

    Returns
    -------
    IntrinsicDimension
        Named tuple of `dimension`, `estimate` and `local`, an ndarray.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from shopca_rs.dask import intrinsic_dimension
    >>> sphere = np.random.default_rng(0).normal(size=(1000, 3))
    >>> sphere /= np.linalg.norm(sphere, axis=1, keepdims=True)
    >>> intrinsic_dimension(da.from_array(sphere, chunks=(300, 3)), points=range(0, 1000, 10)).dimension
    2
    """
    as_choice(method, "method", METHODS)
    k = 2 if method == "two_nn" else as_count(n_neighbors, "n_neighbors", 3)
    cloud = _cloud(X, algorithm, mode)
    n = cloud.chunks.rows
    if k > n - 1:
        raise ValueError(
            f"k must be at most n − 1 = {n - 1} (the point itself is not its neighbour), got {k}."
        )
    rows = _as_rows(points, n)
    if rows is not None and len(rows) == 0:
        raise ValueError("points must hold at least one row number, got none. Leave it out for all rows.")
    return cloud.dimension(rows, k, method)


def _records(
    X: Any,
    n_neighbors: Any,
    intrinsic_dim: Any,
    stages: Any,
    order: Any,
    orient: bool,
    points: ArrayLike | None,
    algorithm: Algorithm,
    mode: Mode,
    random_state: int,
    *,
    scalars: bool,
) -> tuple[Any, Fit]:
    """Check the arguments, choose what is "auto", build the graph of the records."""
    cloud = _cloud(X, algorithm, mode)
    n, d = cloud.shape
    seed = as_count(random_state, "random_state", 0)
    stages, order = as_option(stages, "stages", (1, 2)), as_option(order, "order", ORDERS)
    if as_flag(orient, "orient"):
        raise ValueError(
            "orient must be False for dask collections: an orientation needs the whole cloud at once. Use "
            "shopca_rs.curvatures for data in memory."
        )
    rows = _as_rows(points, n)
    k = as_neighbors(n_neighbors, None, stages)
    m = choose_dimension(cloud, intrinsic_dim, seed)
    plan = choose_plan(cloud, m, k, stages, order, seed)
    ratio = 1.0
    if plan.stages == 2:
        ratio = variance_ratio(cloud, m, plan, seed)
        searcher = cloud.searcher
        two_tables = chosen_mode(mode, n, d + FirstStage(d, m).width, searcher.crew)
        cloud = cloud._replace(searcher=searcher._replace(mode=two_tables))
    fit = Fit(d, m, plan, ratio, scalars)
    return fits.records(cloud, rows, fit), fit


def _cloud(X: Any, algorithm: Algorithm, mode: Mode) -> ChunkedCloud:
    as_choice(algorithm, "algorithm", ALGORITHMS)
    as_choice(mode, "mode", MODES)
    chunks, crew = as_chunks(X), workers()
    return ChunkedCloud(chunks, Searcher(algorithm, chosen_mode(mode, chunks.rows, chunks.dim, crew), crew))


def _as_rows(points: ArrayLike | None, n: int) -> NDArray[np.int64] | None:
    if points is None:
        return None
    rows = as_indices(points, "points", 1, "1-D, a list of rows")
    outside = np.flatnonzero((rows < 0) | (rows >= n))
    if len(outside):
        raise ValueError(
            f"points must hold row indices from 0 to n − 1 = {n - 1}, got {rows[outside[0]]} in row "
            f"{outside[0]}."
        )
    return rows
