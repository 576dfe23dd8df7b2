"""Validation of arguments before they go to Rust: one function per kind, each with its error message."""

from __future__ import annotations

import operator
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import machine
from .foreign_tables import as_readable, has_conversion, is_sparse, not_readable

LARGEST_SEED = 2**32 - 1
# More classes than this have no colours a person can tell apart.
MOST_CLASSES = 20
_TABLE = "a table with rows of one length"
# Characters of a value that an error shows.
_LONGEST = 60

Progress = bool | Callable[[int, int], object] | None
RandomState = int | np.random.RandomState | None


def shown(value: object) -> str:
    """Return a value and its type as an error shows them: on one line, whatever its size."""
    try:
        text = " ".join(repr(value).split())
    # repr fails for an integer of thousands of digits, and an object's repr may raise anything.
    except Exception:
        text = "a value without a repr"
    return f"{text if len(text) <= _LONGEST else text[: _LONGEST - 1] + '…'} ({type(value).__name__})"


def as_points(X: ArrayLike, name: str = "X") -> NDArray[np.float64]:
    """Return a table of numbers as a row-major float64 array, without a copy where it already is one."""
    table = _real(X, name, _TABLE)
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


def as_numbers(values: ArrayLike, name: str, ndim: int, what: str) -> NDArray[np.float64]:
    """Return finite numbers as a float64 array with that many axes and at least one entry."""
    return as_finite(_as_doubles(values, name, ndim, what), name)


def _as_doubles(values: ArrayLike, name: str, ndim: int, what: str) -> NDArray[np.float64]:
    array = _shaped(_real(values, name, what), name, ndim, what)
    with np.errstate(over="ignore"):
        return array.astype(np.float64, copy=False)


def as_matrix(matrix: ArrayLike, name: str) -> NDArray[np.float64]:
    """Return a square matrix of finite numbers."""
    M = _as_doubles(matrix, name, 2, "a square matrix")
    if M.shape[0] != M.shape[1]:
        raise ValueError(f"{name} must be a square matrix, got shape {M.shape}.")
    with np.errstate(all="ignore"):
        # Then no entry is above 1e155. One pass without a copy, which takes much of the time of a fit.
        if np.isfinite(np.vdot(M, M)):
            return M
        total = np.abs(as_finite(M, name)).sum()
    return _fitting(M, total, name)


def as_matrices(**matrices: ArrayLike) -> list[NDArray[np.float64]]:
    """Return square matrices of finite numbers that have one shape."""
    checked = [as_matrix(matrix, name) for name, matrix in matrices.items()]
    if len({M.shape for M in checked}) > 1:
        shapes = " and ".join(str(M.shape) for M in checked)
        raise ValueError(f"{' and '.join(matrices)} must have one shape, got {shapes}.")
    return checked


def as_spectrum(values: ArrayLike, name: str, ndim: int | None = None) -> NDArray[Any]:
    """Return finite real or complex numbers, with that many axes or at least one."""
    what = "eigenvalues along the last axis"
    array = as_array(values, name, what)
    if array.dtype.kind != "c":
        array = _real(array, name, what).astype(np.float64)
    array = as_finite(_shaped(array, name, ndim or max(array.ndim, 1), what), name)
    with np.errstate(over="ignore"):
        total = np.abs(array).sum(axis=-1).max()
    return _fitting(array, total, name)


def too_large(largest: float) -> ValueError:
    """Return the error for data whose squares overflow; `largest` is their largest magnitude."""
    return ValueError(
        f"X must have squares that fit in float64, got a largest magnitude of {largest:.3g}. "
        "Rescale the columns, for example with StandardScaler."
    )


def _fitting(array: NDArray[Any], total: float, name: str) -> NDArray[Any]:
    # Traces, norms, gaps and symmetric parts are no larger than the sum of all magnitudes.
    if not np.isfinite(total):
        raise ValueError(
            f"{name} must have a sum that fits in float64, got a largest magnitude of "
            f"{np.abs(array).max():.3g}. Rescale the data."
        )
    return array


def as_grid(alphas: ArrayLike, name: str = "alpha_grid") -> NDArray[np.float64]:
    """Return a grid of α as a 1-D float64 array of numbers from 0 to ∞, at least one."""
    grid = _real(alphas, name, "a list of numbers from 0 to inf").astype(np.float64)
    if grid.ndim != 1 or grid.size == 0:
        raise ValueError(
            f"{name} must be 1-D with at least one number, got {grid.ndim}-D of shape {grid.shape}."
        )
    if not (grid >= 0).all():
        raise ValueError(f"{name} must hold numbers from 0 to inf, got {grid[~(grid >= 0)][0]:g} among them.")
    return grid


