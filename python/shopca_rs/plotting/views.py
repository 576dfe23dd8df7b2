"""Coordinates of points in plots: two or three columns unchanged, more by their principal components."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arguments import as_array, as_numbers
from ..classes import short_name

# Outside this range, squared distances in the plotting libraries overflow or underflow.
LARGEST, SMALLEST = 1e100, 1e-100


class View(NamedTuple):
    """Points and where they are shown.

    Attributes
    ----------
    points : ndarray of shape (n, d)
        The points.
    coordinates : ndarray of shape (n, 2) or (n, 3)
        Where they are shown.
    axes : ndarray of shape (d, 2) or (d, 3)
        The matrix that maps a direction in the space of the points to the coordinates.
    names : list of str
        Names of the axes.
    remark : str
        What was left out.
    """

    points: NDArray[np.float64]
    coordinates: NDArray[np.float64]
    axes: NDArray[np.float64]
    names: list[str]
    remark: str


def as_view(X: ArrayLike, feature_names: ArrayLike | None = None) -> View:
    """Return points with the coordinates they are shown at."""
    points = as_numbers(X, "X", 2, "2-D with points as rows")
    d = points.shape[1]
    if d < 2:
        raise ValueError(f"X must have at least 2 columns to be shown, got {d}.")
    size = float(np.abs(points).max())
    if not SMALLEST < size < LARGEST and size != 0:
        raise ValueError(
            f"X must have a largest magnitude between {SMALLEST:g} and {LARGEST:g} to be shown, got "
            f"{size:.3g}. Rescale the data."
        )
    columns = as_feature_names(X, feature_names, d)
    if d <= 3:
        names = [f"column {j + 1}" for j in range(d)] if columns is None else list(map(short_name, columns))
        return View(points, points, np.eye(d), names, "")
    centred = points - points.mean(axis=0)
    _, lengths, rows = np.linalg.svd(centred, full_matrices=False)
    # A table of few rows has fewer components than it has columns.
    axes = np.zeros((d, 3))
    axes[:, : min(3, len(rows))] = rows[:3].T
    # Signs do not depend on how the components were found: the largest entry of each is positive.
    axes *= np.where(axes[np.abs(axes).argmax(axis=0), np.arange(3)] < 0, -1.0, 1.0)
    total = float((lengths**2).sum())
    share = float((lengths[:3] ** 2).sum()) / total if total > 0 else 1.0
    names = [f"component {j + 1}" for j in range(3)]
    remark = f"first 3 of {d} principal components ({share:.0%} of the variance)"
    return View(points, centred @ axes, axes, names, remark)


def as_feature_names(X: Any, feature_names: ArrayLike | None, d: int) -> list[str] | None:
    """Return the names of d columns: as given, or those of a data frame; None if there are none."""
    given = getattr(X, "columns", None) if feature_names is None else feature_names
    if given is None:
        return None
    names = as_array(given, "feature_names", "a list of the names of the columns")
    if names.shape != (d,):
        raise ValueError(
            f"feature_names must have one entry for each of the {d} columns of X, got shape {names.shape}."
        )
    return [str(name) for name in names.tolist()]
