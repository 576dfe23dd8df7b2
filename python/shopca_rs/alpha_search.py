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
- `spectrum_mass_bound` bounds Σ|e_i| from below, sharply where K has a small rank;
- Σ|Re e_i| ≤ Σ|h_i| and Σ|Im e_i| ≤ ‖K‖_* (Ky Fan) bound it from above;
- `GapBounds` bounds Re e_m − Re e_{m+1} from both sides, and `leading_gap` from above by the gap itself.

So each gap lies in an interval, and an α is chosen once its interval lies above all others.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .alpha_stack import Choice, choose_from_stack
from .blas_threads import eigenproblem_pool, side_by_side, start
from .convex import convex_above, convex_below
from .gap_bounds import Bounds, GapBounds
from .leading import leading_gap
from .partial_eigen import SymmetricSpectrum, symmetric_spectrum
from .spectrum import (
    Criterion,
    choose_alpha,
    covariance_scale,
    curved_covariance,
    eigengap,
    eigenvalues,
    spectra,
)
from .spectrum_mass import spectrum_mass_bound

Matrix = NDArray[np.float64]
Step = tuple[Callable[[int], Any], int]

# For smaller matrices, the symmetric spectra of all α are computed faster than better bounds.
SMALLEST = 128
# For even smaller ones, nothing is faster than all general spectra.
_FEW = 16
# Number of symmetric spectra over the grid that are computed first.
_ANCHORS = 3
# A bound is tried on this many α that follow.
_REACH = 12
# Bounds from both sides are good if the lower one is at least this share of the upper one: of the gap itself,
# and of its numerator.
_GOOD, _SHARP = 0.9, 0.999
# Places of the grid between α that are bounded side by side.
_NEAR = 3
_ROUNDING = 1e-10


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
        return choose_from_stack(covariance, shape_operator, alphas, m, criterion)
    if r >= SMALLEST and len(alphas) == 1:
        with eigenproblem_pool(1):
            spectrum = _spectrum(covariance, shape_operator, alphas[0])
        return Choice(float(alphas[0]), np.array([eigengap(spectrum, m, criterion)]), spectrum)
    if r < SMALLEST or 8 * (m + 1) > r:
        gaps = all_gaps(covariance, shape_operator, alphas, m, criterion, threads, report)
        return Choice(choose_alpha(alphas, gaps), gaps)
    search = _Search(covariance, shape_operator, alphas, m, criterion)
    with eigenproblem_pool(threads) as pool:
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
    return search.choice()


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
        self.exponent = exponent
        self.Sigma, self.S = Sigma, S = np.ldexp(Sigma, exponent), np.ldexp(S, exponent)
        a, self.r = len(alphas), len(Sigma)
        scale = covariance_scale(Sigma, S)
        self.infinite = np.isinf(alphas)
        # Σ_curv = (Σ or 0) + weight · S̄
        self.weights = np.where(self.infinite, 1.0, alphas * scale)
        self.traces = np.where(self.infinite, 0.0, np.trace(Sigma)) + self.weights * np.trace(S)
        self.bounds = GapBounds(Sigma, S, m)
        self.skew = self.weights * self.bounds.skew_norm
        self.imaginary = self.weights * min(
            np.sqrt(self.r) * self.bounds.skew_norm, self.bounds.skew_trace_norm
        )
        reflection = float(np.mean(np.abs(1 / np.tan(np.arange(1, 2 * self.r, 2) * np.pi / (2 * self.r)))))
        self.loss = np.minimum(
            np.sqrt(self.r) * self.skew, reflection * self.bounds.skew_trace_norm * self.weights
        )
        self.gaps = np.full(a, np.nan)
        self.spectra: dict[int, NDArray[Any]] = {}
        self.vectors: dict[int, Matrix] = {}
        self.mass, self.first, self.sums = (np.full(a, np.nan) for _ in range(3))
        self.least = np.abs(self.traces)
        self.bounds_of_gaps = Bounds.unknown(a)
        self.bounded, self.tried = np.zeros((2, a), dtype=bool)
        # In the order of λ, infinite ones left out: a bound at one α also holds for those that follow.
        self.order = np.argsort(self.weights, kind="stable")
        self.order = self.order[~self.infinite[self.order]]
        self.ranks = np.full(a, -1)
        self.ranks[self.order] = np.arange(len(self.order))
        self.first_steps: list[Step] = [(self.symmetric, i) for i in self._anchors()]

    def _anchors(self) -> list[int]:
        # Chords bound nothing beyond the first and the last known value, so both ends take part.
        order = self.order
        places = order[np.linspace(0, len(order) - 1, min(_ANCHORS, len(order))).round().astype(int)]
        return [*dict.fromkeys([*places.tolist(), *np.flatnonzero(self.infinite).tolist()])]

    def matrix(self, i: int) -> Matrix:
        scaled: Matrix = self.weights[i] * self.S
        return scaled if self.infinite[i] else self.Sigma + scaled

    # The steps only compute, in any thread; `learn` notes what they return, in one thread.

    def symmetric(self, i: int) -> tuple[SymmetricSpectrum, float]:
        """Compute all eigenvalues and the leading eigenvectors of the symmetric part, and bound Σ|e|."""
        weight, bounds = self.weights[i], self.bounds
        H = weight * bounds.symmetric
        found = symmetric_spectrum(H if self.infinite[i] else self.Sigma + H, bounds.wanted)
        if self.criterion != "mass" or not bounds.skew_norm:
            return found, 0.0
        least = spectrum_mass_bound(
            found.values,
            found.form.diagonal,
            found.form.beside,
            found.turned(bounds.plane),
            weight * bounds.coupling,
            weight * bounds.skew_beyond,
        )
        return found, least

    def bound(self, i: int) -> Bounds:
        """Bound the gaps of this α and of those that follow."""
        following = self.order[self.ranks[i] : self.ranks[i] + 1 + _REACH]
        bounds = Bounds.unknown(len(self.alphas))
        for numbers, found in zip(
            bounds, self.bounds.at(self.weights[i], self.weights[following]), strict=True
        ):
            numbers[following] = found
        return bounds

    def solve(self, i: int) -> Bounds:
        """Bound the gap by that of the leading eigenvalues themselves."""
        bounds = Bounds.unknown(len(self.alphas))
        found = leading_gap(self.matrix(i), self.m, self._above(self.first)[i])
        if found is not None:
            bounds.most[i], bounds.least[i] = found.most, found.least
            bounds.between[i], bounds.last[i] = found.between, found.last or 0.0
        return bounds

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
                self._learn_bounds(result)
                (self.bounded if step == self.bound else self.tried)[i] = True
        self.bounds.prepare()

    def _learn_bounds(self, new: Bounds) -> None:
        old = self.bounds_of_gaps
        self.bounds_of_gaps = Bounds(
            np.minimum(old.most, new.most),
            np.maximum(old.least, new.least),
            np.where(new.least > old.least, new.between, old.between),
            np.maximum(old.last, new.last),
        )

    def _learn_symmetric(self, i: int, found: SymmetricSpectrum, least: float) -> None:
        h = found.values
        self.vectors[i] = found.vectors
        self.mass[i], self.first[i], self.sums[i] = np.abs(h).sum(), h[0], h[: self.m].sum()
        slopes = np.geomspace(1, 1e4, 24)[:, None] / np.abs(h).max(initial=np.finfo(np.float64).tiny)
        lower = np.minimum(slopes * h**2, np.abs(h)).sum(axis=1) - slopes[:, 0] * self.skew[i] ** 2
        self.least[i] = max(self.least[i], lower.max(), least)
        if not self.infinite[i]:
            self.bounds.add(found.vectors)
        # With these vectors the bound here is sharp, and what failed elsewhere may succeed.
        self.bounded &= self.bounds_of_gaps.most < np.inf
        self.bounded[i] = False

    def upper(self) -> Matrix:
        """Return a bound on every gap, or the gap itself where it is known."""
        t = self._above(self.sums)
        crude = t / self.m - (self.traces - t) / (self.r - self.m)
        most = np.minimum(self.bounds_of_gaps.most, np.maximum(crude, 0.0) + _ROUNDING * np.abs(crude))
        if self.criterion == "mass":
            least = np.maximum(self.least, self._below(self.mass) - self.loss)
        else:
            least = self.bounds_of_gaps.last
        with np.errstate(divide="ignore", invalid="ignore"):
            bounds = np.where(least > 0, most / least * (1 + _ROUNDING), np.inf)
        return np.where(np.isnan(self.gaps), bounds, self.gaps)

    def lower(self) -> Matrix:
        """Return a lower bound on every gap, or the gap itself where it is known."""
        bounds = np.zeros(len(self.alphas))
        if self.criterion == "mass":
            most = self._above(self.mass) + self.imaginary
            with np.errstate(divide="ignore", invalid="ignore"):
                bounds = np.where(most > 0, self.bounds_of_gaps.least / most * (1 - _ROUNDING), 0.0)
        return np.where(np.isnan(self.gaps), bounds, self.gaps)

    def next_steps(self, count: int, running: Collection[Step] = ()) -> list[Step]:
        """Return what to do about the α that may still win, the highest bounds first.

        Whole spectra of α that have good bounds on both sides come when nothing else is left to do.
        """
        steps, self.first_steps = self.first_steps[:count], self.first_steps[count:]
        if len(steps) == count or np.isnan(self.mass).all():
            return steps
        upper, lower = self.upper(), self.lower()
        able = self._able(upper, lower)
        if able.sum() == 1:
            return steps
        open_ = able & np.isnan(self.gaps)
        open_[[i for _, i in [*running, *steps]]] = False
        if any(step == self.symmetric for step, _ in [*running, *steps]):
            # It will bound what has no bound yet.
            open_ &= upper < np.inf
        order = [i for i in np.argsort(-upper, kind="stable").tolist() if open_[i]]
        for i in order:
            if len(steps) == count:
                break
            step = self._step(i, upper[i], lower[i])
            chosen = [*running, *steps]
            near = step == self.bound and any(
                other == step and abs(self.ranks[i] - self.ranks[j]) <= _NEAR for other, j in chosen
            )
            if step is not None and not near:
                steps.append((step, i))
        return steps or ([] if running else [(self.exact, i) for i in order[:count]])

    def _step(self, i: int, upper: float, lower: float) -> Callable[[int], Any] | None:
        """Return the cheapest step that may settle an α, None if all are taken and its bounds are good."""
        most, least = self.bounds_of_gaps.most[i], self.bounds_of_gaps.least[i]
        if not self.bounded[i] and not self.infinite[i]:
            return self.bound
        if np.isnan(self.mass[i]) and (self.criterion == "mass" or most == np.inf):
            return self.symmetric
        if not self.tried[i] and least < _SHARP * most:
            return self.solve
        return self.exact if lower < _GOOD * upper else None

    def _able(self, upper: Matrix, lower: Matrix) -> NDArray[np.bool_]:
        """Tell which α may have the largest gap."""
        # Gaps that differ by rounding alone count as equal, see `choose_alpha`.
        result: NDArray[np.bool_] = upper >= lower.max() * (1 - _ROUNDING)
        return result

    def settled(self) -> int:
        """Count the α that cannot win or whose gap is known; all of them once the winner is known."""
        able = self._able(self.upper(), self.lower())
        open_ = int((able & np.isnan(self.gaps)).sum())
        return len(self.alphas) - (0 if able.sum() == 1 else open_)

    def choice(self) -> Choice:
        """Return the α with the largest gap, after the last step."""
        able = np.flatnonzero(self._able(self.upper(), self.lower()))
        if len(able) > 1:
            able = able[self.alphas[able] == choose_alpha(self.alphas[able], self.gaps[able])]
        i = int(able[0])
        # Both depend on α alone, not on the steps that led to it, of which more threads take others.
        vectors = self.vectors[i] if i in self.vectors else self.symmetric(i)[0].vectors
        leading = self.bounds.ritz_values(self.matrix(i), vectors)
        spectrum, above = self.spectra.get(i), self.bounds_of_gaps.between[i]
        if spectrum is not None:
            above = np.ldexp(spectrum[self.m - 1 : self.m + 1].real.mean(), self.exponent)
        return Choice(
            float(self.alphas[i]),
            None,
            spectrum,
            np.ldexp(1.0, -self.exponent) * leading,
            float(np.ldexp(above, -self.exponent)),
        )

    def _known(self, values: Matrix) -> tuple[Matrix, Matrix]:
        """Return λ, ascending, and the values known there."""
        known = np.flatnonzero(~np.isnan(values) & ~self.infinite)
        order = known[np.argsort(self.weights[known], kind="stable")]
        places, where = np.unique(self.weights[order], return_index=True)
        return places, values[order][where]

    def _above(self, values: Matrix) -> Matrix:
        """Bound a convex function of λ from above at every α."""
        return np.where(self.infinite, values, convex_above(*self._known(values), self.weights))

    def _below(self, values: Matrix) -> Matrix:
        """Bound a convex function of λ from below at every α."""
        return np.where(self.infinite, values, convex_below(*self._known(values), self.weights))
