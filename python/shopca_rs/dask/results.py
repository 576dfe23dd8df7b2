"""The results of the curvature functions with dask arrays instead of arrays in memory."""

from __future__ import annotations

from dataclasses import fields
from functools import cached_property
from typing import Any, Self

import dask
import dask.array as da
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..geometry import forms
from ..geometry.records import warn_flagged


def _all_fields(result: Any) -> dict[str, Any]:
    return {field.name: getattr(result, field.name) for field in fields(result)}


def _persisted(result: Any, options: dict[str, Any]) -> dict[str, Any]:
    (values,) = dask.persist(_all_fields(result), **options)
    return dict(values)


def _computed(result: Any, options: dict[str, Any]) -> dict[str, Any]:
    (values,) = dask.compute(_all_fields(result), **options)
    warn_flagged(values["valid"], result.order, result.intrinsic_dim)
    return dict(values)


def _text(result: Any) -> str:
    return (
        f"{type(result).__name__}({len(result)} points, m = {result.intrinsic_dim}, n_neighbors = "
        f"{result.n_neighbors}, stages = {result.stages}, order = {result.order}, not yet computed)"
    )


class Curvatures(forms.Curvatures):
    """The curvatures of a dask collection: `shopca_rs.Curvatures` with dask arrays, not yet computed.

    All arrays come from one graph. Compute them together with `compute`, or `persist` them first.
    """

    def __repr__(self) -> str:
        return _text(self)

    def compute(self, **options: Any) -> forms.Curvatures:
        """Return the result in memory.

        Parameters
        ----------
        **options
            Options of `dask.compute`.

        Returns
        -------
        shopca_rs.Curvatures
            With ndarrays. A warning says how many points were flagged.
        """
        return forms.Curvatures(**_computed(self, options))

    def persist(self, **options: Any) -> Self:
        """Start to compute, and return the result with arrays that the workers keep.

        Parameters
        ----------
        **options
            Options of `dask.persist`.

        Returns
        -------
        Curvatures
            The same numbers.
        """
        return type(self)(**_persisted(self, options))


class SecondFundamentalForm(forms.SecondFundamentalForm):
    """The form of a dask collection: `shopca_rs.SecondFundamentalForm` with dask arrays, not yet computed.

    What follows from them is lazy as well. All arrays come from one graph. Compute them together with
    `compute`, or `persist` them first.
    """

    def __repr__(self) -> str:
        return _text(self)

    def compute(self, **options: Any) -> forms.SecondFundamentalForm:
        """Return the result in memory.

        Parameters
        ----------
        **options
            Options of `dask.compute`.

        Returns
        -------
        shopca_rs.SecondFundamentalForm
            With ndarrays. A warning says how many points were flagged.
        """
        return forms.SecondFundamentalForm(**_computed(self, options))

    def persist(self, **options: Any) -> Self:
        """Start to compute, and return the result with arrays that the workers keep.

        Parameters
        ----------
        **options
            Options of `dask.persist`.

        Returns
        -------
        SecondFundamentalForm
            The same numbers.
        """
        return type(self)(**_persisted(self, options))

    @property
    def mean_curvature_vector(self) -> Any:
        """H = tr II / m, of shape (p, d)."""
        return self._derived("mean_curvature_vector", self.form.shape[3])

    @cached_property
    def squared_norm(self) -> Any:
        """|II|² less what noise adds to it, of shape (p,)."""
        return self._derived("squared_norm")

    @property
    def scalar_curvature(self) -> Any:
        """|tr II|² − |II|², each less what noise adds to it, of shape (p,)."""
        return self._derived("scalar_curvature")

    @property
    def ricci(self) -> Any:
        """Ricci curvature in the basis `tangent`, of shape (p, m, m)."""
        return self._derived("ricci", self.intrinsic_dim, self.intrinsic_dim)

    def shape_operator(self, normal: ArrayLike) -> Any:
        """Shape operators ⟨II, ν⟩ along one unit normal, or along `self.normal`.

        Parameters
        ----------
        normal : array-like of shape (d,) or dask array of shape (p, d)
            One vector for all points, or one for each.

        Returns
        -------
        dask array of shape (p, m, m)
            Symmetric matrices in the basis `tangent`.
        """
        form: Any = self.form
        p, _, _, d = form.shape
        vectors = da.asarray(normal, dtype=np.float64)
        if vectors.shape not in ((d,), (p, d)):
            raise ValueError(
                f"normal must have shape (d,) = ({d},) or (p, d) = ({p}, {d}), got {vectors.shape}."
            )
        vectors = da.broadcast_to(vectors, (p, d)).rechunk((form.chunks[0], d))
        return (form * vectors[:, None, None, :]).sum(axis=3)

    @cached_property
    def normal(self) -> Any:
        """Unit normals of a hypersurface along tr II, of shape (p, d)."""
        self._require_hypersurface("normal")
        return self._derived("normal", self.form.shape[3])

    @property
    def principal_curvatures(self) -> Any:
        """Eigenvalues of the shape operator along `normal`, ascending, of shape (p, m); codimension 1."""
        self._require_hypersurface("principal curvatures")
        return self._derived("principal_curvatures", self.intrinsic_dim)

    @property
    def principal_directions(self) -> Any:
        """Their unit eigenvectors as columns, in the coordinates of X, of shape (p, d, m); codimension 1."""
        self._require_hypersurface("principal curvatures")
        return self._derived("principal_directions", self.form.shape[3], self.intrinsic_dim)

    def _derived(self, name: str, *shape: int) -> da.Array:
        """Return what the result in memory has under this name, chunk by chunk."""
        letters = "xyz"[: len(shape)]
        per_point = {"standard_error": "n", "valid": "n", "noise": "n", "offset": "na", "trace_variance": "n"}
        indices = {"tangent": "nab", "form": "ncde"} | per_point
        arrays = [part for field, index in indices.items() for part in (getattr(self, field), index)]
        settings = {name: value for name, value in _all_fields(self).items() if name not in indices}
        return da.blockwise(
            _of_block,
            "n" + letters,
            *arrays,
            name=f"{name}-{dask.base.tokenize(name, *arrays)}",
            new_axes=dict(zip(letters, shape, strict=True)),
            concatenate=True,
            dtype=np.float64,
            meta=np.empty((0,) * (1 + len(shape))),
            what=name,
            names=list(indices),
            settings=settings,
        )


def _of_block(
    *arrays: NDArray[Any], what: str, names: list[str], settings: dict[str, Any]
) -> NDArray[np.float64]:
    values: dict[str, Any] = dict(zip(names, arrays, strict=True)) | settings
    found: NDArray[np.float64] = getattr(forms.SecondFundamentalForm(**values), what)
    return found
