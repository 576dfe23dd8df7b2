"""Named data sets that break careless code. Every test that takes data takes these."""

from __future__ import annotations

import numpy as np


def _rng(seed=0):
    return np.random.default_rng(seed)


def continuous(n=120, d=5, seed=0):
    """No ties, no degenerate frames when k > d."""
    rng = _rng(seed)
    return rng.normal(size=(n, d)) @ np.diag(np.linspace(1, 3, d)) + rng.normal(size=d)


def all_same(n=40, d=3):
    return np.full((n, d), 2.5)


def two_copies(n=60, d=4):
    """A whole duplicated data set: every point has a twin at distance zero."""
    half = continuous(n // 2, d)
    return np.concatenate([half, half])


def many_copies(n=90, d=3):
    """Thirty copies of three points: more duplicates than neighbours."""
    return np.repeat(np.eye(3)[:, :d], n // 3, axis=0)


def grid(side=5, d=3):
    """Integer lattice: many ties, repeated eigenvalues."""
    return np.stack(np.meshgrid(*[np.arange(float(side))] * d), axis=-1).reshape(-1, d)


def levels(n=150, d=4, seed=1):
    """Few levels in each column: duplicates and exact ties."""
    return _rng(seed).integers(0, 3, size=(n, d)).astype(float)


def categorical(n=150, d=4, seed=1):
    """The levels standardised: duplicates, ties and rounding together."""
    X = levels(n, d, seed)
    return (X - X.mean(axis=0)) / X.std(axis=0)


def constant_columns(n=80, d=5):
    X = continuous(n, d)
    X[:, [1, 3]] = 7.0
    return X


def collinear(n=50, d=4):
    """All points on one line: every neighbourhood has rank one."""
    return np.outer(_rng().normal(size=n), np.arange(1.0, d + 1))


def outlier(n=100, d=4):
    """One point a million times farther away than the others."""
    X = continuous(n, d)
    X[17] = 1e6
    return X


def two_far_clusters(n=80, d=3):
    X = continuous(n, d)
    X[n // 2 :] += 1e5
    return X


def wide(n=40, d=60):
    """More columns than points."""
    return continuous(n, d)


def one_column(n=50):
    return _rng(3).normal(size=(n, 1))


def negative_zeros(n=40, d=3):
    """Zeros of both signs are equal rows."""
    X = np.zeros((n, d))
    X[::2] = -0.0
    X[:10] += np.arange(10.0)[:, None]
    return X


ALL = {
    maker.__name__: maker
    for maker in (
        continuous,
        all_same,
        two_copies,
        many_copies,
        grid,
        levels,
        categorical,
        constant_columns,
        collinear,
        outlier,
        two_far_clusters,
        wide,
        one_column,
        negative_zeros,
    )
}


def neighbor_counts(X):
    """Numbers of neighbours on both sides of the number of columns, each valid for X."""
    n, d = X.shape
    return sorted({k for k in (2, 3, d, d + 1, 2 * d + 2, n // 3) if 2 <= k <= n - 1})


def sheet(n, d, seed=0):
    """Points on a curved surface in many columns, with a little noise."""
    rng = np.random.default_rng(seed)
    u = rng.random((n, 2)) @ rng.normal(size=(2, d))
    return np.sin(2 * u + rng.random(d)) + 0.001 * rng.normal(size=(n, d))
