"""What the workers have: threads and memory."""

from __future__ import annotations

import os
from dataclasses import dataclass

import dask


@dataclass(frozen=True)
class Workers:
    """The workers that will compute.

    Attributes
    ----------
    threads : int
        Tasks that run at once, on all workers together.
    memory : int
        Bytes of the smallest worker.
    threads_each : int
        Tasks that run at once on one worker, at most.
    """

    threads: int
    memory: int
    threads_each: int


def workers() -> Workers:
    """Return the workers of the current client, or this machine's threads if there is none.

    Returns
    -------
    Workers
        What they have.
    """
    known = _of_client()
    if known:
        return Workers(
            sum(worker["nthreads"] for worker in known),
            min(worker["memory_limit"] or _machine_memory() for worker in known),
            max(worker["nthreads"] for worker in known),
        )
    threads = dask.config.get("num_workers", None) or os.cpu_count() or 1
    return Workers(threads, _machine_memory(), threads)


def _of_client() -> list[dict[str, int]]:
    try:
        from distributed import get_client
    except ImportError:
        return []
    try:
        client = get_client()
    except ValueError:
        return []
    return list(client.scheduler_info(n_workers=-1)["workers"].values())


def _machine_memory() -> int:
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
