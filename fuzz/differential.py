"""The kind `numbers`: results against the oracle."""

from __future__ import annotations

import numpy as np
import shopca_rs

from . import oracle
from .clouds import choose, cloud, sizes, wrapped
from .estimators import eigenmaps, estimator, projections
from .judging import JOBS, Setting, algorithms, judge_neighbors, refusable, valid
from .oracle import WIDE
from .trial import Refused, Trial


def try_case(rng):
    """Compare one call, and its twins on other threads and algorithms, with the oracle."""
    target = choose(rng, *TARGETS)
    trial = Trial(target.__name__, prefix=f"{target.__name__}: ")
    try:
        with np.errstate(under="ignore"):
            target(rng, trial)
    except Refused:
        pass
    return trial


def k_neighbors(rng, trial):
    """Search the neighbours of the rows, or of queries, by every algorithm."""
    n, d, k = sizes(rng, np.inf if rng.random() < 0.2 else 1e7)
    X, words = cloud(rng, n, d)
    given, X, wrapping = wrapped(rng, X)
    options, queries = {}, None
    if rng.random() < 0.4:
        queries = (
            X[rng.integers(n, size=int(rng.integers(1, 40)))] + choose(rng, 0.0, 1.0, 1e-9) * rng.normal()
        )
        k = int(choose(rng, 1, n, k))
        options = {"queries": queries}
    context = f"n={n} d={d} k={k} {words}, {wrapping}{'' if queries is None else ', queries'}"
    trial.context = context
    allowed = refusable(X) if queries is None else refusable(X, queries)
    first = None
    for algorithm in algorithms(d):
        found = trial.call(
            shopca_rs.k_neighbors,
            given,
            k,
            algorithm=algorithm,
            n_jobs=choose(rng, *JOBS),
            allowed=allowed,
            **options,
        )
        if not valid(found, X, queries, k):
            trial.report(f"{algorithm}: not neighbours", f"{context}: {found}")
            return
        if first is None:
            first = found
            judge_neighbors(trial, X, queries, found, context)
        elif not all(np.array_equal(a, b) for a, b in zip(first, found, strict=True)):
            trial.report(f"differs between auto and {algorithm}", context)


def mean_shape_operator(rng, trial):
    """Compute S̄ over all points, with neighbours searched or given."""
    setting = Setting(rng, trial)
    got = setting.call(shopca_rs.mean_shape_operator)
    setting.judge(got, *setting.operators().mean())
    setting.check_same(shopca_rs.mean_shape_operator, got)


def sampled_shape_operator(rng, trial):
    """Compute S̄ over a sample and its standard error."""
    setting = Setting(rng, trial)
    m, seed = int(rng.integers(2, setting.n + 1)), int(rng.integers(2**32))
    options = {"sample": m, "random_state": seed, "return_error": True}
    got, error = setting.call(shopca_rs.mean_shape_operator, **options)
    rows = np.random.RandomState(seed).permutation(setting.n)[:m]
    operators = setting.operators(rows)
    mean, exponent, slack = operators.mean()
    setting.judge(got, mean, exponent, slack)
    if m < setting.n and trial.outcome == "judged":
        setting.judge_error(error, operators, mean, exponent, slack)
    again = setting.call(shopca_rs.mean_shape_operator, other=True, **options)
    trial.check(
        np.array_equal(got, again[0]) and np.array_equal(error, again[1]), "threads change bits", setting
    )


def shape_sum(rng, trial):
    """Compute the sum over some points."""
    setting = Setting(rng, trial, given=False)
    rows = rng.integers(setting.n, size=int(rng.integers(1, setting.n + 1)))
    got = setting.call(shopca_rs.shape_sum, points=rows)
    mean, exponent, slack = setting.operators(rows).mean()
    setting.judge(got, mean * len(rows), exponent, slack)
    setting.check_same(shopca_rs.shape_sum, got, points=rows)


def local_shape_operators(rng, trial):
    """Compute the operators of single points."""
    setting = Setting(rng, trial)
    rows = rng.integers(setting.n, size=int(rng.integers(1, 20)))
    got = setting.call(shopca_rs.local_shape_operators, points=rows)
    operators = setting.operators(rows)
    for i, own in enumerate(got):
        setting.judge(own, operators.scaled[i], operators.exponent[i], operators.slack[i], [i])
    setting.check_same(shopca_rs.local_shape_operators, got, points=rows)


def curvatures(rng, trial):
    """Compute principal, mean and Gaussian curvatures."""
    setting = Setting(rng, trial)
    principal, mean, gaussian = setting.call(shopca_rs.operator_curvatures)
    trial.check(not np.isnan(gaussian).any(), "Gaussian curvature is NaN", setting)
    if not np.isfinite(principal).all():
        trial.report("not finite", setting)
        return
    trial.check((principal <= 0).all(), "positive curvature", setting)
    trial.check((np.diff(principal, axis=1) >= 0).all(), "not ascending", setting)
    operators = setting.operators()
    expected = oracle.principal_curvatures(operators)
    for i in range(setting.n):
        scale = 2 * operators.exponent[i]
        own = np.append(expected[i], expected[i].mean()).astype(WIDE)
        setting.judge(np.append(principal[i], mean[i]), own, operators.exponent[i], operators.slack[i], [i])
        setting.judge_gaussian(gaussian[i], expected[i], scale, operators, i)


TARGETS = (
    k_neighbors,
    mean_shape_operator,
    mean_shape_operator,
    sampled_shape_operator,
    shape_sum,
    local_shape_operators,
    curvatures,
    estimator,
    estimator,
    eigenmaps,
    projections,
)
