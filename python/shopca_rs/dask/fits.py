"""Curvature of a dask collection as records: one fit for each row, or two stages.

With two stages the first is made once for every row that the second may need and kept as a table of its own,
in chunks, in which the second searches. Repeating the first stage around each block would need less memory,
but with shuffled rows every fit would be made about as often as the second stage has neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import accumulate, pairwise
from typing import NamedTuple

import dask.array as da
import numpy as np
from dask.delayed import Delayed, delayed
from numpy.typing import NDArray

from .. import _core
from ..geometry.fit_plan import Plan
from ..geometry.records import HEAD, curvatures_width, form_width
from .blocks import Group, Matrix
from .candidates import Columns
from .chunks import Chunks
from .cloud import ChunkedCloud
from .inlined_graph import Part, Recipe
from .neighborhoods import Neighborhoods


class Fit(NamedTuple):
    """Which records are wanted.

    Attributes
    ----------
    d, m : int
        Columns and intrinsic dimension.
    plan : Plan
        How they are estimated.
    ratio : float
        What noise adds to |II|² after two stages, relative to what it adds after the first.
    scalars : bool
        Whether records of curvatures are wanted, not of forms.
    """

    d: int
    m: int
    plan: Plan
    ratio: float
    scalars: bool

    @property
    def width(self) -> int:
        """Numbers in a record."""
        return (curvatures_width if self.scalars else form_width)(self.d, self.m)


class FirstStage(NamedTuple):
    """The columns of the table of the first stage.

    Valid, σ² and what it adds to |II|² and |tr II|², offset (d), foot point (d), tangent (m × d).

    Attributes
    ----------
    d, m : int
        Columns and intrinsic dimension.
    """

    d: int
    m: int

    @property
    def width(self) -> int:
        """Number of columns."""
        return 4 + 2 * self.d + self.m * self.d

    @property
    def errors(self) -> slice:
        """What the second stage takes over."""
        return slice(1, 4 + self.d)

    @property
    def columns(self) -> Columns:
        """How it is searched: among the foot points of valid points, with their tangents."""
        feet = 4 + self.d
        return Columns(slice(feet, feet + self.d), slice(feet + self.d, self.width), 0)


def records(cloud: ChunkedCloud, rows: NDArray[np.int64] | None, fit: Fit) -> da.Array:
    """Build the graph of the records of some rows, or of all.

    Parameters
    ----------
    cloud : ChunkedCloud
        The points.
    rows : ndarray of int, or None
        Row numbers; None for all.
    fit : Fit
        Which records.

    Returns
    -------
    dask array of shape (p, width)
        With the chunks of the points if all rows are wanted.
    """
    plan, (chunks, searcher) = fit.plan, cloud
    if rows is not None and len(rows) == 0:
        return da.zeros((0, fit.width))
    if plan.stages == 1:
        blocks = cloud.blocks(rows, plan.n_neighbors)
        parts = searcher.each(chunks, blocks, plan.n_neighbors, partial(_one_stage, fit=fit))
    else:
        second = plan.second_neighbors or 0
        needed = places = None
        if rows is not None:
            needed = cloud.rows_near(rows, second)
            places = np.searchsorted(needed, rows)
        stage = FirstStage(fit.d, fit.m)
        feet = ChunkedCloud(_first_stage(cloud, needed, fit), searcher)
        blocks = feet.blocks(places, second)
        finish = partial(_second_stage, fit=fit)
        parts = searcher.each(feet.chunks, blocks, second, finish, stage.columns)
    sizes = [len(group) for block in blocks for group in block]
    arrays = [
        da.from_delayed(part, (size, fit.width), np.float64) for part, size in zip(parts, sizes, strict=True)
    ]
    array = da.concatenate(arrays, axis=0)
    return array.rechunk({0: chunks.sizes}) if rows is None else array


def _first_stage(cloud: ChunkedCloud, rows: NDArray[np.int64] | None, fit: Fit) -> Chunks:
    """Return the table of the first stage at some rows, or all, in chunks."""
    k = fit.plan.n_neighbors
    blocks = cloud.blocks(rows, k)
    parts = cloud.searcher.each(cloud.chunks, blocks, k, partial(_feet_and_tangents, fit=fit))
    sizes = [len(group) for block in blocks for group in block]
    if rows is None and cloud.searcher.mode == "sharded":
        parts, sizes = _as_the_chunks(parts, blocks, cloud.chunks), list(cloud.chunks.sizes)
    held = [Part(Recipe({}, part.key, [part.key]), (part,)) for part in parts]
    # Of a neighbour the foot point and the tangent are kept.
    return Chunks(held, tuple(sizes), fit.d + fit.m * fit.d)


def _as_the_chunks(parts: Sequence[Delayed], blocks: Sequence[list[Group]], chunks: Chunks) -> list[Delayed]:
    """Join what belongs to the blocks of each chunk: a search has a task for each block and each chunk."""
    ends = np.cumsum([len(block[0]) for block in blocks])
    cuts = [0, *np.searchsorted(ends, list(accumulate(chunks.sizes))) + 1]
    return [
        parts[start] if stop - start == 1 else delayed(np.concatenate, pure=True)(parts[start:stop])
        for start, stop in pairwise(map(int, cuts))
    ]


# These run on the workers, each on one thread: a worker runs as many tasks at once as it has threads.


def _one_stage(near: Neighborhoods, fit: Fit) -> Matrix:
    return _forms(near, near.lists, fit)


def _forms(near: Neighborhoods, lists: NDArray[np.int64], fit: Fit) -> Matrix:
    return _core.part_forms(
        x=near.table,
        points=near.centres,
        neighbors=lists,
        intrinsic_dim=fit.m,
        order=fit.plan.order,
        scalars=fit.scalars,
        n_jobs=1,
    )


def _feet_and_tangents(near: Neighborhoods, fit: Fit) -> Matrix:
    count, d, m = len(near.own), fit.d, fit.m
    found = _forms(near, near.ascending, fit._replace(scalars=False))
    offset, tangent = found[:, HEAD : HEAD + d], found[:, HEAD + d : HEAD + d + d * m]
    valid = found[:, :1]
    return np.concatenate(
        [
            valid,
            found[:, 2:HEAD],
            offset,
            # A point without a foot point keeps its own position; the second stage ignores it.
            near.own + np.where(valid == 1, offset, 0.0),
            tangent.reshape(count, d, m).transpose(0, 2, 1).reshape(count, m * d),
        ],
        axis=1,
    )


def _second_stage(near: Neighborhoods, fit: Fit) -> Matrix:
    stage = FirstStage(fit.d, fit.m)
    found = np.full((len(near.own), fit.width), np.nan)
    found[:, 0] = 0
    if near.lists.shape[1] < (fit.plan.second_neighbors or 0):
        return found
    known = (near.own[:, 0] == 1) & np.isfinite(near.squared[:, -1])
    if known.any():
        found[known] = _core.part_second_stage(
            feet=near.table,
            tangents=near.extra,
            errors=near.own[known, stage.errors],
            points=near.centres[known],
            neighbors=near.ascending[known],
            intrinsic_dim=fit.m,
            variance_ratio=fit.ratio,
            scalars=fit.scalars,
            n_jobs=1,
        )
    return found
