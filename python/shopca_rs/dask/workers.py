"""What the workers have: threads and memory."""

from __future__ import annotations

from dataclasses import dataclass

import dask
from dask.system import CPU_COUNT

from .. import machine

# How often the client is asked for a complete answer.
_TRIES = 100


@dataclass(frozen=True)
class Workers:
    """The workers that will compute.

    Attributes
    ----------
    threads : int
        Tasks that run at once, on all workers together.
    memory : int
        Memory of the smallest worker in bytes.
    threads_each : int
        Tasks that run at once on one worker, at most.
    """

    threads: int
    memory: int
    threads_each: int


def workers() -> Workers:
    """Return the workers of the current client, or what this process may use if there is none.

    Returns
    -------
    Workers
        What they have.
    """
    known = _of_client()
    if known:
        return Workers(
            sum(worker["nthreads"] for worker in known),
            min(worker["memory_limit"] or machine.memory() for worker in known),
            max(worker["nthreads"] for worker in known),
        )
    # As many threads as dask's own pool: the processors that a container may use.
    threads = dask.config.get("num_workers", None) or CPU_COUNT
    return Workers(threads, machine.memory(), threads)


def _of_client() -> list[dict[str, int]]:
    try:
        from distributed import get_client
    except ImportError:
        return []
    try:
        client = get_client()
    except ValueError:
        return []
    # The client also asks by itself now and then, without workers, and returns the answer that came last.
    for _ in range(_TRIES):
        info = client.scheduler_info(n_workers=-1)
        if len(info["workers"]) == info.get("n_workers", len(info["workers"])):
            break
    return list(info["workers"].values())
