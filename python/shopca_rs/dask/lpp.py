"""Locality preserving projections of dask collections: the graph on the workers, the d×d matrices here."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import dask
import numpy as np

from ..estimators import lpp
from ..estimators.sklearn_internals import StrOptions
from ..estimators.validation import check_parameters
from ..neighbors import Algorithm
from .column_values import delayed_resolution
from .edges import edge_sums
from .operators import MODES, Mode, chosen_mode
from .projection import (
    DaskProjection,
    covariance_of,
    moments_of,
    principal_components,
    projected,
    refuse_overflow,
)
from .weighted_rows import with_weights
from .workers import workers


class LPP(DaskProjection, lpp.LPP, auto_wrap_output_keys=None):  # type: ignore[call-arg]
    """Locality preserving projections of a dask array or dataframe.

    `fit` runs a graph for the moments and the resolution of the features and one for the neighbours on the
    workers, and solves the rest here; `transform` and `inverse_transform` stay lazy, so there is no
    `set_output`. The `sample_weight` of `fit` may be a dask array, which is computed first. The fitted
    attributes are those of `shopca_rs.LPP`.

    Parameters
    ----------
    n_components, n_neighbors, ridge, resolution, max_features, algorithm
        As in `shopca_rs.LPP`.
    mode : {"auto", "replicated", "sharded"}, default="auto"
        How rows find their neighbours; see `shopca_rs.dask.mean_shape_operator`. "sharded" searches twice:
        the second time it is known how far the neighbours of every row reach.

    See Also
    --------
    shopca_rs.LPP : The same in memory.

    Examples
    --------
    >>> import dask.array as da
    >>> from sklearn.datasets import load_iris
    >>> from shopca_rs.dask import LPP
    >>> X = da.from_array(load_iris().data, chunks=(40, 4))
    >>> lpp = LPP(n_components=2).fit(X)
    >>> lpp.transform(X).chunks
    ((40, 40, 40, 30), (2,))
    >>> lpp.to_plain().transform(load_iris().data).shape
    (150, 2)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        name: constraint
        for name, constraint in lpp.LPP._parameter_constraints.items()
        if name not in ("n_jobs", "verbose")
    } | {"mode": [StrOptions(set(MODES))]}

    _plain = lpp.LPP

    def __init__(
        self,
        n_components: int | float | None = 2,
        *,
        n_neighbors: int | str = "log2",
        ridge: float = 0.003,
        resolution: bool = True,
        max_features: int | str | None = "auto",
        algorithm: Algorithm = "auto",
        mode: Mode = "auto",
    ) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.ridge = ridge
        self.resolution = resolution
        self.max_features = max_features
        self.algorithm = algorithm
        self.mode = mode

    def _fit(self, X: Any, sample_weight: Any) -> Self:
        check_parameters(self)
        crew = workers()
        chunks, weights = self._training_chunks(X, sample_weight)
        n, d = chunks.rows, chunks.dim
        self.n_samples_, self.n_neighbors_ = n, self._resolve_neighbors(n)
        rows, weighted = with_weights(chunks, weights), weights is not None
        resolution = delayed_resolution(rows, crew, weighted) if self.resolution else []
        of_all, r = dask.compute(moments_of(rows, weighted), resolution)
        refuse_overflow(of_all)
        self.mean_, self.resolution_ = of_all.mean, np.concatenate(r) if r else np.zeros(d)
        self.n_components_, self._basis = self._prepare(n, d, lambda _: principal_components(of_all))
        points, centre = chunks, self.mean_
        if self._basis is not None:
            points, centre = projected(chunks, self.mean_, self._basis), np.zeros(len(self._basis))
        # The unit of `shopca_rs.LPP`.
        farthest = max(float(np.abs(end - self.mean_).max()) for end in (of_all.box.low, of_all.box.high))
        exponent = int(np.frexp(farthest)[1])
        mode = chosen_mode(self.mode, n, points.dim, crew)
        (sums,) = dask.compute(
            edge_sums(points, self.n_neighbors_, self.algorithm, mode, crew, centre, exponent, weights)
        )
        Sigma = np.ldexp(covariance_of(of_all, self._basis), -2 * exponent)
        self._solve(exponent, Sigma, sums.local_scatter(), sums.degree_covariance())
        total = float(np.trace(of_all.covariance()))
        self.explained_variance_ratio_ = self.explained_variance_ / (total or 1.0)
        return self
