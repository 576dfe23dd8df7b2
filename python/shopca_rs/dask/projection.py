"""What the estimators for dask collections share: lazy maps, moments, conversion to plain ones and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Self

import dask
import dask.array as da
import numpy as np
from dask.delayed import Delayed, delayed
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted  # type: ignore[import-untyped]

from ..arguments import as_choice, shown, too_large
from ..estimators.linear_projection import LinearProjection
from ..estimators.validation import as_result, check_components
from ..spectrum import fix_signs, symmetric_part
from . import moments
from .chunks import Chunks, as_array, as_chunks, check_columns, checked
from .moments import Moments
from .operators import MODES, Mode
from .tree_reduction import reduced
from .weighted_rows import as_weighted_chunks

Matrix = NDArray[np.float64]


class DaskProjection(LinearProjection, auto_wrap_output_keys=None):  # type: ignore[call-arg]
    """An affine map of dask collections: among the bases of a class it comes before the one in memory."""

    # The estimator in memory.
    _plain: ClassVar[type[LinearProjection]]

    # Threads are the scheduler's, progress is shown by dask's own diagnostics.
    n_jobs = 1
    verbose = False

    def _training_chunks(self, X: Any, sample_weight: Any) -> tuple[Chunks, Matrix | None]:
        """Return the rows to fit and their weights; rows of weight 0 are dropped."""
        chunks = as_chunks(X)
        check_columns(self, X, chunks.dim, reset=True)
        if chunks.rows < 3:
            raise ValueError(f"X must have at least 3 rows, got {chunks.rows}. Give more rows.")
        chunks, weights = as_weighted_chunks(chunks, sample_weight)
        if chunks.rows < 3:
            raise ValueError(f"sample_weight must give at least 3 rows a weight above 0, got {chunks.rows}.")
        return chunks, weights

    def fit_transform(self, X: Any, y: Any = None, **params: Any) -> da.Array:
        """Fit the components to X and project it.

        Parameters
        ----------
        X : dask array of shape (n_samples, n_features) or dask dataframe
            Training data.
        y : Ignored
            For scikit-learn's API.
        **params
            Parameters of `fit`.

        Returns
        -------
        X_new : dask array of shape (n_samples, n_components)
            Not yet computed.
        """
        return self.fit(X, y, **params).transform(X)

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
        check_columns(self, X, array.shape[1], reset=False)
        return _mapped(array, _embedded, self.mean_, self.components_)

    def inverse_transform(self, X: Any) -> Any:
        """Map an embedding back to the space of the features.

        Parameters
        ----------
        X : dask array of shape (n_samples, n_components), dask dataframe, or data in memory
            Embedded points.

        Returns
        -------
        X_original : dask array of shape (n_samples, n_features)
            Not yet computed; an ndarray for data in memory.
        """
        check_is_fitted(self)
        if not dask.is_dask_collection(X):
            return super().inverse_transform(X)
        array = as_array(X)
        check_components(self, array.shape[1])
        inverse = np.linalg.pinv(self.components_).astype(np.float64, copy=False)
        return _mapped(array, _restored, self.mean_, inverse)

    def mahalanobis(self, X: Any, Y: Any = None) -> Matrix:
        """Distances between rows, as the estimator in memory returns them: all pairs, in memory.

        Parameters
        ----------
        X : dask array of shape (n_samples_X, n_features), dask dataframe, or data in memory
            Points.
        Y : the same, default=None
            Other points; X itself if None.

        Returns
        -------
        distances : ndarray of shape (n_samples_X, n_samples_Y)
            The distances.
        """
        distances: Matrix = super().mahalanobis(*dask.compute(X, Y))
        return distances

    def _scores(self, X: Any) -> Matrix:
        return super()._scores(dask.compute(X)[0])

    def to_plain(self) -> Any:
        """Return the fitted estimator of `shopca_rs` with the same parameters and attributes.

        Returns
        -------
        SHOPCA or LPP
            For data in memory.
        """
        check_is_fitted(self)
        shared = {name: value for name, value in self.get_params().items() if name != "mode"}
        plain = self._plain(**shared)
        _copy_fit(self, plain)
        return plain

    @classmethod
    def from_plain(cls, model: Any, *, mode: Mode = "auto") -> Self:
        """Return a fitted estimator for dask from a model that was fitted in memory.

        Parameters
        ----------
        model : SHOPCA or LPP
            The fitted model of `shopca_rs`, of the same name.
        mode : {"auto", "replicated", "sharded"}, default="auto"
            For later fits.

        Returns
        -------
        SHOPCA or LPP
            For dask collections.
        """
        if not isinstance(model, cls._plain):
            raise TypeError(f"model must be a fitted shopca_rs.{cls._plain.__name__}, got {shown(model)}.")
        check_is_fitted(model)
        as_choice(mode, "mode", MODES)
        own = set(cls._get_param_names())
        shared = {name: value for name, value in model.get_params().items() if name in own}
        own_model = cls(**(shared | {"mode": mode}))
        _copy_fit(model, own_model)
        return own_model


def _copy_fit(source: Any, target: Any) -> None:
    for name, value in vars(source).items():
        if name not in source.get_params():
            setattr(target, name, value)


def moments_of(chunks: Chunks, weighted: bool = False) -> Delayed:
    """Return the moments of all rows as a task; their weights are a last column that `dim` does not count."""
    of_block = moments.weighted_moments if weighted else moments.moments
    return reduced([part.apply(of_block) for part in chunks.parts], moments.merge)


def refuse_overflow(of_all: Moments) -> None:
    """Refuse data whose squares do not fit in float64."""
    if not np.isfinite(of_all.scatter).all():
        raise too_large(of_all.box.largest)


def projected(chunks: Chunks, mean: Matrix, basis: Matrix) -> Chunks:
    """Return the scores of all rows on the rows of `basis`."""
    # Inputs of all parts, which are sent to each worker once.
    inputs = [delayed(value, pure=True) for value in (mean, basis)]
    parts = [part.then(_embedded, *inputs) for part in chunks.parts]
    return Chunks(parts, chunks.sizes, len(basis))


def principal_components(of_all: Moments) -> tuple[Matrix, Matrix]:
    """Variances and directions (rows) of all principal components, as scikit-learn's PCA has them."""
    variances, vectors = np.linalg.eigh(of_all.covariance())
    keep = min(of_all.count, len(variances))
    return variances[::-1][:keep].clip(0), fix_signs(vectors.T[::-1][:keep])


