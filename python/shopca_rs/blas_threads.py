"""A temporary limit of one BLAS thread: several matrices in parallel, the same bits on every machine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

Item = TypeVar("Item")
Result = TypeVar("Result")

_lock = Lock()
_users = 0
_limiter: Any = None


@cache
def _controller() -> ThreadpoolController:
    # Cached: inspecting all libraries of the process takes longer than a small fit.
    return ThreadpoolController()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Keep NumPy's and SciPy's BLAS to one thread in this process.

    A general eigenproblem does not benefit from more threads, and slows down beside other busy processes. The
    first caller sets the limit and the last one lifts it, so that calls from several threads may overlap.
    """
    global _users, _limiter
    with _lock:
        _users += 1
        if _users == 1:
            _limiter = _controller().limit(limits=1, user_api="blas")
            _limiter.__enter__()
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if _users == 0:
                _limiter.__exit__(None, None, None)
                _limiter = None


def side_by_side(
    function: Callable[[Item], Result], items: Iterable[Item], pool: ThreadPoolExecutor | None
) -> list[Result]:
    """Return the results for all items in their order, from a pool of threads if there is one."""
    return [function(item) for item in items] if pool is None else list(pool.map(function, items))


def start(function: Callable[[Item], Result], item: Item, pool: ThreadPoolExecutor | None) -> Future[Result]:
    """Start a call in a pool of threads, or make it at once if there is none."""
    if pool is not None:
        return pool.submit(function, item)
    done: Future[Result] = Future()
    done.set_result(function(item))
    return done


@contextmanager
def eigenproblem_pool(threads: int) -> Iterator[ThreadPoolExecutor | None]:
    """Open a pool for LAPACK calls that use one thread each; None for one thread.

    An interrupt does not wait for running calls.
    """
    with one_blas_thread():
        if threads == 1:
            yield None
            return
        pool = ThreadPoolExecutor(threads)
        try:
            yield pool
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
        # No thread is left for a later os.fork().
        pool.shutdown()
