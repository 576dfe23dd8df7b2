"""Chunks as recipes: made inside the tasks that use them, never a result that waits in memory."""

from __future__ import annotations

import pickle
import threading

import dask
import dask.array as da
import dask.dataframe as dd
import nasty
import numpy as np
import pandas as pd
import pytest
import shopca_rs
from dask.callbacks import Callback
from dask.delayed import delayed
from shopca_rs.dask import SHOPCA, blocks, from_npy, inlined_graph, mean_shape_operator, streaming
from shopca_rs.dask.chunks import as_chunks
from shopca_rs.dask.streaming import Walk

K = 6
N, DIM, CHUNK = 4800, 8, 1200


@pytest.fixture(autouse=True, scope="module")
def threads():
    with dask.config.set(scheduler="threads", num_workers=2):
        yield


@pytest.fixture(scope="module")
def points():
    return nasty.continuous(N, DIM) * np.arange(1, DIM + 1) + 100


def npy(points, folder):
    np.save(folder / "points.npy", points)
    return from_npy(folder / "points.npy", rows_per_chunk=CHUNK)


def stored_zarr(points, folder):
    zarr = pytest.importorskip("zarr")
    path = str(folder / "points.zarr")
    stored = zarr.create_array(path, shape=points.shape, chunks=(CHUNK, DIM), dtype=points.dtype)
    stored[:] = points
    return da.from_zarr(path)


def parquet(points, folder):
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame(points, columns=[f"x{column}" for column in range(DIM)])
    (folder / "points").mkdir()
    for first in range(0, N, CHUNK):
        frame[first : first + CHUNK].to_parquet(folder / "points" / f"{first:05}.parquet")
    return dd.read_parquet(folder / "points")


def standardised(X):
    return (X - X.mean(axis=0)) / X.std(axis=0)


def columns_apart(points, folder):
    return da.concatenate([npy(points, folder)[:, :3], npy(points, folder)[:, 3:]], axis=1)


# Each with whether its chunks are made inside the tasks.
SOURCES = {
    "a .npy file": (npy, True),
    "zarr": (stored_zarr, True),
    "parquet": (parquet, True),
    "standardised": (lambda points, folder: standardised(npy(points, folder)), True),
    "zarr standardised": (lambda points, folder: standardised(stored_zarr(points, folder)), True),
    "chunks joined": (lambda points, folder: npy(points, folder).rechunk((2 * CHUNK, DIM)), True),
    "columns joined": (columns_apart, True),
    "some rows": (lambda points, folder: npy(points, folder)[100:4700:2], True),
    "in memory": (lambda points, folder: da.from_array(points, chunks=(CHUNK, DIM)), False),
    "in memory, standardised": (
        lambda points, folder: standardised(da.from_array(points, chunks=(CHUNK, DIM))),
        False,
    ),
    "in memory, cast": (
        lambda points, folder: da.from_array(points.astype(np.int8), chunks=(CHUNK, DIM)).astype(float),
        False,
    ),
    "in memory, whole": (
        lambda points, folder: da.from_array(points, chunks=(CHUNK, DIM), lock=True),
        False,
    ),
    "memory-mapped": (
        lambda points, folder: da.from_array(np.asarray(npy(points, folder)).view(np.memmap), chunks=CHUNK),
        False,
    ),
    "a pandas dataframe": (lambda points, folder: dd.from_pandas(pd.DataFrame(points), npartitions=4), False),
    "persisted": (lambda points, folder: npy(points, folder).persist(), False),
}


@pytest.fixture(params=SOURCES)
def source(request, points, tmp_path):
    build, inside = SOURCES[request.param]
    return build(points, tmp_path), inside


def local(X):
    return np.asarray(dask.compute(X)[0])


@pytest.fixture(params=["one leg", "a leg for each chunk"])
def legs(request, monkeypatch):
    if request.param != "one leg":
        monkeypatch.setattr(streaming, "_LEG", 1)
    return request.param