def as_weight(value: Any, name: str) -> float:
    """Return a number from 0 to ∞."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number from 0 to inf, got {shown(value)}.")
    try:
        number = float(value)
    except OverflowError:
        raise ValueError(
            f"{name} must be a number from 0 to inf that fits in float64, got {shown(value)}. Use inf."
        ) from None
    if not number >= 0:
        raise ValueError(f"{name} must be a number from 0 to inf, got {number:g}.")
    return number


def as_weighted(
    X: NDArray[np.float64], sample_weight: ArrayLike | None
) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
    """Return the rows that have a weight above 0, and their weights; None if these are all the same."""
    weights = as_weights(sample_weight, X.shape[0])
    if weights is None:
        return X, None
    kept = weights > 0
    if not kept.all():
        X, weights = X[kept], weights[kept]
    return X, None if (weights == 1).all() else weights


def as_weights(sample_weight: ArrayLike | None, n: int) -> NDArray[np.float64] | None:
    """Return the weights of n rows, the largest of them 1; None if they are all the same.

    Only their ratios matter to a mean. A weight that underflows relative to the largest is 0.
    """
    if sample_weight is None:
        return None
    what = f"1-D with a number from 0 for each of the {n} rows of X"
    weights = as_numbers(sample_weight, "sample_weight", 1, what)
    if len(weights) != n:
        raise ValueError(f"sample_weight must be {what}, got {len(weights)}.")
    if not (weights >= 0).all():
        raise ValueError(f"sample_weight must be {what}, got {weights.min():g} among them.")
    if not weights.any():
        raise ValueError("sample_weight must give some row a weight above 0, got zeros only.")
    weights = weights / weights.max()
    return None if (weights == 1).all() else weights


def refuse_no_numbers(X: Any, name: str = "X") -> None:
    """Reject what scikit-learn would accept or leave to NumPy: dates, text, objects, masked entries.

    Sparse tables and complex numbers are left to scikit-learn.
    """
    if is_sparse(X):
        return
    array = as_array(X, name, _TABLE)
    if array.dtype.kind != "c":
        _real(array, name, _TABLE)


def as_array(values: Any, name: str, what: str) -> NDArray[Any]:
    """Return a dense array of anything."""
    if type(values) is np.ndarray:
        return values
    if is_sparse(values):
        raise TypeError(
            f"{name} must be a dense table, got a sparse one. Use {name}.toarray() if it fits in memory."
        )
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise ValueError(
            f"{name} must hold finite numbers only, got masked entries. Fill them with .filled()."
        )
    values = as_readable(values, name)
    try:
        return np.asarray(values)
    except (TypeError, ValueError, RuntimeError) as error:
        if has_conversion(values):
            raise not_readable(values, name) from None
        raise ValueError(f"{name} must be {what}: {str(error).rstrip('.')}.") from None


def _real(values: Any, name: str, what: str) -> NDArray[Any]:
    array = as_array(values, name, what)
    if array.dtype.kind in "fiub":
        return array
    reason = f"dtype {array.dtype}"
    if array.dtype.kind == "O":
        text = next((entry for entry in array.flat if isinstance(entry, str | bytes)), None)
        try:
            if text is None:
                return array.astype(np.float64)
            reason = f"the text {shown(text)}"
        except (TypeError, ValueError, OverflowError) as error:
            reason = str(error).rstrip(".")
    if what == _TABLE:
        raise TypeError(f"{name} must hold real numbers, got {reason}. Encode or drop such columns first.")
    raise TypeError(f"{name} must be {what}, got {reason}.")


def _shaped(array: NDArray[Any], name: str, ndim: int, what: str) -> NDArray[Any]:
    if array.ndim != ndim or array.size == 0:
        raise ValueError(f"{name} must be {what}, got {array.ndim}-D of shape {array.shape}.")
    return array


def as_finite(array: NDArray[Any], name: str) -> NDArray[Any]:
    """Refuse NaN and infinity."""
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must hold finite numbers only, got NaN or infinity.")
    return array


def as_indices(indices: ArrayLike, name: str, ndim: int, what: str) -> NDArray[np.int64]:
    """Return an integer array of the given number of axes as int64; `what` describes the expected array."""
    array = as_array(indices, name, what)
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


def as_text(value: Any, name: str) -> str:
    """Return a string that can be written to a file."""
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a string, got {shown(value)}.")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise ValueError(
            f"{name} must be text that UTF-8 can encode, got {value[error.start]!a} at index {error.start}."
        ) from None
    return value


def as_path(path: Any, name: str = "path") -> Path:
    """Return the path of a file."""
    if not isinstance(path, str | os.PathLike) or not isinstance(os.fspath(path), str):
        raise TypeError(f"{name} must be a string or a path, got {shown(path)}.")
    try:
        encoded = os.fsencode(path)
    except UnicodeEncodeError:
        encoded = b""
    if not encoded or b"\0" in encoded:
        raise ValueError(f"{name} must name a file, got {shown(path)}.")
    return Path(path)


def as_count(value: Any, name: str, low: int) -> int:
    """Return an integer of at least `low`."""
    try:
        if isinstance(value, bool | np.bool_):
            raise TypeError
        count = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be an integer, got {shown(value)}.") from None
    if count < low:
        raise ValueError(f"{name} must be at least {low}, got {digits(count)}.")
    if count > sys.maxsize:
        raise ValueError(
            f"{name} must be at most {sys.maxsize}, the largest number of rows, got {digits(count)}."
        )
    return count


def digits(count: int) -> str:
    """Return an integer as an error shows it."""
    return str(count) if abs(count) < 10**40 else f"a number of {count.bit_length()} bits"


def as_number_of_directions(m: Any, d: int) -> int:
    """Return how many of d directions are wanted, at least one."""
    count = as_count(m, "m", 1)
    if count > d:
        raise ValueError(f"m must be at most d = {d}, the number of directions, got {count}.")
    return count


def as_sample(sample: Any, random_state: Any, n: int) -> NDArray[np.int64] | None:
    """Return a random sample of the numbers below n in random order, or None for all of them.

    Nothing is drawn for all of them, so that a shared generator keeps its state.
    """
    generator = as_generator(random_state)
    if sample is None:
        return None
    count = as_count(sample, "sample", 2)
    if count > n:
        raise ValueError(
            f"sample must be at most n = {n}, the number of rows, got {count}. Use None for all."
        )
    if count == n:
        return None
    return generator.permutation(n)[:count].astype(np.int64)  # type: ignore[no-any-return]


def as_generator(random_state: Any) -> Any:
    """Return what draws random numbers, as scikit-learn's `check_random_state` does.

    NumPy guarantees a frozen stream for RandomState only. Its newer generators are rejected, as they are by
    scikit-learn.
    """
    if random_state is None or random_state is np.random:
        return np.random  # its functions draw from the global RandomState
    if isinstance(random_state, np.random.RandomState):
        return random_state
    if isinstance(random_state, bool | np.bool_) or not hasattr(random_state, "__index__"):
        raise TypeError(
            "random_state must be an integer from 0 to 2**32 - 1, a numpy.random.RandomState or None, "
            f"got {shown(random_state)}."
        )
    seed = as_count(random_state, "random_state", 0)
    if seed > LARGEST_SEED:
        raise ValueError(f"random_state must be at most 2**32 - 1, got {seed}.")
    return np.random.RandomState(seed)


def as_flag(value: Any, name: str) -> bool:
    """Return a bool."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be True or False, got {shown(value)}.")
    return bool(value)


