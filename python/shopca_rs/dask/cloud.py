"""A point cloud on dask, at some points of which the settings of the curvature functions are tried."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import dask
import numpy as np
from dask.delayed import Delayed, delayed
from numpy.typing import NDArray

from .. import _core
from ..geometry.dimension import IntrinsicDimension, maximum_likelihood, summary
from ..geometry.fit_plan import Plan, noise_response
from .blocks import Group, Matrix, blocks_of_all, blocks_of_lists, blocks_of_rows
from .chunks import Chunks
from .neighborhoods import Neighborhoods, Rows, Searcher


class ChunkedCloud(NamedTuple):
    """A `Cloud` in chunks. What is asked of it is computed at once, from the neighbourhoods of a few rows.

    Attributes
    ----------
    chunks : Chunks
        All points.
    searcher : Searcher
        How neighbours are found.
    """

    chunks: Chunks
    searcher: Searcher

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.chunks.rows, self.chunks.dim

    def blocks(self, rows: NDArray[np.int64] | None, k: int) -> list[list[Group]]:
        """Cut some rows, or all, into blocks.

        Parameters
        ----------
        rows : ndarray of int, or None
            Row numbers; None for all.
        k : int
            Number of neighbours.

        Returns
        -------
        list of list of groups
            The blocks.
        """
        mode, crew = self.searcher.mode, self.searcher.crew
        if rows is None:
            return blocks_of_all(self.chunks, k, mode, crew)
        return blocks_of_rows(rows, k, self.chunks.dim, crew)

    def dimension(self, rows: NDArray[np.int64] | None, k: int, method: str = "mle") -> IntrinsicDimension:
        """Estimate the intrinsic dimension at some rows, or all, from k neighbours."""
        local = {"mle": _likely_dimensions, "pca": _dimensions, "two_nn": _squared}[method]
        tasks = self.searcher.each(self.chunks, self.blocks(rows, k), k, local)
        return summary(method, np.concatenate(dask.compute(*tasks)))

    def scales(self, rows: NDArray[np.int64], m: int, order: int) -> NDArray[np.float64]:
        """Estimate the errors of fits at some rows for growing k."""
        n, d = self.shape
        sizes = _core.scale_candidates(n, m, order)
        if not sizes:
            return np.empty((0, 5))
        fits = self.searcher.each(
            self.chunks,
            self.blocks(rows, sizes[-1]),
            sizes[-1],
            partial(_scale_fits, sizes=sizes, m=m, order=order),
        )
        return _core.scales_of_fits(np.concatenate(dask.compute(*fits), axis=1), sizes, d, m, order)

    def responses(self, rows: NDArray[np.int64], m: int, plan: Plan, seed: int) -> NDArray[np.float64]:
        """Return the `noise_response` at each of some rows."""
        k = plan.n_neighbors
        # The points whose foot points the second stage may need, then all neighbours of their first stage.
        spare = _core.foot_points(self.chunks.rows, plan.second_neighbors or 0)
        feet = self.searcher.each(self.chunks, self.blocks(rows, spare), spare, _number_lists)
        lists = np.concatenate(dask.compute(*feet))
        blocks, owners = blocks_of_lists(lists, k, self.chunks.dim, self.searcher.crew)
        unions = self.searcher.each(self.chunks, blocks, k, Neighborhoods.unions)
        seen: list[list[Delayed]] = [[] for _ in rows]
        for union, owner in zip(unions, owners, strict=True):
            for place, number in enumerate(owner):
                seen[number].append(union[place])
        response = delayed(_response, pure=True)
        tasks = [response(parts, int(row), m, plan, seed) for parts, row in zip(seen, rows, strict=True)]
        return np.array(dask.compute(*tasks))

    def rows_near(self, rows: NDArray[np.int64], second: int) -> NDArray[np.int64]:
        """Return the rows whose foot points a second stage at some rows may need, and these.

        Parameters
        ----------
        rows : ndarray of int
            Row numbers.
        second : int
            Neighbours of the second stage.

        Returns
        -------
        ndarray of int
            Row numbers, ascending.
        """
        k = _core.foot_points(self.chunks.rows, second)
        found = self.searcher.each(self.chunks, self.blocks(rows, k), k, _numbers)
        return np.unique(np.concatenate(dask.compute(*found)))


def _likely_dimensions(near: Neighborhoods) -> Matrix:
    return maximum_likelihood(near.squared)


def _dimensions(near: Neighborhoods) -> Matrix:
    return _core.part_dimensions(x=near.table, neighbors=near.lists, n_jobs=1)


def _squared(near: Neighborhoods) -> Matrix:
    return near.squared


def _numbers(near: Neighborhoods) -> NDArray[np.int64]:
    ((numbers, _),) = near.unions()
    return numbers


def _number_lists(near: Neighborhoods) -> NDArray[np.int64]:
    return np.column_stack([near.numbers[near.centres], near.numbers[near.lists]])


def _scale_fits(near: Neighborhoods, sizes: list[int], m: int, order: int) -> NDArray[np.float64]:
    return _core.part_scale_fits(
        x=near.table,
        points=near.centres,
        neighbors=near.lists,
        sizes=sizes,
        intrinsic_dim=m,
        order=order,
        n_jobs=1,
    )


def _response(parts: Sequence[Rows], row: int, m: int, plan: Plan, seed: int) -> tuple[float, float]:
    numbers, first = np.unique(np.concatenate([part[0] for part in parts]), return_index=True)
    around = np.concatenate([part[1] for part in parts])[first]
    return noise_response(around, int(np.searchsorted(numbers, row)), m, plan, (seed, row), 1)
