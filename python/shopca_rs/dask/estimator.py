"""SHOPCA for dask collections: the sums on the workers, the d×d matrices here."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import dask
import numpy as np
from dask.delayed import Delayed
from numpy.typing import ArrayLike

from ..arguments import RandomState
from ..estimators import shopca as estimator
from ..estimators.sklearn_internals import StrOptions
from ..estimators.validation import check_parameters
from ..neighbors import Algorithm
from ..operators import Degenerate
from ..spectrum import Criterion
from .blocks import Matrix
from .chunks import Chunks
from .operators import MODES, Mode, delayed_mean
from .projection import (
    DaskProjection,
    covariance_of,
    moments_of,
    principal_components,
    projected,
    refuse_overflow,
)
from .weighted_rows import with_weights


class SHOPCA(DaskProjection, estimator.SHOPCA, auto_wrap_output_keys=None):  # type: ignore[call-arg]
    """Shape Operator PCA of a dask array or dataframe.

    `fit` runs one graph for Σ and S̄ on the workers (two where PCA comes first) and solves the rest here;
    `transform` and `inverse_transform` stay lazy, so there is no `set_output`. The `sample_weight` of `fit`
    may be a dask array, which is computed first. The fitted attributes are those of `shopca_rs.SHOPCA`.

    Parameters
    ----------
    n_components, n_neighbors, include_self, alpha, alpha_grid, criterion, symmetric, max_features, \
degenerate, algorithm, sample, random_state
        As in `shopca_rs.SHOPCA`.
    mode : {"auto", "replicated", "sharded"}, default="auto"
        How rows find their neighbours; see `shopca_rs.dask.mean_shape_operator`.

    See Also
    --------
    shopca_rs.SHOPCA : The same in memory.

    Examples
    --------
    >>> import dask.array as da
    >>> from sklearn.datasets import load_iris
    >>> from shopca_rs.dask import SHOPCA
    >>> X = da.from_array(load_iris().data, chunks=(40, 4))
    >>> shopca = SHOPCA(n_components=2).fit(X)
    >>> shopca.transform(X).chunks
    ((40, 40, 40, 30), (2,))
    >>> shopca.to_plain().transform(load_iris().data).shape
    (150, 2)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        name: constraint
        for name, constraint in estimator.SHOPCA._parameter_constraints.items()
        if name not in ("n_jobs", "verbose")
    } | {"mode": [StrOptions(set(MODES))]}

    _plain = estimator.SHOPCA

    def __init__(
        self,
        n_components: int | float | None = 2,
        *,
        n_neighbors: int | str = "log2",
        include_self: bool = False,
        alpha: float | str = "auto",
        alpha_grid: ArrayLike | None = None,
        criterion: Criterion = "mass",
        symmetric: bool = False,
        max_features: int | None = 25,
        degenerate: Degenerate = "average",
        algorithm: Algorithm = "auto",
        sample: int | None = None,
        random_state: RandomState = 0,
        mode: Mode = "auto",
    ) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.include_self = include_self
        self.alpha = alpha
        self.alpha_grid = alpha_grid
        self.criterion = criterion
        self.symmetric = symmetric
        self.max_features = max_features
        self.degenerate = degenerate
        self.algorithm = algorithm
        self.sample = sample
        self.random_state = random_state
        self.mode = mode

    def _fit(
        self,
        X: Any,
        sample_weight: Any,
        alpha: float | str,
        alpha_grid: ArrayLike | None,
        criterion: Criterion,
    ) -> Self:
        check_parameters(self)
        chunks, weights = self._training_chunks(X, sample_weight)
        self.n_neighbors_ = self._resolve_neighbors(chunks.rows)
        self.n_samples_ = chunks.rows
        self.sample_ = chunks.rows if self.sample is None else min(int(self.sample), chunks.rows)
        of_all = moments_of(with_weights(chunks, weights), weights is not None)
        points = chunks
        if self._needs_pca(chunks.rows, chunks.dim):
            (of_all,) = dask.compute(of_all)
            refuse_overflow(of_all)
        self.n_components_, self._basis = self._prepare(
            chunks.rows, chunks.dim, lambda count: principal_components(of_all)
        )
        if self._basis is not None:
            points = projected(chunks, of_all.mean, self._basis)
        of_all, operator = dask.compute(of_all, self._operator(points, weights))
        refuse_overflow(of_all)
        self.mean_, self.covariance_ = of_all.mean, covariance_of(of_all, self._basis)
        self.mean_shape_operator_, self.mean_shape_operator_error_ = operator
        return self._solve(alpha, alpha_grid, criterion, float(np.trace(of_all.covariance())))

    def _operator(self, chunks: Chunks, weights: Matrix | None) -> Delayed:
        sample = None if self.sample_ == chunks.rows else self.sample_
        return delayed_mean(
            chunks,
            self.n_neighbors_,
            include_self=bool(self.include_self),
            degenerate=self.degenerate,
            algorithm=self.algorithm,
            mode=self.mode,
            sample=sample,
            random_state=self.random_state,
            weights=weights,
        )