def as_choice(value: Any, name: str, choices: tuple[str, ...]) -> Any:
    """Return a string that is one of `choices`."""
    listed = ", ".join(f'"{choice}"' for choice in choices)
    if not isinstance(value, str):
        raise TypeError(f"{name} must be one of {listed}, got {shown(value)}.")
    if value not in choices:
        raise ValueError(f"{name} must be one of {listed}, got {shown(value)}.")
    return value


def as_threads(n_jobs: Any) -> int:
    """Return a number of threads: all cores for None or -1, all but one for -2, etc."""
    if n_jobs is None:
        return machine.cores()
    count = as_count(n_jobs, "n_jobs", -(2**31))
    if count == 0:
        raise ValueError("n_jobs must not be 0. Use None for all cores or a positive number of threads.")
    return count if count > 0 else max(machine.cores() + 1 + count, 1)


@contextmanager
def as_progress(
    progress: Progress, description: str, unit: str = "pt"
) -> Iterator[Callable[[int, int], object] | None]:
    """Turn the `progress` argument into a callable (done, total), or None."""
    if progress is None or progress is False:
        yield None
    elif progress is True:
        from tqdm.auto import tqdm

        with tqdm(desc=description, unit=unit, unit_scale=True) as bar:

            def show(done: int, total: int) -> None:
                bar.total = total
                bar.update(done - bar.n)

            yield show
    elif callable(progress):
        yield progress
    else:
        raise TypeError(
            f"progress must be True, False, None or a callable (done, total), got {shown(progress)}."
        )
