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
import shopca_rs
from distributed import Client, LocalCluster, WorkerPlugin, wait
from shopca_rs.dask import SHOPCA, from_npy, mean_shape_operator
from shopca_rs.dask.chunks import as_chunks
from shopca_rs.dask.walks import Walk
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
def mortal():
    """Workers for one test alone: on a busy machine dask does not always replace one that died."""
    with cluster("1GiB") as client:
        yield client


def pids(client):
    return [worker["pid"] for worker in client.run(lambda: {"pid": os.getpid()}).values()]


def unfinished_tasks(client):
    return client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks))


def finished_tasks(client, name):
    def count(dask_scheduler):
        return sum(task.state == "memory" and name in str(task.key) for task in dask_scheduler.tasks.values())

    return client.run_on_scheduler(count)


def eventually(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.05)


def test_the_workers_threads_and_memory_are_known(client):
    found = workers()
    assert (found.threads, found.threads_each, found.memory) == (2, 1, 1 << 30)


@pytest.mark.parametrize("mode", ["replicated", "sharded"])
def test_a_fit_on_the_cluster_is_the_fit_in_memory(client, mode):
    X = nasty.continuous(2000, 6)
    model = SHOPCA(mode=mode).fit(da.from_array(X, chunks=(300, 6)))
    expected = shopca_rs.SHOPCA().fit(X)
    np.testing.assert_allclose(model.mean_shape_operator_, expected.mean_shape_operator_, rtol=0, atol=1e-12)
    np.testing.assert_allclose(model.components_, expected.components_, atol=1e-9)


def in_memory(X, chunk, folder):
    return da.from_array(X, chunks=(chunk, X.shape[1]))


def in_a_file(X, chunk, folder):
    np.save(folder / "points.npy", X)
    return from_npy(folder / "points.npy", rows_per_chunk=chunk)


@pytest.mark.parametrize(
    ("mode", "source"), [("replicated", in_memory), ("sharded", in_memory), ("sharded", in_a_file)]
)
def test_a_worker_killed_in_the_middle_does_not_change_a_bit(mortal, mode, source, tmp_path):
    X = source(nasty.continuous(30_000, 12), 3000, tmp_path)
    graph = mean_shape_operator(X, K, mode=mode)
    undisturbed = graph.compute()
    doomed, _ = pids(mortal)
    future = mortal.compute(graph)
    name = {"replicated": "_sums_of_rows", "sharded": "walk-"}[mode]
    eventually(lambda: finished_tasks(mortal, name) > 0)
    assert not future.done(), "the work was over before a worker could be killed"
    os.kill(doomed, signal.SIGKILL)
    np.testing.assert_array_equal(future.result(timeout=120), undisturbed)
    assert doomed not in pids(mortal)


@pytest.mark.parametrize("source", [in_memory, in_a_file])
def test_cancel_and_retry_leave_nothing_behind(client, source, tmp_path):
    X = source(nasty.continuous(12_000, 12), 1500, tmp_path)
    graph = mean_shape_operator(X, K, mode="sharded")
    future = client.compute(graph)
    eventually(lambda: finished_tasks(client, "walk-") > 0)
    future.cancel()
    eventually(lambda: unfinished_tasks(client) == 0)
    again = client.compute(graph)
    result = again.result(timeout=120)
    del again
    eventually(lambda: unfinished_tasks(client) == 0)
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
