"""The α of a grid with the largest eigengap, from few general eigenproblems and proven bounds for the rest.

H and K are the symmetric and the skew part of A = Σ_curv(α), h the eigenvalues of H, e those of A, both by
real part, descending, r their number. The bounds rest on these facts:

- Σ_{i≤j} Re e_i ≤ Σ_{i≤j} h_i for every j (Ky Fan), so Re e_m − Re e_{m+1} ≤ t/m − (tr A − t)/(r − m) with
  t = h_1 + … + h_m;
- Σ|e_i| ≥ |tr A|;
- Σ (Re e_i − h_i)² ≤ ‖K‖_F² (Kahan 1975), so Σ|e_i| ≥ Σ|h_i| − √r ‖K‖_F;
- In some basis A is triangular, and the entries of H and K beside the diagonal are the same but for a sign
  that depends on j − i. Therefore Σ|e_i| ≥ Σ|h_i| − c ‖K‖_* (Mirsky), where c is the sum of the absolute
  Fourier coefficients of that sign, (1/r) Σ |cot((2k − 1)π/2r)| over k ≤ r, about (2/π) ln r + 0.7;
- Re e is majorized by h (Ky Fan), and Σ (Re e_i)² ≥ tr A² = Σ h_i² − ‖K‖_F². For c > 0 the function
  ψ(x) = max(c x² − |x|, 0) is convex, so Σ ψ(Re e_i) ≤ Σ ψ(h_i), and |x| ≥ c x² − ψ(x). Therefore
  Σ|e_i| ≥ Σ min(c h_i², |h_i|) − c ‖K‖_F²;
- Σ|h_i| and h_1 + … + h_j are convex functions of λ: chords bound them from above between
  two known values, and from below beyond them;
- `GapBounds` bounds Re e_m − Re e_{m+1} from above, and `leading_gap` does so by the gap itself.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .blas_threads import eigenproblem_pool, side_by_side, start
from .gap_bounds import Bounds, GapBounds
from .leading import leading_gap
from .partial_eigen import symmetric_spectrum
from .spectrum import (
    Criterion,
    choose_alpha,
    covariance_scale,
    curved_covariance,
    eigengap,
    eigenvalues,
    spectra,
    symmetric_part,
)

Matrix = NDArray[np.float64]
Step = tuple[Callable[[int], Any], int]

# For smaller matrices, the symmetric spectra of all α are computed faster than better bounds.
SMALLEST = 128
# For even smaller ones, nothing is faster than all general spectra.
_FEW = 16
# Number of symmetric spectra over the grid that are computed first.
_ANCHORS = 5
# A bound is tried on this many α that follow.
_REACH = 12
# By which factor a bound is expected to improve when Σ|h| or the leading eigenvalues are computed.
_LOOSE = 0.97
# By which factor a gap that is being computed is expected to be below its bound.
_EXPECTED = 0.99
# Places of the grid between α that are bounded side by side.
_NEAR = 3
_ROUNDING = 1e-10


class Choice(NamedTuple):
    """Result of `best_alpha`.

    Attributes
    ----------
    alpha : float
        The first α whose eigengap is the largest.
    gaps : ndarray of shape (a,) or None
        All eigengaps; None if some were not computed.
    spectrum : ndarray of shape (d,) or None
        Eigenvalues at that α by real part, descending; None if the matrix is small.
    """

    alpha: float
    gaps: Matrix | None
    spectrum: NDArray[Any] | None = None


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
            gaps += side_by_side(
                lambda a: float(eigengap(_spectrum(covariance, shape_operator, a), m, criterion)), some, pool
            )
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
    if _FEW <= r < SMALLEST and len(alphas) > 1 and m < r:
        return _choose_from_stack(covariance, shape_operator, alphas, m, criterion)
    if r >= SMALLEST and len(alphas) == 1:
        with eigenproblem_pool(1):
            spectrum = _spectrum(covariance, shape_operator, alphas[0])
        return Choice(float(alphas[0]), np.array([eigengap(spectrum, m, criterion)]), spectrum)
    if r < SMALLEST or 8 * (m + 1) > r:
        gaps = all_gaps(covariance, shape_operator, alphas, m, criterion, threads, report)
        return Choice(choose_alpha(alphas, gaps), gaps)
    search = _Search(covariance, shape_operator, alphas, m, criterion)
    with eigenproblem_pool(threads) as pool:
        first: list[Step] = [(search.symmetric, i) for i in search.anchors()]
        search.learn(first, side_by_side(lambda step: step[0](step[1]), first, pool))
        running: dict[Future[Any], Step] = {}
        while True:
            for step in search.next_steps(threads - len(running), running.values()):
                running[start(*step, pool)] = step
            if not running:
                break
            done = wait(running, return_when=FIRST_COMPLETED).done
            search.learn([running.pop(future) for future in done], [future.result() for future in done])
            if report is not None:
                report(search.settled(), len(alphas))
    known = np.flatnonzero(~np.isnan(search.gaps))
    alpha = choose_alpha(alphas[known], search.gaps[known])
    return Choice(alpha, None, search.spectra[int(known[alphas[known] == alpha][0])])


def _choose_from_stack(Sigma: Matrix, S: Matrix, alphas: Matrix, m: int, criterion: Criterion) -> Choice:
    """Choose α from all symmetric spectra and those general ones whose gap may be the largest."""
    h = spectra(Sigma, symmetric_part(S), alphas)
    infinite = np.isinf(alphas)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        weights = np.where(infinite, 1.0, alphas * covariance_scale(Sigma, S))
        skew = weights * (np.linalg.norm(S - S.T) / 2)
        # Kahan: the real parts differ from h by no more than `skew`, as vectors.
        most = h[:, m - 1] - h[:, m] + np.sqrt(2) * skew
        if criterion == "mass":
            least = np.maximum(np.abs(h.sum(axis=1)), np.abs(h).sum(axis=1) - np.sqrt(len(S)) * skew)
        else:
            least = np.abs(h[:, m - 1]) - skew
        upper = np.where(least > 0, (most + _ROUNDING * np.abs(h).max(axis=1)) / least, np.inf)
    upper[np.isnan(upper)] = np.inf
    # The highest bounds first; then those that are not below the largest gap found.
    order = np.argsort(-upper, kind="stable")
    gaps = np.full(len(alphas), -np.inf)
    some = order[: max(len(alphas) // 8, 1)]
    while len(some):
        gaps[some] = eigengap(spectra(Sigma, S, alphas[some]), m, criterion)
        some = np.flatnonzero(np.isneginf(gaps) & (upper >= gaps.max() * (1 - _ROUNDING)))
    known = np.flatnonzero(np.isfinite(gaps))
    return Choice(choose_alpha(alphas[known], gaps[known]), gaps if len(known) == len(alphas) else None)


def _spectrum(Sigma: Matrix, S: Matrix, alpha: float) -> NDArray[Any]:
    return eigenvalues(curved_covariance(Sigma, S, alpha))


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
        self.bounds = GapBounds(Sigma, S, m)
        self.skew = self.weights * self.bounds.skew_norm
        reflection = float(np.mean(np.abs(1 / np.tan(np.arange(1, 2 * self.r, 2) * np.pi / (2 * self.r)))))
        self.loss = np.minimum(
            np.sqrt(self.r) * self.skew, reflection * self.bounds.skew_trace_norm * self.weights
        )
        self.gaps = np.full(a, np.nan)
        self.spectra: dict[int, NDArray[Any]] = {}
        self.mass, self.first, self.sums = (np.full(a, np.nan) for _ in range(3))
        self.least = np.abs(self.traces)
        self.leading = np.full(a, np.inf)
        self.last = np.zeros(a)
        self.bounded, self.tried = np.zeros((2, a), dtype=bool)
        # In the order of λ, infinite ones left out: a bound at one α also holds for those that follow.
        self.order = np.argsort(self.weights, kind="stable")
        self.order = self.order[~self.infinite[self.order]]
        self.ranks = np.full(a, -1)
        self.ranks[self.order] = np.arange(len(self.order))

    def anchors(self) -> list[int]:
        order = np.argsort(self.alphas, kind="stable")
        places = order[np.linspace(0, len(order) - 1, min(_ANCHORS, len(order))).round().astype(int)]
        return [*dict.fromkeys([*places.tolist(), *np.flatnonzero(self.infinite).tolist()])]

    def matrix(self, i: int) -> Matrix:
        scaled: Matrix = self.weights[i] * self.S
        return scaled if self.infinite[i] else self.Sigma + scaled

    # The steps only compute, in any thread; `learn` notes what they return, in one thread.

    def symmetric(self, i: int) -> tuple[Matrix, Matrix]:
        """Compute all eigenvalues and the leading eigenvectors of the symmetric part."""
        H = self.weights[i] * self.bounds.symmetric
        return symmetric_spectrum(H if self.infinite[i] else self.Sigma + H, self.bounds.wanted)

    def bound(self, i: int) -> Bounds:
        """Bound the gaps of this α and of those that follow."""
        following = self.order[self.ranks[i] : self.ranks[i] + 1 + _REACH]
        most, last = np.full(len(self.alphas), np.inf), np.zeros(len(self.alphas))
        found = self.bounds.at(self.weights[i], self.weights[following])
        most[following], last[following] = found
        return Bounds(most, last)

    def solve(self, i: int) -> Bounds:
        """Bound the gap by that of the leading eigenvalues themselves."""
        most, last = np.full(len(self.alphas), np.inf), np.zeros(len(self.alphas))
        found = leading_gap(self.matrix(i), self.m, self._above(self.first)[i])
        if found is not None:
            most[i], last[i] = found.most, found.last or 0.0
        return Bounds(most, last)

    def exact(self, i: int) -> NDArray[Any]:
        """Compute the spectrum."""
        return _spectrum(*self.given, self.alphas[i])

    def learn(self, steps: list[Step], found: list[Any]) -> None:
        """Keep what was found and the best of all bounds, and note what was done."""
        for (step, i), result in zip(steps, found, strict=True):
            if step == self.symmetric:
                self._learn_symmetric(i, *result)
            elif step == self.exact:
                self.spectra[i] = result
                self.gaps[i] = float(eigengap(result, self.m, self.criterion))
            else:
                self.leading = np.minimum(self.leading, result.most)
                self.last = np.maximum(self.last, result.last)
                (self.bounded if step == self.bound else self.tried)[i] = True
        self.bounds.prepare()

    def _learn_symmetric(self, i: int, h: Matrix, vectors: Matrix) -> None:
        self.mass[i], self.first[i], self.sums[i] = np.abs(h).sum(), h[0], h[: self.m].sum()
        slopes = np.geomspace(1, 1e4, 24)[:, None] / np.abs(h).max(initial=np.finfo(np.float64).tiny)
        lower = np.minimum(slopes * h**2, np.abs(h)).sum(axis=1) - slopes[:, 0] * self.skew[i] ** 2
        self.least[i] = max(self.least[i], lower.max())
        if not self.infinite[i]:
            self.bounds.add(vectors)
        # With these vectors the bound here is sharp, and what failed elsewhere may succeed.
        self.bounded &= self.leading < np.inf
        self.bounded[i] = False

    def upper(self) -> Matrix:
        """Return a bound on every gap, or the gap itself where it is known."""
        t = self._above(self.sums)
        crude = t / self.m - (self.traces - t) / (self.r - self.m)
        most = np.minimum(self.leading, np.maximum(crude, 0.0) + _ROUNDING * np.abs(crude))
        if self.criterion == "mass":
            least = np.maximum(self.least, self._below(self.mass) - self.loss)
        else:
            least = self.last
        with np.errstate(divide="ignore", invalid="ignore"):
            bounds = np.where(least > 0, most / least * (1 + _ROUNDING), np.inf)
        return np.where(np.isnan(self.gaps), bounds, self.gaps)

    def next_steps(self, count: int, running: Collection[Step] = ()) -> list[Step]:
        """Return what to do about the α that may still win, the highest bounds first.

        Beside a whole spectrum, α that it will probably settle wait, and others that need one come last.
        """
        upper = self.upper()
        open_ = self._open(upper)
        open_[[i for _, i in running]] = False
        # What the bounds will be at best when Σ|h| is known.
        hoped = self.leading / np.maximum(self._above(self.mass) - self.loss, self.least)
        steps: list[Step] = []
        others: list[Step] = []
        for i in np.argsort(-upper, kind="stable").tolist():
            if len(steps) == count:
                break
            chosen = [*running, *steps]
            exact = [j for step, j in chosen if step == self.exact]
            highest = max(np.nanmax(self.gaps, initial=0.0), _EXPECTED * upper[exact].max(initial=0.0))
            if not open_[i] or upper[i] < highest:
                continue
            step = self._step(i, float(upper[i]), float(hoped[i]), float(highest))
            if step == self.bound and any(
                other == step and 0 < abs(self.ranks[i] - self.ranks[j]) <= _NEAR for other, j in chosen
            ):
                continue
            (others if exact and step == self.exact else steps).append((step, i))
        return [*steps, *others][:count]

    def _step(self, i: int, upper: float, hoped: float, highest: float) -> Callable[[int], Any]:
        """Return the cheapest step that may settle an α whose bound is `upper` and may become `hoped`.

        `highest` is the largest gap that is known or expected, 0 if there is none.
        """
        unknown = self.leading[i] == np.inf
        if not self.bounded[i] and not self.infinite[i]:
            return self.bound
        if unknown or self.criterion != "mass":
            if np.isnan(self.mass[i]):
                return self.symmetric
            return self.exact if self.tried[i] else self.solve
        # Σ|h| is worth its price if that may be enough.
        if np.isnan(self.mass[i]) and hoped < (highest or _LOOSE * upper):
            return self.symmetric
        return self.exact if self.tried[i] or _LOOSE * upper > highest else self.solve

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
