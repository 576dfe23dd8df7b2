"""Random tables: their sizes, their values and what they are wrapped in."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl

# What the package promises to take: the sum of the squared ranges of the columns.
SMALLEST_SQUARE, LARGEST_SQUARE = 1e-300, 1e306


def choose(rng, *options):
    """Return one of the options."""
    return options[rng.integers(len(options))]


def sizes(rng, cost):
    """Return n, d and k of a table the oracle judges in less than `cost` (about 1e7 for a second)."""
    while True:
        if rng.random() < 0.25:
            # Many columns and few neighbours: S̄ takes a route of its own.
            n, d, k = (int(rng.integers(*bounds)) for bounds in ((40, 110), (32, 100), (4, 13)))
            return n, d, k
        d = int(choose(rng, rng.integers(1, 9), rng.integers(1, 41), rng.integers(30, 121)))
        n = int(choose(rng, rng.integers(3, 20), rng.integers(3, 80), rng.integers(40, 400)))
        k = int(choose(rng, 2, n - 1, d, d + 1, rng.integers(2, 60), rng.integers(2, 12)))
        k = min(max(k, 2), n - 1)
        small, large = sorted((k, d))
        if n * small * small * large <= cost:
            return n, d, k


def _normal(rng, n, d):
    return rng.normal(size=(n, d))


def _graded(rng, n, d):
    return rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-3, 3, size=d)


def _repeated(rng, n, d):
    few = rng.normal(size=(max(int(n // rng.integers(1, 6)), 1), d))
    return few[rng.integers(len(few), size=n)]


def _levels(rng, n, d):
    return rng.integers(0, rng.integers(2, 6), size=(n, d)).astype(float)


def _grid(rng, n, d):
    side = np.arange(n)
    width = rng.integers(2, 6)
    return np.stack([side // width ** min(j, 20) % width for j in range(d)], axis=1).astype(float)


def _flat(rng, n, d):
    """Points in a subspace of few dimensions, up to rounding."""
    rank = rng.integers(1, max(d, 2))
    return rng.normal(size=(n, rank)) @ rng.normal(size=(rank, d))


def _curve(rng, n, d):
    t = np.sort(rng.uniform(size=n))
    return np.sin(np.outer(t, rng.uniform(0.5, 6, size=d)) + rng.uniform(0, 6, size=d))


def _clusters(rng, n, d):
    centres = rng.normal(size=(rng.integers(2, 5), d)) * 10.0 ** rng.uniform(0, 10)
    return centres[rng.integers(len(centres), size=n)] + rng.normal(size=(n, d))


def _same(rng, n, d):
    return np.full((n, d), rng.normal())


def _constant_columns(rng, X):
    X[:, rng.random(X.shape[1]) < 0.4] = rng.normal()
    return X


def _outliers(rng, X):
    far = rng.integers(len(X), size=rng.integers(1, 4))
    X[far] *= 10.0 ** rng.uniform(1, 150)
    return X


def _one_far_entry(rng, X):
    X[rng.integers(X.shape[0]), rng.integers(X.shape[1])] = choose(rng, -1, 1) * 10.0 ** rng.uniform(1, 150)
    return X


def _tiny_beside_a_far_entry(rng, X):
    return _one_far_entry(rng, X * 10.0 ** -rng.uniform(50, 150))


def _offset(rng, X):
    return X + rng.normal(size=X.shape[1]) * 10.0 ** rng.uniform(0, 15)


def _scaled(rng, X):
    return np.ldexp(X, rng.integers(-498, 495))


def _scaled_columns(rng, X):
    spread = choose(rng, 8, 40, 500)
    return np.ldexp(X, rng.integers(-spread, min(spread, 490), size=X.shape[1]))


def _tiny(rng, X):
    return X * 10.0 ** -rng.uniform(145, 320)


def _partly_tiny(rng, X):
    some = rng.random(X.shape) < 0.5
    X[some] *= 10.0 ** -rng.uniform(100, 320)
    return X


def _zeros(rng, X):
    X[rng.random(X.shape) < 0.4] = 0.0
    X[rng.random(X.shape) < 0.3] *= -1
    return X


def _huge(rng, X):
    with np.errstate(over="ignore"):
        return np.clip(X * 10.0 ** rng.uniform(150, 308), -1.7e308, 1.7e308)


BASES = (_normal, _graded, _repeated, _levels, _grid, _flat, _curve, _clusters, _same)
CHANGES = (
    _constant_columns,
    _outliers,
    _one_far_entry,
    _tiny_beside_a_far_entry,
    _offset,
    _scaled,
    _scaled_columns,
    _tiny,
    _partly_tiny,
    _zeros,
    _huge,
)


def cloud(rng, n, d):
    """Return a table of finite doubles and a few words on it."""
    base = choose(rng, *BASES)
    changes = [choose(rng, *CHANGES) for _ in range(choose(rng, 0, 0, 1, 1, 1, 2))]
    X = base(rng, n, d)
    with np.errstate(over="ignore", under="ignore"):
        for change in changes:
            X = change(rng, X)
    X = np.nan_to_num(X, posinf=1.7e308, neginf=-1.7e308)
    return X, " ".join(maker.__name__.strip("_") for maker in (base, *changes))


def squared_span(X):
    """Return the sum of the squared ranges of the columns, in extended precision."""
    wide = X.astype(np.longdouble)
    return ((wide.max(axis=0) - wide.min(axis=0)) ** 2).sum()


def promised(*tables):
    """Tell whether the package promises to take these points together."""
    square = squared_span(np.concatenate(tables))
    return square == 0 or (square >= SMALLEST_SQUARE and square <= LARGEST_SQUARE)


def wrapped(rng, X):
    """Return the table in another type or memory order, what it reads as in float64, and a word for it."""
    name, wrap = choose(rng, *WRAPPINGS.items())
    if rng.random() < 0.3:
        name, wrap = "plain", lambda X: X
    with np.errstate(all="ignore"):
        given = wrap(X)
        meant = np.asarray(given.to_numpy() if hasattr(given, "to_numpy") else given).astype(np.float64)
    if not np.isfinite(meant).all():
        return X, X, "plain"
    return given, np.ascontiguousarray(meant), name


def _whole(dtype):
    limit = np.iinfo(dtype)

    def wrap(X):
        return np.clip(np.round(X), max(limit.min, -(2**52)), min(limit.max, 2**52)).astype(dtype)

    return wrap


def _strided(X):
    wide = np.full((2 * X.shape[0], 3 * X.shape[1]), np.nan)
    wide[::2, 1::3] = X
    return wide[::2, 1::3]


def _read_only(X):
    X = X.copy()
    X.flags.writeable = False
    return X


def _unaligned(X):
    room = np.zeros(X.nbytes + 1, dtype=np.uint8)
    table = room[1:].view(np.uint8)[: X.nbytes].view(np.float64).reshape(X.shape)
    table[...] = X
    return table


WRAPPINGS = {
    "float32": lambda X: X.astype(np.float32),
    "float16": lambda X: X.astype(np.float16),
    "longdouble": lambda X: X.astype(np.longdouble),
    "big-endian": lambda X: X.astype(">f8"),
    "int64": _whole(np.int64),
    "int8": _whole(np.int8),
    "uint16": _whole(np.uint16),
    "uint64": _whole(np.uint64),
    "bool": lambda X: np.median(X) < X,
    "object": lambda X: X.astype(object),
    "Fortran order": np.asfortranarray,
    "strided": _strided,
    "reversed": lambda X: X[::-1, ::-1].copy()[::-1, ::-1],
    "read-only": _read_only,
    "unaligned": _unaligned,
    "list": lambda X: X.tolist(),
    "pandas": lambda X: pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])]),
    "pandas of mixed columns": lambda X: pd.DataFrame(
        {f"x{j}": X[:, j].astype([np.float64, np.float32][j % 2]) for j in range(X.shape[1])}
    ),
    "polars": lambda X: pl.DataFrame(X, schema=[f"x{j}" for j in range(X.shape[1])]),
    "masked array": lambda X: np.ma.array(X),
}
