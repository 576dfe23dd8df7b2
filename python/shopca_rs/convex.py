"""Bounds on a convex function between and beyond some known values."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]


def convex_above(x: Matrix, y: Matrix, places: Matrix) -> Matrix:
    """Bound a convex function from above by the chords between known values, by ∞ beyond them.

    x is ascending, y are the values there.
    """
    if not len(x):
        return np.full(len(places), np.inf)
    return np.interp(places, x, y, left=np.inf, right=np.inf)


def convex_below(x: Matrix, y: Matrix, places: Matrix) -> Matrix:
    """Bound a convex function from below by the neighbouring chords, extended; by −∞ where there are none."""
    drawn = np.full((2, len(places)), -np.inf)
    if len(x) > 1:
        slopes = np.diff(y) / np.diff(x)
        right = np.searchsorted(x, places).clip(1, len(x) - 1)
        left = right >= 2
        drawn[0, left] = (y[right - 1] + slopes[right - 2] * (places - x[right - 1]))[left]
        before = right <= len(x) - 2
        ahead = np.minimum(right, len(slopes) - 1)
        drawn[1, before] = (y[right] + slopes[ahead] * (places - x[right]))[before]
    bounds: Matrix = drawn.max(axis=0)
    known = np.isin(places, x)
    if known.any():
        bounds[known] = np.interp(places[known], x, y)
    return bounds
