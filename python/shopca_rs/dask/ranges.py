"""The range of each column, of one chunk and of several, and which ranges a table may have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .. import _core

Matrix = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Box:
    """The smallest box with axes along the columns that holds some rows.

    Attributes
    ----------
    low, high : ndarray of shape (d,)
        The smallest and the largest number of each column.
    """

    low: Matrix
    high: Matrix

    @classmethod
    def empty(cls, dim: int) -> Self:
        """Return the box of no rows.

        Parameters
        ----------
        dim : int
            Number of columns.

        Returns
        -------
        Box
            Its union with any other box is the other box.
        """
        return cls(np.full(dim, np.inf), np.full(dim, -np.inf))

    def around(self, other: Box) -> Box:
        """Return the box around both.

        Parameters
        ----------
        other : Box
            Of other rows.

        Returns
        -------
        Box
            Of all of them.
        """
        return Box(np.minimum(self.low, other.low), np.maximum(self.high, other.high))

    @property
    def largest(self) -> float:
        """The largest magnitude of a number in it."""
        return float(max(np.abs(self.low).max(), np.abs(self.high).max()))


def box_of(rows: NDArray[Any]) -> Box:
    """Return the box of some rows.

    Parameters
    ----------
    rows : ndarray of shape (n, d)
        At least one.

    Returns
    -------
    Box
        Around them.
    """
    return Box(rows.min(axis=0).astype(np.float64), rows.max(axis=0).astype(np.float64))


def check_range(box: Box, name: str = "X") -> None:
    """Refuse a table whose numbers are so far apart, or so close, that squares of differences do not fit.

    Parameters
    ----------
    box : Box
        Of the whole table: that of a chunk says nothing.
    name : {"X", "Z"}, default="X"
        Its name in error messages.

    Raises
    ------
    ValueError
        With the message of `shopca_rs.mean_shape_operator`. The core checks the ranges of the columns only,
        so it is given the corners of the box.
    """
    corners = np.stack([box.low, box.high, box.high])
    if name == "Z":
        _core.trustworthiness(x=np.eye(3), z=corners, k=1, points=None, n_jobs=1, progress=None)
        return
    _core.local_shape_operators(
        x=corners,
        k=2,
        points=np.empty(0, dtype=np.int64),
        degenerate="average",
        algorithm="brute",
        neighbors=np.array([[1, 2], [0, 2], [0, 1]]),
        n_jobs=1,
        progress=None,
    )
