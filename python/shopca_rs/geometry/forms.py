"""Results of the geometry functions: the second fundamental form at some points, or its scalars."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class SecondFundamentalForm:
    """Tangent spaces and second fundamental forms at p points of dimension m in d columns.

    Where the neighbours of a point do not determine the fit, `valid` is False and all its numbers are NaN.

    Attributes
    ----------
    tangent : ndarray of shape (p, d, m)
        Orthonormal bases of the tangent spaces, as columns.
    form : ndarray of shape (p, m, m, d)
        II of two basis vectors: a normal vector in the coordinates of X.
    standard_error : ndarray of shape (p,)
        The square root of the expected contribution of noise to |II|². It covers noise, not bias;
        infinite where the neighbours leave no degrees of freedom.
    valid : ndarray of bool, shape (p,)
        Whether the neighbours determine the fit.
    noise : ndarray of shape (p,)
        Standard deviation of the points about the surface in each normal direction.
    offset : ndarray of shape (p, d)
        Vector from each point to the surface.
    n_neighbors, intrinsic_dim, stages, order : int
        How it was estimated.
    second_neighbors : int or None
        Foot points of the second stage.
    noise_share : float or None
        The fraction of noise in the estimated squared error of one stage; None where k was given.
    trace_variance : ndarray of shape (p,)
        The expected contribution of noise to |tr II|².
    signs : ndarray of shape (p,) or None
        With `orient`: 1 where `normal` points along tr II, −1 where it points the other way; None without.
    """

    tangent: Floats
    form: Floats
    standard_error: Floats
    valid: NDArray[np.bool_]
    noise: Floats
    offset: Floats
    n_neighbors: int
    intrinsic_dim: int
    stages: int
    order: int
    second_neighbors: int | None
    noise_share: float | None
    trace_variance: Floats
    signs: Floats | None = None

    def __len__(self) -> int:
        return len(self.form)

    def __repr__(self) -> str:
        p, _, m, d = self.form.shape
        flagged = int((~self.valid).sum())
        return (
            f"SecondFundamentalForm({p} points, m = {m}, d = {d}, n_neighbors = {self.n_neighbors}, "
            f"stages = {self.stages}, order = {self.order}, flagged = {flagged})"
        )

    @cached_property
    def _trace(self) -> Floats:
        trace: Floats = np.einsum("naad->nd", self.form)
        return trace

    @property
    def mean_curvature_vector(self) -> Floats:
        """H = tr II / m, of shape (p, d)."""
        vectors: Floats = self._trace / self.intrinsic_dim
        return vectors

    @cached_property
    def squared_norm(self) -> Floats:
        """|II|² corrected for noise, of shape (p,). It can be negative where II is small."""
        square: Floats = np.einsum("nabd,nabd->n", self.form, self.form)
        return square - _known(self.standard_error**2)

    @property
    def scalar_curvature(self) -> Floats:
        """|tr II|² − |II|², each corrected for noise, of shape (p,)."""
        traced: Floats = (self._trace**2).sum(axis=1) - _known(self.trace_variance)
        return traced - self.squared_norm

    @property
    def ricci(self) -> Floats:
        """Ric_ab = ⟨II_ab, tr II⟩ − Σ_c ⟨II_ac, II_bc⟩ in the basis `tangent`, of shape (p, m, m)."""
        first: Floats = np.einsum("nabd,nd->nab", self.form, self._trace)
        second: Floats = np.einsum("nacd,nbcd->nab", self.form, self.form)
        return first - second

    def shape_operator(self, normal: ArrayLike) -> Floats:
        """Shape operators ⟨II, ν⟩ along unit normals.

        Parameters
        ----------
        normal : array-like of shape (d,) or (p, d)
            One vector for all points or one for each. Only its part normal to the surface matters.

        Returns
        -------
        ndarray of shape (p, m, m)
            Symmetric matrices in the basis `tangent`.
        """
        p, _, _, d = self.form.shape
        vectors = np.asarray(normal, dtype=np.float64)
        if vectors.shape not in ((d,), (p, d)):
            raise ValueError(
                f"normal must have shape (d,) = ({d},) or (p, d) = ({p}, {d}), got {vectors.shape}."
            )
        operators: Floats = np.einsum("nabd,nd->nab", self.form, np.broadcast_to(vectors, (p, d)))
        return operators

    @cached_property
    def normal(self) -> Floats:
        """Unit normals of a hypersurface, of shape (p, d): along tr II, or oriented over the cloud."""
        self._require_hypersurface("normal")
        normals = np.full(self.offset.shape, np.nan)
        bases = self.tangent[self.valid]
        if len(bases):
            # The last left singular vector spans the complement.
            normals[self.valid] = np.linalg.svd(bases, full_matrices=True)[0][:, :, -1]
        along = np.einsum("nd,nd->n", normals, np.nan_to_num(self._trace))
        signs = (
            np.where(along < 0, -1.0, 1.0)
            if self.signs is None
            else self.signs * np.where(along < 0, -1.0, 1.0)
        )
        oriented: Floats = normals * signs[:, None]
        return oriented

    @cached_property
    def _principal(self) -> tuple[Floats, Floats]:
        self._require_hypersurface("principal curvatures")
        p, m, _, d = self.form.shape
        values, directions = np.full((p, m), np.nan), np.full((p, d, m), np.nan)
        if self.valid.any():
            values[self.valid], vectors = np.linalg.eigh(self.shape_operator(self.normal)[self.valid])
            directions[self.valid] = self.tangent[self.valid] @ vectors
        return values, directions

    @property
    def principal_curvatures(self) -> Floats:
        """Eigenvalues of the shape operator along `normal`, ascending, of shape (p, m); codimension 1."""
        return self._principal[0]

    @property
    def principal_directions(self) -> Floats:
        """Their unit eigenvectors as columns, in the coordinates of X, of shape (p, d, m); codimension 1."""
        return self._principal[1]

    def _require_hypersurface(self, what: str) -> None:
        m, d = self.form.shape[2:]
        if d != m + 1:
            raise ValueError(
                f"{what} need one normal direction (d = m + 1), but m = {m} and d = {d}. "
                f"Use shape_operator with a normal of your choice."
            )


@dataclass(frozen=True, eq=False, repr=False)
class Curvatures:
    """The curvatures of a point cloud at p points; NaN where `valid` is False.

    Attributes
    ----------
    mean : ndarray of shape (p,)
        |H| = |tr II| / m; with `orient`, signed by the orientation.
    scalar : ndarray of shape (p,)
        Scalar curvature |tr II|² − |II|², each corrected for noise.
    gaussian : ndarray of shape (p,) or None
        Gaussian curvature of surfaces (m = 2), half the scalar curvature.
    principal : ndarray of shape (p, m) or None
        Principal curvatures, ascending, where d = m + 1: positive towards `normal`.
    normal : ndarray of shape (p, d) or None
        Unit normals, where d = m + 1: along tr II, or oriented over the cloud.
    squared_norm : ndarray of shape (p,)
        |II|² corrected for noise.
    standard_error : ndarray of shape (p,)
        The square root of the expected contribution of noise to |II|².
    valid : ndarray of bool, shape (p,)
        Whether the neighbours determine the fit.
    noise : ndarray of shape (p,)
        Standard deviation of the points about the surface in each normal direction.
    n_neighbors, intrinsic_dim, stages, order : int
        How it was estimated.
    second_neighbors : int or None
        Foot points of the second stage.
    noise_share : float or None
        The fraction of noise in the estimated squared error of one stage; None where k was given.
    """

    mean: Floats
    scalar: Floats
    gaussian: Floats | None
    principal: Floats | None
    normal: Floats | None
    squared_norm: Floats
    standard_error: Floats
    valid: NDArray[np.bool_]
    noise: Floats
    n_neighbors: int
    intrinsic_dim: int
    stages: int
    order: int
    second_neighbors: int | None
    noise_share: float | None

    def __len__(self) -> int:
        return len(self.mean)

    def __repr__(self) -> str:
        flagged = int((~self.valid).sum())
        return (
            f"{type(self).__name__}({len(self)} points, m = {self.intrinsic_dim}, n_neighbors = "
            f"{self.n_neighbors}, "
            f"stages = {self.stages}, order = {self.order}, flagged = {flagged})"
        )


def _known(variance: Floats) -> Floats:
    """Return the variance to subtract: 0 where it is unknown."""
    return np.where(np.isinf(variance), 0.0, variance)
