"""SHOPCA on a real cluster: two processes on this machine, some of which die."""

from __future__ import annotations

import os
import signal
import time
from contextlib import contextmanager

import dask.array as da
import nasty
import numpy as np
import pytest
import shapes
import shopca_rs
from distributed import Client, LocalCluster, WorkerPlugin, wait
from shopca_rs.dask import (
    LPP,
    SHOPCA,
    curvatures,
    from_npy,
    mean_shape_operator,
    quality,
    trustworthiness,
)
from shopca_rs.dask.chunks import as_chunks
from shopca_rs.dask.streaming import Walk
from shopca_rs.dask.workers import workers

K = 8


@contextmanager
def cluster(memory):
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, memory_limit=memory, dashboard_address=":0"
        ) as workers,
        Client(workers) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def client():
    with cluster("1GiB") as client:
        yield client


@pytest.fixture
def own():
    """A cluster for one test alone: its workers may be killed, and its scheduler knows no other tasks."""
    with cluster("1GiB") as client:
        yield client


def pids(client):
    return [worker["pid"] for worker in client.run(lambda: {"pid": os.getpid()}).values()]


def known_tasks(client):
    """The tasks of a scheduler with their states and with those that still want them."""

    def describe(dask_scheduler):
        return {
            str(task.key): (task.state, [str(client) for client in task.who_wants or ()])
            for task in dask_scheduler.tasks.values()
        }

    return client.run_on_scheduler(describe)


def finished_tasks(client, name):
    def count(dask_scheduler):
        return sum(task.state == "memory" and name in str(task.key) for task in dask_scheduler.tasks.values())

    return client.run_on_scheduler(count)


def eventually(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.05)


def nothing_is_left(client):
    try:
        eventually(lambda: not known_tasks(client))
    except AssertionError:
        pytest.fail(f"the scheduler still knows {known_tasks(client)}")


def test_the_workers_threads_and_memory_are_known(client):
    found = workers()
    assert (found.threads, found.threads_each, found.memory) == (2, 1, 1 << 30)


def test_an_answer_without_workers_that_came_between_is_not_believed(client, monkeypatch):
    expected, ask = workers(), Client.scheduler_info
    between = iter([{"n_workers": 2, "workers": {}}])
    monkeypatch.setattr(
        Client, "scheduler_info", lambda self, n_workers: next(between, None) or ask(self, n_workers)
    )
    assert workers() == expected
    assert next(between, None) is None


@pytest.mark.parametrize("mode", ["replicated", "sharded"])
def test_a_fit_on_the_cluster_is_the_fit_in_memory(client, mode):
    X = nasty.continuous(2000, 6)
    model = SHOPCA(mode=mode).fit(da.from_array(X, chunks=(300, 6)))
    expected = shopca_rs.SHOPCA().fit(X)
    np.testing.assert_allclose(model.mean_shape_operator_, expected.mean_shape_operator_, rtol=0, atol=1e-12)
    np.testing.assert_allclose(model.components_, expected.components_, atol=1e-9)


@pytest.mark.parametrize("mode", ["replicated", "sharded"])
def test_lpp_on_the_cluster_is_that_in_memory(client, mode, tmp_path):
    X = nasty.continuous(1500, 6)
    model = LPP(mode=mode).fit(in_a_file(X, 400, tmp_path))
    expected = shopca_rs.LPP().fit(X)
    np.testing.assert_allclose(model.local_scatter_, expected.local_scatter_, rtol=0, atol=1e-12)
    np.testing.assert_allclose(model.components_, expected.components_, atol=1e-9)


@pytest.mark.parametrize("mode", ["replicated", "sharded"])
def test_curvatures_on_the_cluster_are_those_in_memory(client, mode, tmp_path):
    rng = np.random.default_rng(0)
    X = shapes.noisy(shapes.torus(600, rng).points, 0.02, rng)
    ours = curvatures(in_a_file(X, 250, tmp_path), intrinsic_dim=2, mode=mode).compute()
    expected = shopca_rs.curvatures(X, intrinsic_dim=2)
    assert (ours.stages, ours.n_neighbors) == (2, expected.n_neighbors)
    for name in ("mean", "scalar", "principal", "standard_error"):
        wanted = getattr(expected, name)
        np.testing.assert_allclose(
            getattr(ours, name), wanted, rtol=0, atol=1e-12 * np.abs(wanted).max(), err_msg=name
        )


