"""SHOPCA for dask collections: the sums on the workers, the d×d matrices here."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import dask
import dask.array as da
import numpy as np
from dask.delayed import Delayed, delayed
from numpy.typing import ArrayLike, NDArray
from sklearn.utils._param_validation import StrOptions  # type: ignore[import-untyped]
from sklearn.utils.validation import check_is_fitted  # type: ignore[import-untyped]

from .. import estimator
from ..operators import Algorithm, Degenerate
from ..spectrum import Criterion, fix_signs, symmetric_part
from . import moments
from .chunks import Chunks, as_array, as_chunks
from .moments import Moments
from .operators import MODES, Mode, delayed_mean
from .trees import reduced

Matrix = NDArray[np.float64]


class SHOPCA(estimator.SHOPCA):
    """Shape Operator PCA of a dask array or dataframe.

    `fit` runs one graph for Σ and S̄ on the workers (two where PCA comes first) and solves the rest here;
    `transform` stays lazy. The fitted attributes are those of `shopca_rs.SHOPCA`.

    Parameters
    ----------
    n_components, n_neighbors, alpha, alpha_grid, criterion, symmetric, max_features, degenerate, algorithm, \
sample, random_state
        As in `shopca_rs.SHOPCA`.
    mode : {"auto", "replicated", "sharded"}, default="auto"
        How rows meet their neighbours; see `shopca_rs.dask.mean_shape_operator`.

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

    # Threads are the scheduler's, progress is shown by dask's own diagnostics.
    n_jobs = 1
    verbose = False

    def __init__(
        self,
        n_components: int | float | None = 2,
        *,
        n_neighbors: int | str = "log2",
        alpha: float | str = "auto",
        alpha_grid: ArrayLike | None = None,
        criterion: Criterion = "mass",
        symmetric: bool = False,
        max_features: int | None = 25,
        degenerate: Degenerate = "average",
        algorithm: Algorithm = "auto",
        sample: int | None = None,
        random_state: int = 0,
        mode: Mode = "auto",
    ) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
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

    def _fit(self, X: Any, alpha: float | str, alpha_grid: ArrayLike | None, criterion: Criterion) -> Self:
        chunks = as_chunks(X)
        self._remember_columns(X, chunks.dim)
        if chunks.rows < 3:
            raise ValueError(f"X must have at least 3 rows, got {chunks.rows}. Give more rows.")
        self.n_neighbors_ = self._resolve_neighbors(chunks.rows)
        self.n_samples_ = chunks.rows
        self.sample_ = chunks.rows if self.sample is None else min(int(self.sample), chunks.rows)
        of_all = _moments(chunks)
        points = chunks
        if self._needs_pca(chunks.dim):
            (of_all,) = dask.compute(of_all)
        self.n_components_, self._basis = self._prepare(
            chunks.rows, chunks.dim, lambda: _principal_components(of_all)
        )
        if self._basis is not None:
            points = _projected(chunks, of_all.mean, self._basis)
        of_all, operator = dask.compute(of_all, self._operator(points))
        self._take_moments(of_all)
        self.mean_shape_operator_, self.mean_shape_operator_error_ = operator
        total = float(np.trace(of_all.scatter)) / (of_all.count - 1)
        return self._solve(alpha, alpha_grid, criterion, total)

    def fit_transform(self, X: Any, y: Any = None, **params: Any) -> da.Array:
        """Fit the components to X and project it.

        Parameters
        ----------
        X : dask array of shape (n_samples, n_features) or dask dataframe
            Training data.
        y : Ignored
            For scikit-learn's API.
        **params
            Ignored.

        Returns
        -------
        X_new : dask array of shape (n_samples, n_components)
            Not yet computed.
        """
        return self.fit(X).transform(X)

    def transform(self, X: Any) -> Any:
        """Project X onto the components.

        Parameters
        ----------
        X : dask array of shape (n_samples, n_features), dask dataframe, or data in memory
            New data.

        Returns
        -------
        X_new : dask array of shape (n_samples, n_components)
            Not yet computed; an ndarray for data in memory.
        """
        check_is_fitted(self)
        if not dask.is_dask_collection(X):
            return super().transform(X)
        array = as_array(X)
        if array.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X must have {self.n_features_in_} columns as in fit, got {array.shape[1]}. "
                "Pass the same columns."
            )
        dtype = np.float32 if array.dtype == np.float32 else np.float64
        return array.map_blocks(
            _embedded,
            self.mean_,
            self.components_,
            dtype,
            dtype=dtype,
            chunks=(array.chunks[0], (len(self.components_),)),
        )

    def to_plain(self) -> estimator.SHOPCA:
        """Return a fitted `shopca_rs.SHOPCA` with the same parameters and attributes.

        Returns
        -------
        shopca_rs.SHOPCA
            For data in memory.
        """
        check_is_fitted(self)
        shared = {name: value for name, value in self.get_params().items() if name != "mode"}
        plain = estimator.SHOPCA(**shared)
        _copy_fit(self, plain)
        return plain

    @classmethod
    def from_plain(cls, model: estimator.SHOPCA, *, mode: Mode = "auto") -> Self:
        """Return a fitted `shopca_rs.dask.SHOPCA` from a model that was fitted in memory.

        Parameters
        ----------
        model : shopca_rs.SHOPCA
            The fitted model.
        mode : {"auto", "replicated", "sharded"}, default="auto"
            For later fits.

        Returns
        -------
        SHOPCA
            For dask collections.
        """
        check_is_fitted(model)
        own = set(cls._get_param_names())
        shared = {name: value for name, value in model.get_params().items() if name in own}
        own_model = cls(**(shared | {"mode": mode}))
        _copy_fit(model, own_model)
        return own_model

    def _remember_columns(self, X: Any, dim: int) -> None:
        self.n_features_in_ = dim
        self.__dict__.pop("feature_names_in_", None)
        names = getattr(X, "columns", None)
        if names is not None and all(isinstance(name, str) for name in names):
            self.feature_names_in_ = np.asarray(names, dtype=object)

    def _operator(self, chunks: Chunks) -> Delayed:
        sample = None if self.sample_ == chunks.rows else self.sample_
        return delayed_mean(
            chunks, self.n_neighbors_, self.degenerate, self.algorithm, self.mode, sample, self.random_state
        )

    def _take_moments(self, of_all: Moments) -> None:
        self.mean_ = of_all.mean
        basis, covariance = self._basis, symmetric_part(of_all.scatter / (of_all.count - 1))
        self.covariance_ = covariance if basis is None else symmetric_part(basis @ covariance @ basis.T)


