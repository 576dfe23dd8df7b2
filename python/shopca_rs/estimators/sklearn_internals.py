"""The private parts of scikit-learn that this package uses, all in one place.

tests/test_sklearn_internals.py checks them. The `_parameter_constraints` of an estimator list what each
parameter may be: an `Interval` of numbers, `StrOptions`, None, "boolean", "verbose", "random_state" or
"array-like". `checks_parameters` makes a method first reject any other value with a ValueError.
`rows_of` selects rows of every kind of table that scikit-learn's estimators accept.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import _fit_context  # type: ignore[import-untyped]
from sklearn.utils import _safe_indexing  # type: ignore[import-untyped]
from sklearn.utils._param_validation import (  # type: ignore[import-untyped]
    Interval,
    RealNotInt,
    StrOptions,
)

from ..arguments import shown

__all__ = ["Interval", "RealNotInt", "StrOptions", "checks_parameters", "rows_of"]

Method = TypeVar("Method", bound=Callable[..., object])


def checks_parameters(fit: Method) -> Method:
    """Make `fit` check the parameters of its estimator first.

    Parameters
    ----------
    fit : callable
        The method.

    Returns
    -------
    callable
        The same, with the check.
    """
    checked = _fit_context(prefer_skip_nested_validation=True)(fit)

    @wraps(fit)
    def shown_first(self: Any, *arguments: Any, **options: Any) -> Any:
        # scikit-learn's error message shows the value, and a failing repr would raise an unrelated error.
        for name, value in self.get_params(deep=False).items():
            try:
                repr(value)
            except Exception:
                raise TypeError(
                    f"The {name!r} parameter of {type(self).__name__} must be one of its documented values. "
                    f"Got {shown(value)} instead."
                ) from None
        return checked(self, *arguments, **options)

    return shown_first  # type: ignore[return-value]


def rows_of(table: Any, rows: NDArray[np.intp]) -> Any:
    """Return some rows of an array, a sparse matrix or a DataFrame.

    Parameters
    ----------
    table : array, sparse matrix or DataFrame
        The table.
    rows : ndarray of int
        Numbers of rows.

    Returns
    -------
    array, sparse matrix or DataFrame
        These rows, in that order.
    """
    # Not every sparse format can be indexed.
    return _safe_indexing(table.tocsr() if hasattr(table, "tocsr") else table, rows)
