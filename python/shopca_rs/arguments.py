"""What callers pass → what Rust takes: one function per kind of argument, each with its error text."""

from __future__ import annotations

import operator
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

LARGEST_SEED = 2**32 - 1

Progress = bool | Callable[[int, int], object] | None


def as_points(X: ArrayLike, name: str = "X") -> NDArray[np.float64]:
    """Return a table of numbers as a row-major float64 array, without a copy where it already is one."""
    if hasattr(X, "toarray") and hasattr(X, "nnz"):
        raise TypeError(
            f"{name} must be a dense table, got a sparse one. Use {name}.toarray() if it fits in memory."
        )
    if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X):
        raise ValueError(
            f"{name} must hold finite numbers only, got masked entries. Fill them with .filled()."
        )
    try:
        table = np.asarray(X)
    except ValueError as error:
        raise ValueError(f"{name} must be a table with rows of one length: {error}") from None
    if table.dtype.kind == "O":
        table = _objects_as_numbers(table, name)
    if table.dtype.kind not in "fiub":
        raise TypeError(
            f"{name} must hold real numbers, got dtype {table.dtype}. Encode or drop such columns first."
        )
    if table.ndim != 2:
        hint = (
            f" Use {name}.reshape(-1, 1) for one column, reshape(1, -1) for one row."
            if table.ndim == 1
            else ""
        )
        raise ValueError(
            f"{name} must be 2-D with points as rows, got {table.ndim}-D of shape {table.shape}.{hint}"
        )
    with np.errstate(over="ignore"):
        return np.ascontiguousarray(table, dtype=np.float64)


def _objects_as_numbers(table: NDArray[Any], name: str) -> NDArray[Any]:
    text = next((entry for entry in table.flat if isinstance(entry, str | bytes)), None)
    try:
        if text is None:
            return table.astype(np.float64)
        reason = f"the text {text!r}"
    except (TypeError, ValueError, OverflowError) as error:
        reason = str(error)
    raise TypeError(f"{name} must hold real numbers, got {reason}. Encode or drop such columns first.")


def as_indices(indices: ArrayLike, name: str, ndim: int, what: str) -> NDArray[np.int64]:
    """Return an integer array of the given number of axes as int64; `what` says which one was expected."""
    try:
        array = np.asarray(indices)
    except ValueError as error:
        raise ValueError(f"{name} must be {what}: {error}") from None
    if array.size == 0 and array.dtype.kind == "f":
        array = array.astype(np.int64)
    if array.dtype.kind not in "iu":
        raise TypeError(
            f"{name} must hold integers, got dtype {array.dtype}. Use .astype(int) if they are whole."
        )
    if array.ndim != ndim:
        raise ValueError(f"{name} must be {what}, got {array.ndim}-D of shape {array.shape}.")
    if array.dtype == np.uint64:
        # Row numbers beyond int64 would wrap around to valid ones.
        array = np.minimum(array, np.uint64(np.iinfo(np.int64).max))
    return np.ascontiguousarray(array, dtype=np.int64)


def as_count(value: Any, name: str, low: int) -> int:
    """Return an integer of at least `low`."""
    try:
        if isinstance(value, bool | np.bool_):
            raise TypeError
        count = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be an integer, got {value!r} ({type(value).__name__}).") from None
    if count < low:
        raise ValueError(f"{name} must be at least {low}, got {count}.")
    if count > sys.maxsize:
        raise ValueError(f"{name} must be at most {sys.maxsize}, the largest number of rows, got {count}.")
    return count


def as_sample(sample: Any, random_state: Any, n: int) -> NDArray[np.int64] | None:
    """Return a random sample of the numbers below n in random order, or None for all of them."""
    seed = as_count(random_state, "random_state", 0)
    if seed > LARGEST_SEED:
        raise ValueError(f"random_state must be at most 2**32 - 1, got {seed}.")
    if sample is None:
        return None
    count = as_count(sample, "sample", 2)
    if count > n:
        raise ValueError(
            f"sample must be at most n = {n}, the number of rows, got {count}. Use None for all."
        )
    if count == n:
        return None
    # NumPy's policy freezes the stream of RandomState; that of its newer generators may change.
    return np.random.RandomState(seed).permutation(n)[:count].astype(np.int64)


def as_flag(value: Any, name: str) -> bool:
    """Return a truth value."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be True or False, got {value!r} ({type(value).__name__}).")
    return bool(value)


def as_choice(value: Any, name: str, choices: tuple[str, ...]) -> Any:
    """Return a string that is one of `choices`."""
    listed = ", ".join(f'"{choice}"' for choice in choices)
    if not isinstance(value, str):
        raise TypeError(f"{name} must be one of {listed}, got {value!r} ({type(value).__name__}).")
    if value not in choices:
        raise ValueError(f"{name} must be one of {listed}, got {value!r}.")
    return value


def as_threads(n_jobs: Any) -> int:
    """Return a number of threads: all this process may use for None, counted from the end if negative."""
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if n_jobs is None:
        return available
    count = as_count(n_jobs, "n_jobs", -(2**31))
    if count == 0:
        raise ValueError("n_jobs must not be 0. Use None for all cores or a positive number of threads.")
    return count if count > 0 else max(available + 1 + count, 1)


@contextmanager
def as_progress(progress: Progress, description: str) -> Iterator[Callable[[int, int], object] | None]:
    """Turn the `progress` argument into a callable (done, total), or None."""
    if progress is None or progress is False:
        yield None
    elif progress is True:
        from tqdm.auto import tqdm

        with tqdm(desc=description, unit="pt", unit_scale=True) as bar:

            def show(done: int, total: int) -> None:
                bar.total = total
                bar.update(done - bar.n)

            yield show
    elif callable(progress):
        yield progress
    else:
        raise TypeError(
            f"progress must be True, False, None or a callable (done, total), got {progress!r} "
            f"({type(progress).__name__})."
        )
