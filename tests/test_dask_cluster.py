"""SHOPCA on a real cluster: two processes on this machine, some of which die."""

from __future__ import annotations

import os
import signal
import time

import dask.array as da
import nasty
import numpy as np
import pytest
import shopca_rs
from distributed import Client, LocalCluster, wait
from shopca_rs.dask import SHOPCA, from_npy, mean_shape_operator
from shopca_rs.dask.workers import workers

K = 8


def start(memory):
    cluster = LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, memory_limit=memory, dashboard_address=":0"
    )
    return cluster, Client(cluster)


@pytest.fixture(scope="module")
def client():
    cluster, client = start("1GiB")
    yield client
    client.close()
    cluster.close()


def pids(client):
    return [worker["pid"] for worker in client.run(lambda: {"pid": os.getpid()}).values()]


def unfinished_tasks(client):
    return client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks))


def finished_tasks(client, name):
    def count(dask_scheduler):
        return sum(task.state == "memory" and name in str(task.key) for task in dask_scheduler.tasks.values())

    return client.run_on_scheduler(count)


def eventually(condition, seconds=30):
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


@pytest.mark.parametrize("mode", ["replicated", "sharded"])
def test_a_worker_killed_in_the_middle_does_not_change_a_bit(client, mode):
    X = da.from_array(nasty.continuous(30_000, 12), chunks=(3000, 12))
    graph = mean_shape_operator(X, K, mode=mode)
    undisturbed = graph.compute()
    client.wait_for_workers(2)
    before = pids(client)
    future = client.compute(graph)
    name = {"replicated": "_sums_of_rows", "sharded": "_extended"}[mode]
    eventually(lambda: finished_tasks(client, name) > 0)
    assert not future.done(), "the work was over before a worker could be killed"
    os.kill(before[0], signal.SIGKILL)
    np.testing.assert_array_equal(future.result(), undisturbed)
    client.wait_for_workers(2)
    eventually(lambda: before[0] not in pids(client))


def test_cancel_and_retry_leave_nothing_behind(client):
    X = da.from_array(nasty.continuous(12_000, 12), chunks=(1500, 12))
    graph = mean_shape_operator(X, K, mode="sharded")
    future = client.compute(graph)
    eventually(lambda: finished_tasks(client, "_extended") > 0)
    future.cancel()
    eventually(lambda: unfinished_tasks(client) == 0)
    again = client.compute(graph)
    wait(again)
    result = again.result()
    del again
    eventually(lambda: unfinished_tasks(client) == 0)
    assert np.abs(result - shopca_rs.mean_shape_operator(X.compute(), K)).max() < 1e-12


def test_a_nan_in_one_chunk_reaches_the_caller_as_the_sentence_of_its_task(client):
    X = nasty.continuous(400, 3)
    X[250, 2] = np.nan
    with pytest.raises(ValueError, match=r"chunk 2 of X \(from row 200\), row 250, column 2"):
        SHOPCA(mode="sharded").fit(da.from_array(X, chunks=(100, 3)))


def test_more_data_than_a_worker_has_memory_goes_through_in_shards(tmp_path):
    rows, dim = 4_400_000, 32
    path = tmp_path / "points.npy"
    stored = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(rows, dim))
    rng = np.random.default_rng(0)
    for first in range(0, rows, 200_000):
        stored[first : first + 200_000] = rng.standard_normal((200_000, dim), dtype=np.float32)
    stored.flush()
    limit = 512 << 20
    assert path.stat().st_size > limit
    cluster, client = start(limit)
    try:
        before = pids(client)
        X = from_npy(path, rows_per_chunk=100_000)
        mean, error = mean_shape_operator(X, K, sample=64, return_error=True)
        assert any("_extended" in str(key) for key in mean.__dask_graph__())  # auto has chosen shards
        mean, error = client.gather(client.compute([mean, error]))
        assert pids(client) == before
    finally:
        client.close()
        cluster.close()
    expected = shopca_rs.mean_shape_operator(stored, K, sample=64, return_error=True)
    np.testing.assert_allclose(mean, expected[0], rtol=0, atol=1e-12)
    np.testing.assert_allclose(error, expected[1], rtol=0, atol=1e-12)