def _copy_fit(source: Any, target: Any) -> None:
    for name, value in vars(source).items():
        if name not in source.get_params():
            setattr(target, name, value)


def _moments(chunks: Chunks) -> Delayed:
    return reduced([part.apply(moments.moments) for part in chunks.parts], moments.merge)


def _projected(chunks: Chunks, mean: Matrix, basis: Matrix) -> Chunks:
    # Inputs of all parts, which travel to a worker once.
    inputs = [delayed(value, pure=True) for value in (mean, basis)]
    parts = [part.then(_embedded, *inputs) for part in chunks.parts]
    return Chunks(parts, chunks.sizes, len(basis))


def _principal_components(of_all: Moments) -> tuple[Matrix, Matrix]:
    """Variances and directions (rows) of all principal components, as scikit-learn's PCA has them."""
    variances, vectors = np.linalg.eigh(of_all.scatter / (of_all.count - 1))
    keep = min(of_all.count, len(variances))
    return variances[::-1][:keep].clip(0), fix_signs(vectors.T[::-1][:keep])


def _embedded(
    block: NDArray[Any], mean: Matrix, components: Matrix, dtype: type[np.floating[Any]] = np.float64
) -> NDArray[Any]:
    embedded: NDArray[Any] = (np.asarray(block, dtype=np.float64) - mean) @ components.T
    return embedded.astype(dtype, copy=False)
