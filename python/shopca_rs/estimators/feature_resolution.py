"""The resolution of features: how much of a column's variance is due to the steps it is recorded in."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arguments import as_numbers, as_points, as_weighted, too_large
from ..foreign_tables import is_sparse
from ..sparse_tables import as_sparse

Vector = NDArray[np.float64]


def resolution(X: ArrayLike, sample_weight: ArrayLike | None = None) -> Vector:
    """Variance that rounding to the values of each column may have hidden (Sheppard's correction).

    Rounding to steps of size h adds an error of variance h²/12. The step at an entry is taken to be the gap
    to the nearest different value of its column: r_j = min(variance of column j, mean over i of g_ij²/12),
    where g_ij is the gap of entry i.

    r is almost 0 for continuous columns and 1/12 for consecutive integers. It is 1/12 for a column of zeros
    and ones as well, unless one of them is so rare that the variance p (1 − p) is smaller.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, d)
        Points as rows.
    sample_weight : array-like of shape (n,), default=None
        Weights of the rows, at least 0: a row of weight 2 counts as two equal rows, one of weight 0 as none.

    Returns
    -------
    ndarray of shape (d,)
        r, in squared units of the columns; 0 for a constant column. The variances divide by n.

    Examples
    --------
    >>> import numpy as np
    >>> from shopca_rs import resolution
    >>> (12 * resolution([[0, 0.5], [1, 0.5], [2, 1.0], [3, 1.5]])).tolist()
    [1.0, 0.25]
    """
    what = "a table with at least one row and one column"
    table: Any = as_sparse(X) if is_sparse(X) else as_numbers(as_points(X), "X", 2, what)
    table, weights = as_weighted(table, sample_weight)
    if is_sparse(table):
        r = np.array([_column(*values) for values in _sparse_columns(table.tocsc(), weights)])
    else:
        r = np.array([_column(np.ascontiguousarray(column), weights) for column in table.T])
    if not np.isfinite(r).all():
        raise too_large(float(abs(table).max()))
    return r


def _sparse_columns(table: Any, weights: Vector | None) -> Iterator[tuple[Vector, Vector]]:
    """Yield the stored numbers of each column with their weights, and all of its zeros as one number."""
    n = table.shape[0]
    total = float(n) if weights is None else float(weights.sum())
    for start, end in pairwise(table.indptr):
        values = table.data[start:end]
        mass = np.ones(len(values)) if weights is None else weights[table.indices[start:end]]
        rest = total - mass.sum() if len(values) < n else 0.0
        yield (np.append(values, 0.0), np.append(mass, max(rest, 0.0))) if rest > 0 else (values, mass)


def _column(x: Vector, weights: Vector | None) -> float:
    # In a unit in which differences do not overflow and squares do not underflow.
    exponent = int(np.frexp(np.abs(x).max())[1])
    x = np.ldexp(x, -exponent)
    # How many times each value occurs, or its weight.
    if weights is None:
        x.sort()
        first = np.flatnonzero(np.append(True, x[1:] != x[:-1]))
        mass = np.diff(first, append=len(x)).astype(np.float64)
    else:
        order = np.argsort(x, kind="stable")
        x = x[order]
        first = np.flatnonzero(np.append(True, x[1:] != x[:-1]))
        mass = np.add.reduceat(weights[order], first)
    return resolution_of_values(x[first], mass, exponent)


def resolution_of_values(values: Vector, mass: Vector, exponent: int) -> float:
    """Return r of a column from its distinct values, ascending, and how often each occurs.

    The values are in units of 2 to the power `exponent`, r is not.
    """
    if len(values) == 1:
        return 0.0
    gaps = np.diff(values)
    nearest = np.minimum(np.append(np.inf, gaps), np.append(gaps, np.inf))
    total = mass.sum()
    deviations = values - (mass @ values) / total
    r = min(float(mass @ deviations**2), float(mass @ nearest**2) / 12) / total
    with np.errstate(over="ignore", under="ignore"):
        return float(np.ldexp(r, 2 * exponent))
