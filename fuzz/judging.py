"""A random table with its options, and the verdict on what was computed from it."""

from __future__ import annotations

import numpy as np
import shopca_rs

from . import oracle
from .clouds import choose, cloud, promised, sizes, wrapped
from .oracle import EPS, WIDE
from .trial import Refused

ACCURACY = 1e-12

# Below this relative accuracy the oracle's data have no digits worth comparing.
FEWEST_DIGITS = 1e-3

SMALLEST = 5e-324

JOBS = (1, 2, 3, None)


class Setting:
    """A random table with neighbours and options, and how results on it are judged."""

    def __init__(self, rng, trial, *, given=True):
        self.rng, self.trial = rng, trial
        self.n, self.d, self.k = sizes(rng, choose(rng, 1e5, 1e6, 3e6))
        X, self.words = cloud(rng, self.n, self.d)
        self.given, self.X, self.wrapping = wrapped(rng, X)
        self.degenerate = choose(rng, "average", "average", "lapack")
        self.neighbors = None
        if given and rng.random() < 0.3:
            self.neighbors = rng.integers(self.n, size=(self.n, self.k))
        trial.context = str(self)

    def __str__(self):
        how = "searched" if self.neighbors is None else "given"
        return (
            f"n={self.n} d={self.d} k={self.k} {self.words}, {self.wrapping}, {self.degenerate}, "
            f"neighbours {how}"
        )

    @property
    def route(self):
        """What the package's choice of a route depends on."""
        width = "d≥32" if self.d >= 32 else "d<32"
        return f"{width} k{'≤' if self.k <= self.d else '>'}d {self.degenerate}"

    def call(self, function, other=False, **options):
        """Call a function on the table; with other threads and another algorithm if `other`."""
        if self.neighbors is not None:
            options["neighbors"] = self.neighbors
        return self.trial.call(
            function,
            self.X if other else self.given,
            self.k,
            degenerate=self.degenerate,
            algorithm=choose(self.rng, *algorithms(self.d)) if other else "auto",
            n_jobs=choose(self.rng, *JOBS),
            allowed=refusable(self.X),
            **options,
        )

    def check_same(self, function, got, **options):
        """Check that another algorithm and number of threads give the same bits."""
        again = self.call(function, other=True, **options)
        self.trial.check(np.array_equal(got, again), f"threads or algorithm change bits, {self.route}", self)

    def operators(self, rows=slice(None)):
        """Return the oracle's operators of some rows; the package's neighbours are judged apart."""
        neighbors = self.neighbors
        if neighbors is None:
            found = self.trial.call(shopca_rs.k_neighbors, self.X, self.k, allowed=refusable(self.X))
            if not valid(found, self.X, None, self.k):
                self.trial.report("not neighbours", self)
                raise Refused
            neighbors = found[0]
        operators = oracle.shape_operators(self.X, neighbors[rows])
        self.simple = operators.simple
        return operators

    def has_digits(self, slack, simple):
        """Tell whether the oracle has digits here, and count the case as without them if not."""
        if slack > FEWEST_DIGITS or (self.degenerate == "lapack" and not simple):
            self.trial.outcome = "no digits"
            return False
        return True

    def judge(self, got, expected, exponent, slack, rows=slice(None)):
        """Check got against expected · 4^exponent in the Frobenius norm."""
        if not np.isfinite(got).all():
            if np.log2(np.abs(expected).max()) + 2 * int(exponent) < 1023:
                self.trial.report(f"not finite, {self.route}", self)
            return
        if not self.has_digits(slack, self.simple[rows].all()):
            return
        size = np.sqrt((expected**2).sum())
        error = np.sqrt(((np.ldexp(got.astype(WIDE), -2 * int(exponent)) - expected) ** 2).sum())
        underflow = self._underflow(exponent, slack)
        if error > max(ACCURACY, slack) * size + underflow:
            self.trial.report(
                f"inaccurate, {self.route}",
                f"{self}: error {float(error / size) if size else float(error):.1e}, allowed {slack:.1e}",
            )

    def _underflow(self, exponent, slack):
        """Return the error, divided by 4^exponent, of covariances too small for all their digits."""
        return np.ldexp(WIDE(SMALLEST) * self.n * self.d * (1 + slack / EPS), -2 * int(exponent))

    def judge_error(self, got, operators, mean, exponent, slack):
        """Check the standard error of a sample: SE² = (1 − m/n) / (m (G − 1)) · Σ_g m_g (S̄_g − S̄)²."""
        m = len(operators.scaled)
        groups = min(32, m)
        squares = np.zeros_like(mean)
        for g in range(groups):
            part = np.arange(g * m // groups, (g + 1) * m // groups)
            own, top, _ = operators.mean(part)
            squares += len(part) * (np.ldexp(own, 2 * (top - exponent)) - mean) ** 2
        expected = np.sqrt(squares * (1 - WIDE(m) / self.n) / (m * (groups - 1)))
        # Differences of operators keep the absolute error of the largest.
        sizes = np.sqrt(
            (np.ldexp(operators.scaled, 2 * (operators.exponent - exponent)[:, None, None]) ** 2).sum(
                axis=(1, 2)
            )
        )
        underflow = self._underflow(exponent, slack)
        error = np.abs(np.ldexp(got.astype(WIDE), -2 * int(exponent)) - expected).max()
        worst = float(max(ACCURACY, slack) * sizes.max() + underflow)
        self.trial.check(
            error <= worst, f"wrong standard error, {self.route}", f"{self} m={m}: {float(error):.1e}"
        )

    def judge_gaussian(self, got, principal, scale, operators, i):
        """Check the product of principal · 2^scale: zero without full rank, else by its logarithm."""
        d, values, slack = self.d, operators.values[i], operators.slack[i]
        if not self.has_digits(slack, self.simple[i]) or np.isnan(got):
            return
        rank = int((values > oracle.SAME * values[0]).sum())
        if rank < d:
            if self.degenerate == "average":
                self.trial.check(
                    got == 0, f"Gaussian curvature of too few directions, {self.route}", f"{self}: {got}"
                )
            return
        doubt = max(ACCURACY, slack) * float((principal[0] / principal).sum())
        magnitude = float(np.log2(np.abs(principal.astype(WIDE))).sum()) + d * float(scale)
        if doubt > FEWEST_DIGITS or not -1020 < magnitude < 1022:
            return
        right = np.sign(got) == (-1) ** d and abs(np.log2(abs(got)) - magnitude) <= 2 * doubt + 1e-13 * abs(
            magnitude
        )
        self.trial.check(right, f"wrong Gaussian curvature, {self.route}", f"{self}: {got} for 2^{magnitude}")


def algorithms(d):
    """Return the ways to search among points of d columns."""
    return ("auto", "brute", "kd_tree") if d <= 32 else ("auto", "brute")


def refusable(*tables):
    """Return what tells whether a refusal of a table, alone or with queries, is one of the promised ones."""
    inside = promised(tables[0]) and promised(*tables)

    def allowed(error):
        return type(error) is ValueError and "Rescale" in str(error) and not inside

    return allowed


def valid(found, X, queries, k):
    """Tell whether these are k different rows for each point, itself left out, and their distances."""
    indices, distances = found
    count = len(X) if queries is None else len(queries)
    if indices.shape != (count, k) or distances.shape != (count, k):
        return False
    inside = ((indices >= 0) & (indices < len(X))).all()
    ordered = np.sort(indices, axis=1)
    different = (ordered[:, 1:] != ordered[:, :-1]).all()
    others = queries is not None or (indices != np.arange(count)[:, None]).all()
    return inside and different and others and np.isfinite(distances).all()


def judge_neighbors(trial, X, queries, found, context):
    """Check that no other row is nearer, up to rounding, and that equal rows come in their order."""
    indices, distances = found
    some = np.unique(np.linspace(0, len(indices) - 1, 60).astype(int))
    exact = oracle.squared_distances(X, (X if queries is None else queries)[some])
    if queries is None:
        exact[np.arange(len(some)), some] = np.inf
    rounding = (X.shape[1] + 8) * EPS
    underflow = (X.shape[1] + 1) * 2 * WIDE(SMALLEST)
    nearest = np.sort(exact, axis=1)[:, : indices.shape[1]]
    got = np.take_along_axis(exact, indices[some], axis=1)
    off = np.abs(got - nearest) > rounding * nearest + underflow
    trial.check(not off.any(), "not the nearest", f"{context}: {int(off.sum())} entries")
    with np.errstate(over="ignore"):
        off = np.abs(distances[some].astype(WIDE) ** 2 - got) > 2 * rounding * got + underflow
    trial.check(not off.any(), "wrong distances", f"{context}: {int(off.sum())} entries")
    _, group = np.unique(X + 0.0, axis=0, return_inverse=True)
    group = group.ravel()
    if len(np.unique(group)) == len(X):
        return
    for row, point in zip(indices[some], some, strict=True):
        for copies in np.unique(group[row]):
            chosen = row[group[row] == copies]
            members = np.flatnonzero(group == copies)
            if queries is None:
                members = members[members != point]
            if not np.array_equal(chosen, members[: len(chosen)]):
                trial.report("equal rows out of order", f"{context}: row {point}: {chosen} of {members}")
                return