@pytest.fixture
def ends(monkeypatch):
    """The walks that have come to their end."""
    found, summed = [], streaming._summed

    def keep(walk, **options):
        found.append(walk)
        return summed(walk, **options)

    monkeypatch.setattr(streaming, "_summed", keep)
    return found


def recorded(*lazy, **options):
    """Compute and return also what every task returned."""
    returned = {}

    def keep(key, result, dsk, state, worker):
        returned[key] = result

    with Callback(posttask=keep):
        return dask.compute(*lazy, **options), returned


def worst(ours, expected):
    return np.abs(ours - expected).max() / np.abs(expected).max()


def test_a_chunk_is_made_inside_the_tasks_unless_memory_holds_it_already(source):
    X, inside = source
    chunks = as_chunks(X)
    assert all((part.recipe.key in part.recipe.tasks) for part in chunks.parts)
    made = [len(part.recipe.tasks) > 1 for part in chunks.parts]  # more than the check of its rows
    assert made == [inside] * len(chunks.parts)
    assert all(len(pickle.dumps(part.recipe)) < 1 << 16 for part in chunks.parts)


@pytest.mark.parametrize("sample", [None, 300])
def test_the_neighbours_and_the_mean_are_those_in_memory(source, legs, ends, sample):
    X, _ = source
    rows = local(X)
    ours = dask.compute(*mean_shape_operator(X, K, mode="sharded", sample=sample, return_error=True))
    expected = shopca_rs.mean_shape_operator(rows, K, sample=sample, return_error=True)
    assert worst(ours[0], expected[0]) < 1e-12
    assert np.abs(ours[1] - expected[1]).max() < 1e-12
    indices, distances = shopca_rs.k_neighbors(rows, K)
    walked = np.concatenate([walk.rows for walk in ends])
    assert len(np.unique(walked)) == len(walked) == (sample or len(rows))
    for walk in ends:
        np.testing.assert_array_equal(walk.found.rows, indices[walk.rows])
        np.testing.assert_array_equal(np.sqrt(walk.found.squared), distances[walk.rows])
        np.testing.assert_array_equal(walk.found.points, rows[walk.found.rows])
        np.testing.assert_array_equal(walk.queries, rows[walk.rows])


def arrays_of(result):
    if isinstance(result, Walk):
        found = result.found
        return [result.queries, result.rows, found.squared, found.rows, found.points]
    return [result] if isinstance(result, np.ndarray) else []


def of_the_walks(chunks, returned, graph):
    """What tasks returned, without those that make what all chunks share: a mean reads chunks, too."""
    apart = [each.key for part in chunks.parts for each in part.inputs]
    for key in apart:
        apart.extend(set(graph[key].dependencies) - set(apart))
    return [result for key, result in returned.items() if key not in set(apart)]


@pytest.mark.parametrize("sample", [None, 300])
@pytest.mark.parametrize("kind", [name for name, (_, inside) in SOURCES.items() if inside])
def test_no_task_returns_a_chunk_nor_anything_that_keeps_one(
    points, tmp_path, monkeypatch, legs, kind, sample
):
    X = SOURCES[kind][0](points, tmp_path)
    monkeypatch.setattr(blocks, "_LIST_BYTES", 100 * blocks._bytes_per_query(K, DIM))  # 100 queries a block
    (lazy,) = dask.optimize(mean_shape_operator(X, K, mode="sharded", sample=sample))
    _, returned = recorded(lazy, optimize_graph=False)
    chunks = as_chunks(X)
    results = of_the_walks(chunks, returned, dict(lazy.__dask_graph__()))
    kept = sum(isinstance(result, Walk) for result in results)
    assert (kept == 0) if legs == "one leg" else (kept > 2)
    for result in results:
        for array in arrays_of(result):
            # An array of the core is based on memory of its own, which is no array.
            assert not isinstance(array.base, np.ndarray) or array.base.nbytes <= array.nbytes
            assert array.ndim != 2 or array.shape[1] != DIM or len(array) < min(chunks.sizes)


