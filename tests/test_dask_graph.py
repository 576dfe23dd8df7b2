"""What it costs to build the graphs: counted in calls, never in seconds."""

from __future__ import annotations

import sys

import dask.array as da
import nasty
import numpy as np
import pytest
from shopca_rs.dask import from_npy, mean_shape_operator


def calls(function):
    """How many functions are called, in Python and in C."""
    count = 0

    def see(frame, event, argument):
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(see)
    try:
        function()
    finally:
        sys.setprofile(None)
    return count


def in_memory(chunks, folder):
    return da.from_array(nasty.continuous(10 * chunks, 3), chunks=(10, 3))


def from_a_file(chunks, folder):
    np.save(folder / "points.npy", nasty.continuous(500 * chunks, 3))
    return from_npy(folder / "points.npy", rows_per_chunk=500)


@pytest.mark.parametrize("source", [in_memory, from_a_file], ids=["in memory", "from a file"])
@pytest.mark.parametrize(
    ("options", "growth"),
    [
        # Every block of queries visits every chunk.
        ({"mode": "sharded"}, 4),
        ({"mode": "sharded", "sample": 50}, 2),
        ({"mode": "replicated"}, 2),
        ({"mode": "replicated", "sample": 50}, 2),
    ],
    ids=["sharded", "sharded sample", "replicated", "replicated sample"],
)
def test_twice_the_chunks_take_twice_the_work_or_four_times_where_all_pairs_of_them_meet(
    source, options, growth, tmp_path
):
    mean_shape_operator(source(5, tmp_path), 5, **options)  # what dask imports on first use
    counts = []
    for chunks in (40, 80, 160):
        X = source(chunks, tmp_path)
        counts.append(calls(lambda X=X: mean_shape_operator(X, 5, **options)))
    assert counts[2] - counts[1] < 1.25 * growth * (counts[1] - counts[0])
