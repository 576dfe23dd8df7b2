"""SHOPCA on dask: what the distributed path costs on data that fit in memory, and a run on data from disk.

``python benches/cluster.py`` starts a cluster of two processes with one thread each. It prints the time of
both modes divided by that of two threads in one process, then a sample of a large .npy file with little
memory for each worker and all rows of one that is larger than that memory, with the peak of each worker, and
last the curvature of a cloud in both modes. ``--only`` runs one of them. The machine must be quiet.
"""

from __future__ import annotations

import argparse
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any

import dask.array as da
import numpy as np
import shopca_rs
from distributed import Client, LocalCluster
from shopca_rs.dask import curvatures, from_npy, mean_shape_operator


@contextmanager
def cluster(memory: str) -> Iterator[Client]:
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, memory_limit=memory, dashboard_address=":0"
        ) as workers,
        Client(workers) as client,
    ):
        yield client


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    start = perf_counter()
    result = call()
    return perf_counter() - start, result


def peaks(client: Client) -> str:
    found = client.run(peak_kilobytes)
    return ", ".join(f"{kilobytes / 1024:.0f} MiB" for kilobytes in found.values())


def peak_kilobytes() -> int:
    # getrusage would also count what the process was before it became a worker.
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1])


def overhead(rows: int, dim: int, chunk: int, rounds: int) -> None:
    X = np.random.default_rng(0).normal(size=(rows, dim))
    warnings.filterwarnings(
        "ignore", "Sending large graph"
    )  # the data are in this process, and that is the point
    k = round(np.log2(rows))
    lazy = da.from_array(X, chunks=(chunk, dim))
    print(f"n = {rows}, d = {dim}, k = {k}, chunks of {chunk} rows; two threads, two processes of one thread")
    with cluster("6GiB") as client:
        for _ in range(rounds):
            local, S = timed(lambda: shopca_rs.mean_shape_operator(X, k, n_jobs=2))
            line = f"  one process {local:6.2f} s"
            for mode in ("replicated", "sharded"):
                taken, ours = timed(lambda mode=mode: mean_shape_operator(lazy, k, mode=mode).compute())
                gap = np.abs(ours - S).max() / np.abs(S).max()
                line += f"   {mode} {taken:6.2f} s = {taken / local:.2f}, differs by {gap:.0e}"
            print(line, flush=True)
        print(f"  peak of each worker: {peaks(client)}")


def from_disk(rows: int, dim: int, k: int, sample: int, memory: str, folder: Path) -> None:
    path = folder / "points.npy"
    stored = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(rows, dim))
    rng = np.random.default_rng(0)
    for first in range(0, rows, 1 << 18):
        part = stored[first : first + (1 << 18)]
        part[:] = rng.standard_normal(part.shape, dtype=np.float32)
    stored.flush()
    size = path.stat().st_size
    print(f"n = {rows}, d = {dim}, k = {k}, float32 on disk ({size / 2**20:.0f} MiB), workers of {memory}")
    with cluster(memory) as client:
        print(f"  before: {peaks(client)}")
        lazy = mean_shape_operator(from_npy(path), k, sample=sample, return_error=True)
        taken, (mean, error) = timed(lambda: client.gather(client.compute(list(lazy))))
        share = np.linalg.norm(error) / np.linalg.norm(mean)
        print(
            f"  sample of {sample}: {taken:.1f} s, ‖SE‖/‖S̄‖ = {share:.4f}; "
            f"peak of each worker: {peaks(client)}"
        )


def all_from_disk(clusters: int, rows: int, dim: int, k: int, memory: str, folder: Path) -> None:
    path = folder / "clusters.npy"
    stored = np.lib.format.open_memmap(path, mode="w+", dtype=np.float64, shape=(clusters * rows, dim))
    rng = np.random.default_rng(0)
    for first in range(0, len(stored), rows):
        stored[first : first + rows] = 20 * rng.normal(size=dim) + rng.normal(size=(rows, dim))
    stored.flush()
    size = path.stat().st_size
    print(
        f"n = {len(stored)} in {clusters} clusters, d = {dim}, k = {k}, float64 on disk "
        f"({size / 2**20:.0f} MiB), workers of {memory}"
    )
    local, S = timed(lambda: shopca_rs.mean_shape_operator(stored, k, n_jobs=2))
    with cluster(memory) as client:
        print(f"  before: {peaks(client)}")
        lazy = mean_shape_operator(from_npy(path, rows_per_chunk=4 * rows), k, mode="sharded")
        taken, ours = timed(lazy.compute)
        gap = np.abs(ours - S).max() / np.abs(S).max()
        print(
            f"  all rows: one process {local:.1f} s, sharded {taken:.1f} s, differs by {gap:.0e}; "
            f"peak of each worker: {peaks(client)}"
        )


def curvature(rows: int, chunks: int, folder: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 3))
    X *= np.array([2.0, 1.5, 1.0]) / np.linalg.norm(X, axis=1, keepdims=True)
    path = folder / "ellipsoid.npy"
    with cluster("2GiB") as client:
        for noise in (0.0, 0.01):
            np.save(path, X + noise * rng.normal(size=X.shape))
            lazy = from_npy(path, rows_per_chunk=-(-rows // chunks))
            local, expected = timed(lambda: shopca_rs.curvatures(np.load(path), n_jobs=2))
            print(f"ellipsoid, n = {rows} in {chunks} chunks, noise {noise}: {expected}")
            line = f"  one process {local:6.2f} s"
            for mode in ("replicated", "sharded"):
                chosen, result = timed(lambda lazy=lazy, mode=mode: curvatures(lazy, mode=mode))
                taken, ours = timed(result.compute)
                gap = np.abs(ours.mean - expected.mean).max() / np.abs(expected.mean).max()
                line += (
                    f"   {mode} {chosen:.2f} + {taken:.2f} s = {(chosen + taken) / local:.2f}, differs by "
                    f"{gap:.0e}"
                )
            print(line, flush=True)
        print(f"  peak of each worker: {peaks(client)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=200_000, help="of the data that fit")
    parser.add_argument("--chunk", type=int, default=25_000, help="rows of their chunks")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--disk-rows", type=int, default=4_000_000)
    parser.add_argument("--sample", type=int, default=20_000)
    parser.add_argument("--memory", default="1GiB", help="of each worker, for the sample from disk")
    parser.add_argument("--clusters", type=int, default=256, help="of the data whose rows are all queries")
    parser.add_argument("--little-memory", default="512MiB", help="of each worker, for these")
    parser.add_argument("--curvature-rows", type=int, default=20_000)
    parser.add_argument("--only", choices=("overhead", "sample", "all", "curvature"))
    options = parser.parse_args()
    wanted = {options.only} if options.only else {"overhead", "sample", "all", "curvature"}
    if "overhead" in wanted:
        overhead(options.rows, 16, options.chunk, options.rounds)
    with tempfile.TemporaryDirectory() as folder:
        if "sample" in wanted:
            from_disk(options.disk_rows, 16, 20, options.sample, options.memory, Path(folder))
        if "all" in wanted:
            all_from_disk(options.clusters, 515, 512, 2, options.little_memory, Path(folder))
        if "curvature" in wanted:
            curvature(options.curvature_rows, 4, Path(folder))


if __name__ == "__main__":
    main()