def test_no_task_of_a_fit_with_pca_returns_a_chunk(points, tmp_path, monkeypatch):
    monkeypatch.setattr(streaming, "_LEG", 1)
    X = npy(points, tmp_path)
    returned = {}
    with Callback(posttask=lambda key, result, *rest: returned.setdefault(key, result)):
        model = SHOPCA(2, max_features=4, mode="sharded", sample=200).fit(X)
    np.testing.assert_allclose(
        model.components_, shopca_rs.SHOPCA(2, max_features=4, sample=200).fit(points).components_, atol=1e-9
    )
    assert any(isinstance(result, Walk) for result in returned.values())
    for result in returned.values():
        assert all(len(array) < CHUNK for array in arrays_of(result) if array.ndim == 2)


def counted(path, folder, start, stop):
    with open(folder / "reads", "a") as log:
        log.write(f"{start}\n")
    return np.array(np.load(path, mmap_mode="r")[start:stop])


def test_what_all_chunks_share_is_computed_once(points, tmp_path):
    np.save(tmp_path / "points.npy", points)
    read = delayed(counted, pure=True)
    firsts = range(0, N, CHUNK)
    X = da.concatenate(
        [
            da.from_delayed(
                read(tmp_path / "points.npy", tmp_path, first, first + CHUNK), (CHUNK, DIM), float
            )
            for first in firsts
        ]
    )
    ours = mean_shape_operator(standardised(X), K, mode="sharded").compute()
    assert worst(ours, shopca_rs.mean_shape_operator(local(standardised(da.from_array(points))), K)) < 1e-10
    reads = (tmp_path / "reads").read_text().split()
    # Once for the mean and the deviation, once for each of the four blocks of queries.
    assert sorted(reads) == sorted([str(first) for first in firsts] * 5)


def owners(graph, outputs):
    return inlined_graph._owners(dask._task_spec.convert_legacy_graph(graph), outputs)


def test_a_key_that_one_block_needs_belongs_to_it_whoever_else_reads_it_for_all():
    graph = {
        "read 0": (int, 0),
        "read 1": (int, 1),
        "mean": (max, "read 0", "read 1"),
        "deep": (abs, "mean"),
        "block 0": (divmod, "read 0", "deep"),
        "block 1": (divmod, "read 1", "deep"),
    }
    found = owners(graph, ["block 0", "block 1"])
    assert found == {"block 0": 0, "block 1": 1, "read 0": 0, "read 1": 1, "deep": inlined_graph._SHARED}


def test_a_block_that_another_one_needs_is_shared():
    graph = {"block 0": (int, 0), "block 1": (abs, "block 0")}
    assert owners(graph, ["block 0", "block 1"]) == {"block 0": inlined_graph._SHARED, "block 1": 1}
    assert owners(graph, ["block 1", "block 1"]) == {"block 1": inlined_graph._SHARED}


def test_chunks_cut_from_one_larger_chunk_share_it(points, tmp_path):
    X = npy(points, tmp_path).rechunk((500, DIM))
    lazy = mean_shape_operator(X, K, mode="sharded")
    assert worst(lazy.compute(), shopca_rs.mean_shape_operator(points, K)) < 1e-12
    inputs = {each.key for part in as_chunks(X).parts for each in part.inputs}
    assert len(inputs) == N // CHUNK  # the chunks of the file


def test_a_chunk_that_cannot_be_pickled_stays_a_dependency(points, tmp_path):
    lock = threading.Lock()
    X = npy(points, tmp_path).map_blocks(lambda block: block if lock else None, dtype=float)
    assert all(len(part.recipe.tasks) == 1 for part in as_chunks(X).parts)
    ours = mean_shape_operator(X, K, mode="sharded").compute()
    assert worst(ours, shopca_rs.mean_shape_operator(points, K)) < 1e-12


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int32, np.float32])
def test_chunks_of_any_kind_of_number_are_searched_in_double_precision(dtype, tmp_path):
    X = np.random.default_rng(0).integers(0, 2 if dtype is bool else 60, size=(N, DIM)).astype(dtype)
    ours = mean_shape_operator(npy(X, tmp_path), K, mode="sharded").compute()
    assert worst(ours, shopca_rs.mean_shape_operator(X.astype(float), K)) < 1e-12