def covariance_of(of_all: Moments, basis: Matrix | None) -> Matrix:
    """Return Σ, divided by n − 1, or that of the scores on the rows of `basis`."""
    covariance = symmetric_part(of_all.covariance())
    return covariance if basis is None else symmetric_part(basis @ covariance @ basis.T)


def _mapped(array: da.Array, function: Callable[..., Matrix], mean: Matrix, matrix: Matrix) -> da.Array:
    """Apply an affine map to the rows of every block; single precision stays single."""
    dtype = np.dtype(np.float32 if array.dtype == np.float32 else np.float64)
    width = len(matrix)
    return da.map_blocks(
        _block,
        array,
        function,
        mean,
        matrix,
        dtype,
        dtype=dtype,
        meta=np.empty((0, width), dtype=dtype),
        chunks=(array.chunks[0], (width,)),
    )


def _block(
    block: Any,
    function: Callable[..., Matrix],
    mean: Matrix,
    matrix: Matrix,
    dtype: np.dtype[Any],
    block_info: Any = None,
) -> NDArray[Any]:
    place = block_info[0]
    (first, stop), (_, dim) = place["array-location"]
    rows = checked(block, place["chunk-location"][0], first, stop - first, dim, "X")
    with np.errstate(over="ignore", invalid="ignore"):
        return as_result(function(rows, mean, matrix), rows.astype(dtype, copy=False))


def _embedded(block: NDArray[Any], mean: Matrix, components: Matrix) -> Matrix:
    embedded: Matrix = (np.asarray(block, dtype=np.float64) - mean) @ components.T
    return embedded


def _restored(block: NDArray[Any], mean: Matrix, inverse: Matrix) -> Matrix:
    restored: Matrix = np.asarray(block, dtype=np.float64) @ inverse.T + mean
    return restored
