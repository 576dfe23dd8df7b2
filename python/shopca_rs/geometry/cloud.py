"""A point cloud in memory, on which the settings of the curvature functions are tried."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..neighbors import Algorithm
from .dimension import IntrinsicDimension, intrinsic_dimension
from .fit_plan import Plan, noise_response


class Table(NamedTuple):
    """A `Cloud` in memory.

    Attributes
    ----------
    points : ndarray of shape (n, d)
        All points.
    algorithm : str
        How neighbours are searched.
    threads : int
        Number of threads.
    """

    points: NDArray[np.float64]
    algorithm: Algorithm
    threads: int

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        n, d = self.points.shape
        return n, d

    def dimension(self, rows: NDArray[np.int64], k: int) -> IntrinsicDimension:
        """Estimate the intrinsic dimension at some rows from k neighbours."""
        return intrinsic_dimension(
            self.points, n_neighbors=k, points=rows, algorithm=self.algorithm, n_jobs=self.threads
        )

    def scales(self, rows: NDArray[np.int64], m: int, order: int) -> NDArray[np.float64]:
        """Estimate the errors of fits at some rows for growing k."""
        return _core.fit_scales(
            x=self.points,
            intrinsic_dim=m,
            order=order,
            points=rows,
            algorithm=self.algorithm,
            n_jobs=self.threads,
            progress=None,
        )

    def responses(self, rows: NDArray[np.int64], m: int, plan: Plan, seed: int) -> NDArray[np.float64]:
        """Return the `noise_response` at each of some rows."""
        spare = _core.foot_points(len(self.points), plan.second_neighbors or 0)
        found = []
        for row in rows:
            # Points whose foot points the second stage may need, then all neighbours of their first stage.
            feet = self._near(np.array([row]), spare)
            seen = self._near(feet, plan.n_neighbors)
            place = int(np.searchsorted(seen, row))
            around = self.points[seen]
            found.append(noise_response(around, place, m, plan, (seed, int(row)), self.threads))
        return np.array(found)

    def _near(self, rows: NDArray[np.int64], k: int) -> NDArray[np.int64]:
        return _core.rows_near(x=self.points, points=rows, k=k, algorithm=self.algorithm, n_jobs=self.threads)