def in_memory(X, chunk, folder):
    return da.from_array(X, chunks=(chunk, X.shape[1]))


def in_a_file(X, chunk, folder):
    np.save(folder / "points.npy", X)
    return from_npy(folder / "points.npy", rows_per_chunk=chunk)


# As many rows as keep two workers busy for seconds: long enough to be killed in the middle.
@pytest.mark.parametrize(
    ("mode", "source", "rows"),
    [("replicated", in_a_file, 80_000), ("sharded", in_memory, 30_000), ("sharded", in_a_file, 30_000)],
)
def test_a_worker_killed_in_the_middle_does_not_change_a_bit(own, mode, source, rows, tmp_path):
    X = source(nasty.continuous(rows, 12), rows // 10, tmp_path)
    graph = mean_shape_operator(X, K, mode=mode)
    undisturbed = graph.compute()
    doomed, _ = pids(own)
    future = own.compute(graph)
    name = {"replicated": "_sums_of_rows", "sharded": "walk-"}[mode]
    eventually(lambda: finished_tasks(own, name) > 0)
    assert not future.done(), "the work was over before a worker could be killed"
    os.kill(doomed, signal.SIGKILL)
    np.testing.assert_array_equal(future.result(timeout=120), undisturbed)
    assert doomed not in pids(own)


@pytest.mark.parametrize("source", [in_memory, in_a_file])
def test_cancel_and_retry_leave_nothing_behind(own, source, tmp_path):
    X = source(nasty.continuous(12_000, 12), 1500, tmp_path)
    graph = mean_shape_operator(X, K, mode="sharded")
    future = own.compute(graph)
    eventually(lambda: finished_tasks(own, "walk-") > 0)
    future.cancel()
    nothing_is_left(own)
    again = own.compute(graph)
    result = again.result(timeout=120)
    del again
    nothing_is_left(own)
    assert np.abs(result - shopca_rs.mean_shape_operator(X.compute(), K)).max() < 1e-12


def test_chunks_that_the_cluster_holds_already_are_not_made_again(client, tmp_path):
    points = nasty.continuous(4000, 12)
    X = client.persist(in_a_file(points, 1000, tmp_path))
    wait(X)
    (tmp_path / "points.npy").unlink()
    assert all(len(part.recipe.tasks) == 1 for part in as_chunks(X).parts)
    ours = mean_shape_operator(X, K, mode="sharded", sample=500).compute()
    assert np.abs(ours - shopca_rs.mean_shape_operator(points, K, sample=500)).max() < 1e-12


def test_the_rows_of_a_shuffle_are_taken_from_where_they_wait(client, tmp_path):
    points = nasty.continuous(4000, 12)
    X = in_a_file(points, 1000, tmp_path).rechunk((1300, 12), method="p2p")
    ours = mean_shape_operator(X, K, mode="sharded").compute()
    assert np.abs(ours - shopca_rs.mean_shape_operator(points, K)).max() < 1e-12


def test_a_nan_in_one_chunk_reaches_the_caller_as_the_sentence_of_its_task(client):
    X = nasty.continuous(400, 3)
    X[250, 2] = np.nan
    with pytest.raises(ValueError, match=r"chunk 2 of X \(from row 200\), row 250, column 2"):
        SHOPCA(mode="sharded").fit(da.from_array(X, chunks=(100, 3)))


class Watch(WorkerPlugin):
    """Looks at everything that a worker has got to keep."""

    name = "watch"

    def setup(self, worker):
        self.worker, self.shapes, self.waiting, self.ended = worker, set(), 0, 0

    def transition(self, key, start, finish, **_):
        if finish != "memory":
            return
        result = self.worker.data[key]
        if isinstance(result, Walk):
            self.waiting += 1
        elif isinstance(result, np.ndarray):
            self.shapes.add(result.shape)
            self.ended += str(key).startswith("('walk-")


def watched(dask_worker):
    """What this worker has kept since the last time: shapes of arrays, walks on their way, ends of walks."""
    watch = dask_worker.plugins["watch"]
    seen = watch.shapes, watch.waiting, watch.ended
    watch.shapes, watch.waiting, watch.ended = set(), 0, 0
    return seen


LIMIT = 512 << 20


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A file larger than a worker's memory, cluster after cluster, and the workers."""
    path = tmp_path_factory.mktemp("large") / "points.npy"
    clusters, rows, dim = 256, 515, 512
    stored = np.lib.format.open_memmap(path, mode="w+", dtype=np.float64, shape=(clusters * rows, dim))
    rng = np.random.default_rng(0)
    for first in range(0, len(stored), rows):
        stored[first : first + rows] = 20 * rng.normal(size=dim) + rng.normal(size=(rows, dim))
    stored.flush()
    assert path.stat().st_size > LIMIT
    with cluster(LIMIT) as client:
        client.register_plugin(Watch())
        yield path, stored, client
    path.unlink()


@pytest.mark.parametrize("sample", [64, None])
def test_more_data_than_a_worker_has_memory_go_through_in_shards_and_no_worker_keeps_a_chunk(large, sample):
    path, stored, client = large
    before = pids(client)
    X = from_npy(path, rows_per_chunk=2060)
    lazy = mean_shape_operator(X, 2, sample=sample, return_error=True)
    assert any("walk-" in str(key) for key in lazy[0].__dask_graph__())  # auto has chosen shards
    client.run(watched)
    mean, error = client.gather(client.compute(list(lazy)))
    assert pids(client) == before
    shapes, waiting, ended = zip(*client.run(watched).values(), strict=True)
    assert all(len(shape) != 2 or shape[0] < 2060 for shape in set.union(*shapes))
    assert sum(waiting) == 0
    assert sum(ended) >= (64 if sample is None else 2)  # an end that another worker fetches counts twice
    if sample is None:
        assert min(ended) >= 16, "one worker did the work of all"
    expected = shopca_rs.mean_shape_operator(stored, 2, sample=sample, return_error=True)
    np.testing.assert_allclose(mean, expected[0], rtol=0, atol=1e-12)
    np.testing.assert_allclose(error, expected[1], rtol=0, atol=1e-12)


@pytest.mark.filterwarnings("ignore:.*do not determine a fit")
def test_curvatures_of_more_data_than_a_worker_has_memory_go_through_in_shards(large):
    path, stored, client = large
    before = pids(client)
    rows = np.arange(11, len(stored), 9000)
    options = {"n_neighbors": 8, "intrinsic_dim": 1, "order": 3, "stages": 2, "points": rows}
    client.run(watched)
    ours = curvatures(from_npy(path, rows_per_chunk=2060), **options).compute()
    assert pids(client) == before
    shapes, _, ended = zip(*client.run(watched).values(), strict=True)
    assert min(ended) > 0, "one worker did the work of all"
    assert all(len(shape) != 2 or shape[0] < 2060 for shape in set.union(*shapes))
    expected = shopca_rs.curvatures(stored, **options)
    assert expected.valid.any()
    np.testing.assert_array_equal(ours.valid, expected.valid)
    np.testing.assert_allclose(ours.mean, expected.mean, rtol=1e-10)
    np.testing.assert_allclose(ours.standard_error, expected.standard_error, rtol=1e-10)


def test_an_embedding_of_more_data_than_a_worker_has_memory_is_judged_in_shards(large):
    path, stored, client = large
    before = pids(client)
    X = from_npy(path, rows_per_chunk=2060)
    Z = X[:, :2]
    client.run(watched)
    trust = trustworthiness(X, Z, sample=40, return_error=True)
    result = quality(X, Z, sample=8)
    assert pids(client) == before
    shapes, *_ = zip(*client.run(watched).values(), strict=True)
    assert all(len(shape) != 2 or shape[0] < 2060 for shape in set.union(*shapes))
    assert trust == shopca_rs.trustworthiness(stored, stored[:, :2], sample=40, return_error=True)
    expected = shopca_rs.quality(stored, stored[:, :2], sample=8)
    assert (result.auc, result.standard_error.auc) == (expected.auc, expected.standard_error.auc)
    np.testing.assert_array_equal(result.r_nx, expected.r_nx)
    np.testing.assert_array_equal(result.standard_error.r_nx, expected.standard_error.r_nx)
