"""Processes that run experiments: each on one thread, and none left behind."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing.context import SpawnContext, SpawnProcess
from typing import Any


class _OwnProcesses(SpawnContext):
    """Remembers its processes. Forked ones would inherit the state of whatever threads this one has."""

    def __init__(self) -> None:
        super().__init__()
        self.made: list[SpawnProcess] = []

    def Process(self, *arguments: Any, **options: Any) -> SpawnProcess:  # type: ignore[override]  # noqa: N802
        process = SpawnProcess(*arguments, **options)
        self.made.append(process)
        return process


@contextmanager
def workers(count: int) -> Iterator[ProcessPoolExecutor]:
    """Start processes that are ended at once if the block raises."""
    own = _OwnProcesses()
    pool = ProcessPoolExecutor(count, mp_context=own, initializer=_start)
    try:
        yield pool
    except BaseException:
        # The caller may have processes of its own.
        for process in own.made:
            if process.pid is not None:
                process.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


@contextmanager
def ctrl_c_held() -> Iterator[None]:
    """Block Ctrl-C. A process that is started meanwhile never sees it: its parent handles it."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _start() -> None:
    """One thread for everything."""
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
        os.environ[variable] = "1"
    from threadpoolctl import threadpool_limits

    threadpool_limits(1)