def tasks_of_walks(lazy):
    """The tasks of each walk, in their order."""
    graph = dict(dask.optimize(lazy)[0].__dask_graph__())
    found = {}
    for key in sorted(key for key in graph if key[0].startswith("walk-")):
        found.setdefault(key[1], []).append(graph[key])
    return [found[number] for number in sorted(found)]


@pytest.mark.parametrize("sample", [None, 300])
def test_a_walk_of_many_legs_sets_out_when_an_earlier_one_has_ended(points, tmp_path, monkeypatch, sample):
    monkeypatch.setattr(blocks, "_LIST_BYTES", 10 * blocks._bytes_per_query(K, DIM))
    monkeypatch.setattr(streaming, "_LEG", 1)
    found = tasks_of_walks(mean_shape_operator(npy(points, tmp_path), K, mode="sharded", sample=sample))
    assert len(found) > 8
    assert {len(tasks) for tasks in found} == {4}, "legs were fused"
    for number, (begin, *_) in enumerate(found):
        before = {other for other, tasks in enumerate(found) if tasks[-1].key in begin.dependencies}
        assert before == ({number - 2} if number >= 2 else set())  # two threads


def test_a_short_walk_through_a_file_is_one_task_that_needs_nothing(points, tmp_path, monkeypatch):
    monkeypatch.setattr(blocks, "_LIST_BYTES", 10 * blocks._bytes_per_query(K, DIM))
    found = tasks_of_walks(mean_shape_operator(npy(points, tmp_path), K, mode="sharded"))
    assert len(found) > 8
    for tasks in found:
        assert [task.dependencies for task in tasks] == [frozenset()]


def test_a_short_walk_of_a_sample_is_one_task_that_needs_the_rows_picked_from_each_chunk(points, tmp_path):
    found = tasks_of_walks(mean_shape_operator(npy(points, tmp_path), K, mode="sharded", sample=300))
    assert len(found) == 2  # threads
    for tasks in found:
        assert [len(task.dependencies) for task in tasks] == [N // CHUNK]
        assert all(str(key).startswith("_picked-") for key in tasks[0].dependencies)


def lengths_of_legs(X, home=0, queries=100):
    return [len(leg.stops) for leg in streaming._legs(as_chunks(X), home, queries)]


def test_a_leg_visits_the_chunks_that_need_the_same_inputs(points, tmp_path):
    stored = npy(points, tmp_path)
    assert lengths_of_legs(stored) == [4]
    assert lengths_of_legs(standardised(stored)) == [4]
    assert lengths_of_legs(da.from_array(points, chunks=(CHUNK, DIM))) == [1, 1, 1, 1]
    assert lengths_of_legs(stored.rechunk((CHUNK // 2, DIM))) == [2, 2, 2, 2]  # cut from larger ones
    # From the second half of the first large chunk around to its first half.
    assert lengths_of_legs(stored.rechunk((CHUNK // 2, DIM)), home=1) == [1, 2, 2, 2, 1]
    both = da.concatenate([stored, da.from_array(points, chunks=(CHUNK, DIM))])
    assert lengths_of_legs(both) == [4, 1, 1, 1, 1]


def test_a_leg_ends_where_its_work_does(points, tmp_path, monkeypatch):
    monkeypatch.setattr(streaming, "_LEG", 3 * 100 * CHUNK * DIM)
    assert lengths_of_legs(npy(points, tmp_path)) == [3, 1]
    assert lengths_of_legs(npy(points, tmp_path), home=2) == [3, 1]
    assert lengths_of_legs(npy(points, tmp_path), queries=10_000) == [1, 1, 1, 1]
