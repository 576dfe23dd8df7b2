"""The α of a grid with the largest eigengap, from few general eigenproblems and proven bounds for the rest.

H and K are the symmetric and the skew part of A = Σ_curv(α), h the eigenvalues of H, e those of A, both by
real part, descending, r their number. The bounds rest on these facts:

- Σ_{i≤j} Re e_i ≤ Σ_{i≤j} h_i for every j (Ky Fan), so Re e_m − Re e_{m+1} ≤ t/m − (tr A − t)/(r − m) with
  t = h_1 + … + h_m;
- Σ (Re e_i − h_i)² ≤ ‖K‖_F² (Kahan), so Σ|e_i| ≥ Σ|h_i| − √r ‖K‖_F, and Σ|e_i| ≥ |tr A|;
- Σ|h_i| and h_1 + … + h_j are convex functions of λ: chords bound them from above between
  two known values, and from below beyond them;
- `leading_gap` bounds Re e_m − Re e_{m+1} by the gap itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .blas_threads import eigenproblem_pool, side_by_side
from .leading import leading_gap
from .spectrum import (
    Criterion,
    choose_alpha,
    covariance_scale,
    curved_covariance,
    eigengap,
    eigenvalues,
    spectra,
)

Matrix = NDArray[np.float64]
Step = tuple[Callable[[int], None], int]

# For smaller matrices, all spectra are computed faster than bounds on them.
SMALLEST = 128
# Number of symmetric spectra over the grid that are computed first.
_ANCHORS = 6
_ROUNDING = 1e-10


class Choice(NamedTuple):
    """Result of `best_alpha`.

    Attributes
    ----------
    alpha : float
        The first α whose eigengap is the largest.
    gaps : ndarray of shape (a,) or None
        All eigengaps; None if some were not computed.
    """

    alpha: float
    gaps: Matrix | None


def all_gaps(
    covariance: Matrix,
    shape_operator: Matrix,
    alphas: Matrix,
    m: int,
    criterion: Criterion,
    threads: int,
    report: Callable[[int, int], object] | None = None,
) -> Matrix:
    """Return the eigengap at every α of a grid; `report` as in `best_alpha`."""
    if len(covariance) < SMALLEST:
        return np.atleast_1d(eigengap(spectra(covariance, shape_operator, alphas), m, criterion))
    with eigenproblem_pool(threads) as pool:
        gaps: list[float] = []
        for start in range(0, len(alphas), threads):
            some = alphas[start : start + threads].tolist()
            gaps += side_by_side(lambda a: _gap(covariance, shape_operator, a, m, criterion), some, pool)
            if report is not None:
                report(len(gaps), len(alphas))
    return np.array(gaps)


def best_alpha(
    covariance: Matrix,
    shape_operator: Matrix,
    alphas: Matrix,
    m: int,
    criterion: Criterion,
    threads: int,
    report: Callable[[int, int], object] | None = None,
) -> Choice:
    """Find the α with the largest eigengap, the same that `choose_alpha` takes from all eigengaps.

    An α is left out only when a bound on its gap is below the largest gap found. `report` is called with
    the number of settled α and the number of all α.
    """
    r = len(covariance)
    if r < SMALLEST or len(alphas) == 1 or 8 * (m + 1) > r:
        gaps = all_gaps(covariance, shape_operator, alphas, m, criterion, threads, report)
        return Choice(choose_alpha(alphas, gaps), gaps)
    search = _Search(covariance, shape_operator, alphas, m, criterion)
    with eigenproblem_pool(threads) as pool:
        steps: list[Step] = [(search.symmetric, i) for i in search.anchors()]
        while steps:
            # As many as there are threads, the most promising first.
            side_by_side(lambda step: step[0](step[1]), steps, pool)
            steps = search.next_steps(threads)
            if report is not None:
                report(search.settled(), len(alphas))
    known = np.flatnonzero(~np.isnan(search.gaps))
    return Choice(choose_alpha(alphas[known], search.gaps[known]), None)


def _gap(Sigma: Matrix, S: Matrix, alpha: float, m: int, criterion: Criterion) -> float:
    return float(eigengap(eigenvalues(curved_covariance(Sigma, S, alpha)), m, criterion))


class _Search:
    """What is known about the gaps, and ways to learn more, from cheap to expensive."""

    def __init__(self, Sigma: Matrix, S: Matrix, alphas: Matrix, m: int, criterion: Criterion) -> None:
        self.given = Sigma, S
        self.alphas, self.m, self.criterion = alphas, m, criterion
        # Gaps are dimensionless: in this unit, squares neither overflow nor underflow.
        unit = float(max(np.abs(Sigma).max(), np.abs(S).max() * covariance_scale(Sigma, S)))
        exponent = -int(np.frexp(unit)[1])
        self.Sigma, self.S = Sigma, S = np.ldexp(Sigma, exponent), np.ldexp(S, exponent)
        a, self.r = len(alphas), len(Sigma)
        scale = covariance_scale(Sigma, S)
        self.infinite = np.isinf(alphas)
        # Σ_curv = (Σ or 0) + weight · S̄
        self.weights = np.where(self.infinite, 1.0, alphas * scale)
        self.traces = np.where(self.infinite, 0.0, np.trace(Sigma)) + self.weights * np.trace(S)
        self.skew = self.weights * float(np.linalg.norm(S - S.T)) / 2
        self.gaps = np.full(a, np.nan)
        self.mass, self.first, self.sums = (np.full(a, np.nan) for _ in range(3))
        self.leading = np.full(a, np.inf)
        self.last = np.full(a, np.nan)
        self.tried = np.zeros(a, dtype=bool)

    def anchors(self) -> list[int]:
        order = np.argsort(self.alphas, kind="stable")
        places = order[np.linspace(0, len(order) - 1, min(_ANCHORS, len(order))).round().astype(int)]
        return [*dict.fromkeys([*places.tolist(), *np.flatnonzero(self.infinite).tolist()])]

    def matrix(self, i: int) -> Matrix:
        return curved_covariance(self.Sigma, self.S, self.alphas[i])

    def symmetric(self, i: int) -> None:
        """Take Σ|h|, h_1 and h_1 + … + h_m from the symmetric part."""
        A = self.matrix(i)
        h = np.linalg.eigvalsh((A + A.T) / 2)[::-1]
        self.mass[i], self.first[i], self.sums[i] = np.abs(h).sum(), h[0], h[: self.m].sum()

    def bound(self, i: int) -> None:
        """Bound the gap by that of the leading eigenvalues."""
        self.tried[i] = True
        found = leading_gap(self.matrix(i), self.m, self._above(self.first)[i])
        if found is not None:
            self.leading[i] = found.most
            self.last[i] = np.nan if found.last is None else found.last

    def exact(self, i: int) -> None:
        """Compute the gap."""
        self.gaps[i] = _gap(*self.given, self.alphas[i], self.m, self.criterion)

    def upper(self) -> Matrix:
        """Return a bound on every gap, or the gap itself where it is known."""
        t = self._above(self.sums)
        crude = t / self.m - (self.traces - t) / (self.r - self.m)
        most = np.minimum(self.leading, np.maximum(crude, 0.0) + _ROUNDING * np.abs(crude))
        if self.criterion == "mass":
            least = np.maximum(np.abs(self.traces), self._below(self.mass) - np.sqrt(self.r) * self.skew)
        else:
            least = np.where(np.isnan(self.last), 0.0, self.last)
        with np.errstate(divide="ignore", invalid="ignore"):
            bounds = np.where(least > 0, most / least * (1 + _ROUNDING), np.inf)
        return np.where(np.isnan(self.gaps), bounds, self.gaps)

    def next_steps(self, count: int) -> list[Step]:
        """Return what to do about the α that may still win, the highest bounds first."""
        upper = self.upper()
        open_ = self._open(upper)
        steps: list[Step] = []
        for i in np.argsort(-upper, kind="stable").tolist():
            if len(steps) == count:
                break
            if not open_[i]:
                continue
            if not self.tried[i]:
                steps.append((self.bound, i))
            elif self.criterion == "mass" and np.isnan(self.mass[i]):
                steps.append((self.symmetric, i))
            else:
                steps.append((self.exact, i))
        return steps

    def settled(self) -> int:
        return len(self.alphas) - int(self._open(self.upper()).sum())

    def _open(self, upper: Matrix) -> NDArray[np.bool_]:
        """Tell which α may still win, not counting those already computed."""
        highest = np.nanmax(self.gaps, initial=0.0)
        # Gaps that differ by rounding alone count as equal, see `choose_alpha`.
        result: NDArray[np.bool_] = np.isnan(self.gaps) & (upper >= highest * (1 - _ROUNDING))
        return result

    def _known(self, values: Matrix) -> tuple[Matrix, Matrix]:
        """Return λ, ascending, and the values known there."""
        known = np.flatnonzero(~np.isnan(values) & ~self.infinite)
        order = known[np.argsort(self.weights[known], kind="stable")]
        places, where = np.unique(self.weights[order], return_index=True)
        return places, values[order][where]

    def _above(self, values: Matrix) -> Matrix:
        """Bound a convex function of λ from above at every α: by the chords between known values."""
        x, y = self._known(values)
        return np.where(self.infinite, values, np.interp(self.weights, x, y))

    def _below(self, values: Matrix) -> Matrix:
        """Bound a convex function of λ from below at every α: by the neighbouring chords, extended."""
        x, y = self._known(values)
        bounds = np.interp(self.weights, x, y)
        inner = np.isnan(values) & ~self.infinite
        if len(x) > 1:
            slopes = np.diff(y) / np.diff(x)
            right = np.searchsorted(x, self.weights).clip(1, len(x) - 1)
            drawn = np.full((2, len(bounds)), -np.inf)
            left = right >= 2
            drawn[0, left] = (y[right - 1] + slopes[right - 2] * (self.weights - x[right - 1]))[left]
            before = right <= len(x) - 2
            ahead = np.minimum(right, len(slopes) - 1)
            drawn[1, before] = (y[right] + slopes[ahead] * (self.weights - x[right]))[before]
            bounds = np.where(inner, drawn.max(axis=0), bounds)
        return np.where(self.infinite, values, bounds)
