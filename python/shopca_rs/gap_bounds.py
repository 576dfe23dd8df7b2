"""Bounds on the gap after the leading eigenvalues of Σ + λS̄ for many λ, each by one Cholesky decomposition.

A = Σ + λS̄ has the symmetric part H. In an orthonormal basis [Q, Q'] with few columns in Q,

    A = [A₁₁ A₁₂; A₂₁ A₂₂],    A₁₁ = V F V⁻¹,    M = wI − H₂₂ positive definite.

Inertia theorem (Ostrowski and Schneider 1962): if P(A − zI) + (A − zI)ᵀP is positive definite for a Hermitian
P, then as many eigenvalues of A have a real part above z as P has positive eigenvalues, and all others have
one below. Take P = [V⁻ᴴ J V⁻¹, 0; 0, −I] with J = diag(1, …, 1, −1, …, −1), j times 1, and z ≥ w. By a Schur
complement, and since zI − H₂₂ − M is positive semidefinite, it is enough that

    J (Re F − zI) − Cᴴ M⁻¹ C is positive definite,    C = (A₁₂ᵀ V⁻ᴴ J − A₂₁ V)/2.

That holds for z in an interval. Its ends bound Re e_j from below and Re e_{j+1} from above, and sharply so if
Q nearly holds the leading eigenvectors, because C is small then.

One decomposition serves larger λ too. Let the symmetric part of S̄ be at most s ≥ 0 on Q'. When λ grows by δ,
H₂₂ grows by at most δs, so M⁻¹ still bounds what is needed for z ≥ w + δs.

S̄ is nearly symmetric but for a matrix of rank 2. Q includes the singular vectors of that matrix.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.linalg  # type: ignore[import-untyped]
from numpy.typing import NDArray

from .leading import cholesky_beyond

Matrix = NDArray[np.float64]

# Columns of Q beyond the m + 1 leading ones. Half of them lie below w and keep H₂₂ away from it.
_EXTRA = 12
# Bounds s on S̄'s symmetric part that are tried, in multiples of its mean eigenvalue.
_DRIFTS = (1e-3, 1e-1)
# Length at which what is left of a unit column counts as rounding.
_DEPENDENT = 1e-8
# Leading singular vectors of the skew part that are sought; Q has the first two.
_PLANE = 4
# Powers of the skew part that are applied to find its leading singular vectors.
_POWERS = 6
_ROUNDING = 1e-10


class Bounds(NamedTuple):
    """Result of `GapBounds.at`, one entry for each λ.

    Attributes
    ----------
    most : ndarray
        Upper bounds on Re e_m − Re e_{m+1}, ∞ where none was found.
    least : ndarray
        Lower bounds on it, at least 0.
    between : ndarray
        A number above Re e_{m+1} and below Re e_m where the lower bound is not 0, else NaN.
    last : ndarray
        Lower bounds on |e_m|, at least 0.
    """

    most: Matrix
    least: Matrix
    between: Matrix
    last: Matrix

    @classmethod
    def unknown(cls, count: int) -> Self:
        """Return bounds that say nothing."""
        return cls(np.full(count, np.inf), np.zeros(count), np.full(count, np.nan), np.zeros(count))


class _Basis(NamedTuple):
    """Orthonormal columns and their products with Σ, S̄ and S̄ᵀ."""

    columns: Matrix
    covariance: Matrix
    right: Matrix
    left: Matrix


class GapBounds:
    """Bounds on Re e_m − Re e_{m+1} of Σ + λS̄ for any λ ≥ 0.

    Vectors near the leading eigenvectors of the symmetric part at some λ must be given by `add` first.
    """

    def __init__(self, covariance: Matrix, shape_operator: Matrix, m: int) -> None:
        self.Sigma, self.S, self.m = covariance, shape_operator, m
        self.symmetric = (self.S + self.S.T) / 2
        skew = _skew_part(self.S)
        self.plane = _leading_singular_vectors(skew)
        self.strong = self.plane[:, :2]
        product = skew @ self.plane
        self.skew_norm = float(np.linalg.norm(skew))
        self.coupling = _skew_part(self.plane.T @ product)
        self.skew_beyond = float(np.linalg.norm(skew - self.plane @ self.coupling @ self.plane.T))
        product = product[:, :2]
        rest = float(np.linalg.norm(skew - product @ self.strong.T))
        # The trace norm is at most √rank times the Frobenius norm, for each of two parts.
        self.skew_trace_norm = np.sqrt(2) * float(np.linalg.norm(product)) + np.sqrt(len(skew)) * rest
        self.waiting: list[Matrix] = [self.strong]
        empty = np.empty((len(skew), 0))
        self.basis = _Basis(empty, empty, empty, empty)

    @property
    def wanted(self) -> int:
        """Number of leading eigenvectors to give for one λ."""
        return self.m + 1 + _EXTRA

    def add(self, vectors: Matrix) -> None:
        """Give columns that are near leading eigenvectors at some λ, to be used after `prepare`."""
        if np.isfinite(vectors).all():
            self.waiting.append(vectors)

    def prepare(self) -> None:
        """Use all vectors that were given. `at` may then be called from several threads."""
        for vectors in self.waiting:
            W = self.basis.columns
            new = vectors
            # Twice is enough (Kahan): the second time removes what rounding left.
            for _ in range(2):
                Q, R, _ = scipy.linalg.qr(new - W @ (W.T @ new), mode="economic", pivoting=True)
                new = Q[:, np.abs(np.diag(R)) > _DEPENDENT]
            parts = new, self.Sigma @ new, self.S @ new, self.S.T @ new
            self.basis = _Basis(*(np.hstack(pair) for pair in zip(self.basis, parts, strict=True)))
        self.waiting = []

    def at(self, place: float, places: Matrix) -> Bounds:
        """Bound the gaps at `places`, which ascend from `place`, by a decomposition at `place`."""
        bounds = Bounds.unknown(len(places))
        made = self._reduced(place)
        if made is None:
            return bounds
        for i, other in enumerate(places):
            found = made.bounds(other - place, self.m)
            if found is None:
                break
            for numbers, number in zip(bounds, found, strict=True):
                numbers[i] = number
        return bounds

    def ritz_values(self, matrix: Matrix, vectors: Matrix) -> NDArray[Any]:
        """Approximate the m leading eigenvalues of Σ + λS̄ by those in a basis, by real part, descending.

        The basis has the strong directions and `vectors`, leading eigenvectors of the symmetric part.
        """
        Q = np.linalg.qr(np.hstack([self.strong, vectors]))[0]
        values = np.linalg.eigvals(Q.T @ (matrix @ Q))
        return values[np.argsort(-values.real, kind="stable")][: self.m]

    def _reduced(self, place: float) -> _Reduced | None:
        W, *products = self.basis
        first = self.strong.shape[1]
        H = self.Sigma + place * self.symmetric
        small = W.T @ (products[0] + place * (products[1] + products[2]) / 2)
        if len(small) < first + self.wanted:
            return None
        values, vectors = np.linalg.eigh(small[first:, first:])
        turn = np.zeros((len(small), first + self.wanted))
        turn[:first, :first] = np.eye(first)
        turn[first:, first:] = vectors[:, ::-1][:, : self.wanted]
        level = float(values[::-1][self.m + 1 + _EXTRA // 2])
        Q, SigmaQ, right, left = (part @ turn for part in (W, *products))
        factor = cholesky_beyond(H, Q, SigmaQ + place * (right + left) / 2, level)
        if factor is None:
            return None
        A, change = SigmaQ + place * right, left - right
        outside = [part - Q @ (Q.T @ part) for part in (A, right, change)]
        solved = scipy.linalg.lapack.dtrtrs(factor, np.hstack(outside), lower=True)[0]
        rounding = len(W) * np.finfo(np.float64).eps * float(np.linalg.norm(H))
        return _Reduced(
            place, level + rounding, self._drift, Q.T @ A, Q.T @ right, solved.T @ solved, rounding
        )

    @cached_property
    def _drift(self) -> float:
        """Bound on the symmetric part of S̄ from above beyond its strong directions; ∞ if none is small."""
        mean = abs(float(np.trace(self.S))) / len(self.S)
        product = self.symmetric @ self.strong
        for share in _DRIFTS:
            if cholesky_beyond(self.symmetric, self.strong, product, share * mean) is not None:
                return share * mean * (1 + _ROUNDING)
        return float("inf")


class _Reduced(NamedTuple):
    """What one decomposition leaves: small matrices in the basis Q.

    `products` is NᵀM⁻¹N for the parts N = [A₂₁, Q'ᵀS̄Q, Q'ᵀ(S̄ᵀ − S̄)Q].
    """

    place: float
    level: float
    drift: float
    matrix: Matrix
    slope: Matrix
    products: Matrix
    rounding: float

    def bounds(self, step: float, m: int) -> tuple[float, float, float, float] | None:
        """Bound the gap from both sides and |e_m| from below at `place` + `step`, as `Bounds` does."""
        q = len(self.matrix)
        level = self.level + (step * self.drift if step else 0.0)
        small = self.matrix + step * self.slope
        values, V = np.linalg.eig(small)
        order = np.argsort(-values.real, kind="stable")
        values, V = values[order], V[:, order]
        if not values.real[m] > level:
            return None
        try:
            inverse = np.linalg.inv(V)
        except np.linalg.LinAlgError:
            return None
        # A₁₂ᵀV⁻ᴴ and A₂₁V by the three parts.
        above = np.vstack([np.eye(q), step * np.eye(q), (self.place + step) * np.eye(q)]) @ inverse.conj().T
        below = np.vstack([np.eye(q), step * np.eye(q), np.zeros((q, q))]) @ V
        # The lengths of eigenvectors are free: with these, the two parts of C have the same size.
        sizes = [np.einsum("ij,ij->j", part.conj(), self.products @ part).real for part in (above, below)]
        tiny = 1e-12 * max(float(sizes[0].max()), float(sizes[1].max())) + np.finfo(np.float64).tiny
        lengths = ((sizes[0] + tiny) / (sizes[1] + tiny)) ** 0.25
        above, below = above / lengths, below * lengths
        error = float(np.linalg.norm((inverse @ small @ V - np.diag(values)) * lengths / lengths[:, None]))
        slack = error + self.rounding

        def between(j: int) -> tuple[float, float] | None:
            """Bound Re e_{j+1} from above and Re e_j from below."""
            signs = np.where(np.arange(q) < j, 1.0, -1.0)
            C = (above * signs - below) / 2
            loss = C.conj().T @ self.products @ C + slack * np.eye(q)
            return _interval(values.real, signs, loss, j, level)

        over = next((found for j in range(m - 1, -1, -1) if (found := between(j))), None)
        under = next(
            (found for j in range(m + 1, min(m + _EXTRA // 2, q) + 1) if (found := between(j))), None
        )
        if over is None or under is None:
            return None
        own = between(m)
        last = max(0.0 if own is None else own[1], -over[0], 0.0) * (1 - _ROUNDING)
        slack = _ROUNDING * max(abs(over[0]), abs(under[1]))
        most = max(over[0] - under[1], 0.0) + slack
        if own is None or own[1] - own[0] <= slack:
            return most, 0.0, float("nan"), last
        return most, own[1] - own[0] - slack, (own[0] + own[1]) / 2, last


def _interval(
    values: Matrix, signs: Matrix, loss: NDArray[np.complex128], j: int, level: float
) -> tuple[float, float] | None:
    """Return the z ≥ level for which J (F − zI) − loss is positive definite, None if there are none."""
    # Its determinant vanishes at the ends: eigenvalues of F − J · loss.
    ends = np.linalg.eigvals(np.diag(values) - signs[:, None] * loss).real
    ends[::-1].sort()
    low = max(float(ends[j]), level) if j < len(ends) else level
    high = float(ends[j - 1]) if j else low + 1 + abs(low)
    if not low < high:
        return None
    inside = np.diag(signs * (values - (low + high) / 2)) - loss
    if not np.linalg.eigvalsh(inside)[0] > 0:
        return None
    return low, high


def _skew_part(matrix: Matrix) -> Matrix:
    return (matrix - matrix.T) / 2


def _leading_singular_vectors(skew: Matrix) -> Matrix:
    """Return an orthonormal basis near the leading singular vectors of a skew matrix, none if it is 0."""
    n = len(skew)
    if not skew.any():
        return np.empty((n, 0))
    basis = np.cos(np.arange(_PLANE * n)).reshape(n, _PLANE)
    for _ in range(_POWERS):
        basis = np.linalg.qr(skew @ basis)[0]
    return basis
