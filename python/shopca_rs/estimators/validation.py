"""Validation of the input of estimators: scikit-learn's checks, with clearer messages where needed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import (  # type: ignore[import-untyped]
    check_array,
    validate_data,
)

from ..arguments import refuse_no_numbers, shown
from ..foreign_tables import as_readable

_FLOATS = (np.float64, np.float32)

# A bool is an int in Python, but nobody means one component by True.
_NUMBERS = (
    "n_components",
    "n_neighbors",
    "alpha",
    "ridge",
    "max_features",
    "sample",
    "n_jobs",
    "random_state",
)


def as_features(
    estimator: Any, X: Any, *, reset: bool, ensure_min_samples: int = 1, sparse: bool = False
) -> NDArray[Any]:
    """Return a table as float64, or float32 if it is float32. Its columns are stored (`reset`) or checked.

    With `sparse`, SciPy's sparse tables are returned as CSR or CSC.
    """
    X = as_readable(X)
    with _in_our_words(X):
        features: NDArray[Any] = validate_data(
            estimator,
            X,
            accept_sparse=("csr", "csc") if sparse else False,
            dtype=list(_FLOATS),
            reset=reset,
            ensure_min_samples=ensure_min_samples,
        )
    return features


def as_embedding(estimator: Any, X: Any) -> NDArray[Any]:
    """Return an embedding as float64, or float32 if it is float32, with a column for each component."""
    with _in_our_words(X):
        Z: NDArray[Any] = check_array(X, dtype=list(_FLOATS), input_name="X", estimator=estimator)
    check_components(estimator, Z.shape[1])
    return Z


def check_components(estimator: Any, columns: int) -> None:
    """Reject an embedding unless it has a column for each component."""
    if columns != len(estimator.components_):
        raise ValueError(
            f"X must have {len(estimator.components_)} columns, one for each component, got {columns}. "
            "Pass what transform returned."
        )


def as_result(result: NDArray[np.float64], X: NDArray[Any]) -> NDArray[Any]:
    """Return what was computed from X in the precision of X, if it fits."""
    with np.errstate(over="ignore"):
        rounded = result.astype(X.dtype, copy=False)
    if not np.isfinite(rounded).all():
        raise ValueError(
            f"X must give results that fit in {X.dtype}, got a largest magnitude of {abs(X).max():.3g}. "
            "Rescale the data."
        )
    return rounded


def check_parameters(estimator: Any) -> None:
    """Reject bools where numbers are expected."""
    for name in _NUMBERS:
        value = getattr(estimator, name, None)
        if isinstance(value, bool | np.bool_):
            raise TypeError(f"{name} must be a number or one of its other options, got {shown(value)}.")


@contextmanager
def _in_our_words(X: Any) -> Iterator[None]:
    # scikit-learn would take dates and masked entries for numbers.
    if isinstance(X, np.ma.MaskedArray) or getattr(getattr(X, "dtype", None), "kind", "f") in ("m", "M"):
        refuse_no_numbers(X)
    try:
        # scikit-learn sums all numbers to see whether they are finite.
        with np.errstate(over="ignore", invalid="ignore"):
            yield
    except (TypeError, ValueError, OverflowError, RuntimeError):
        refuse_no_numbers(X)
        raise
