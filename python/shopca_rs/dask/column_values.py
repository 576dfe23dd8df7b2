"""The resolution of the features of a dask collection, from the distinct values of each column."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from dask.delayed import Delayed, delayed
from numpy.typing import NDArray

from ..estimators.feature_resolution import resolution_of_values
from .chunks import Chunks
from .tree_reduction import reduced
from .workers import Workers

Vector = NDArray[np.float64]
# The distinct values of a column, ascending, and how often each occurs, or its weight.
Values = tuple[Vector, Vector]

# Bytes of a value and its count while two lists of them become one, and their share of a thread's memory.
_BYTES, _SHARE = 64, 4


def delayed_resolution(chunks: Chunks, crew: Workers, weighted: bool = False) -> list[Delayed]:
    """Build the graph of the resolution of all columns.

    As many columns as fit into the memory of a worker are collected at a time, at least one.

    Parameters
    ----------
    chunks : Chunks
        The rows.
    crew : Workers
        The workers that will compute.
    weighted : bool, default=False
        Whether the rows have their weights as a last column, which `dim` does not count.

    Returns
    -------
    list of Delayed
        Arrays, r of the columns one after the other.
    """
    most = max(crew.memory // (_SHARE * crew.threads_each * _BYTES * chunks.rows), 1)
    count = -(-chunks.dim // most)
    cuts = [chunks.dim * place // count for place in range(count + 1)]
    return [
        delayed(_resolutions, pure=True)(
            reduced([part.apply(_values, start, stop, weighted) for part in chunks.parts], _merged)
        )
        for start, stop in pairwise(cuts)
    ]


# These run on the workers, each on one thread: a worker runs as many tasks at once as it has threads.


def _values(chunk: NDArray[Any], start: int, stop: int, weighted: bool) -> list[Values]:
    mass = chunk[:, -1] if weighted else np.ones(len(chunk))
    return [_distinct(column, mass) for column in np.asarray(chunk[:, start:stop], dtype=np.float64).T]


def _merged(one: Sequence[Values], other: Sequence[Values]) -> list[Values]:
    return [
        _distinct(np.concatenate([values, more]), np.concatenate([mass, their]))
        for (values, mass), (more, their) in zip(one, other, strict=True)
    ]


def _distinct(values: Vector, mass: Vector) -> Values:
    # Stable, because two ascending runs are merged at once, and weights are added in the order of the rows.
    order = np.argsort(values, kind="stable")
    values = values[order]
    first = np.flatnonzero(np.append(True, values[1:] != values[:-1]))
    return values[first], np.add.reduceat(mass[order], first)


def _resolutions(columns: Sequence[Values]) -> Vector:
    r = []
    for values, mass in columns:
        exponent = int(np.frexp(np.abs(values).max())[1])
        r.append(resolution_of_values(np.ldexp(values, -exponent), mass, exponent))
    return np.array(r)
