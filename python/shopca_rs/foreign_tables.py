"""Tables of other libraries: those that NumPy can read, and how to convert the others."""

from __future__ import annotations

from typing import Any

import numpy as np

# How tables of other libraries are converted where NumPy cannot read them.
_CONVERSIONS = {
    "cupy.ndarray": "{}.get()",
    "polars.LazyFrame": "{}.collect()",
    "torch.Tensor": "{}.detach().cpu().numpy()",
    "xarray.Dataset": "{}.to_dataframe()",
}
# NumPy would read each of these as one object.
_MISREAD = ("polars.LazyFrame", "xarray.Dataset")


def is_sparse(values: Any) -> bool:
    """Tell whether something is one of SciPy's sparse tables, without importing SciPy."""
    return hasattr(values, "toarray") and hasattr(values, "nnz")


def as_readable(values: Any, name: str = "X") -> Any:
    """Return a table that NumPy can read, through DLPack if needed; reject one that it would misread."""
    if _kind(values) in _MISREAD:
        raise not_readable(values, name)
    if hasattr(values, "__dlpack__") and not hasattr(values, "__array__"):
        try:
            return np.from_dlpack(values)
        except (TypeError, ValueError, RuntimeError, BufferError):
            raise not_readable(values, name) from None
    return values


def _kind(values: Any) -> str:
    return f"{type(values).__module__.split('.')[0]}.{type(values).__name__}"


def not_readable(values: Any, name: str) -> TypeError:
    """Return the error that says how a table is converted."""
    hint = _CONVERSIONS.get(_kind(values), "numpy.asarray after a copy to main memory").format(name)
    return TypeError(
        f"{name} must be a table that NumPy can read, got {_kind(values)}. Convert it with {hint}."
    )


def has_conversion(values: Any) -> bool:
    """Tell whether it is known how to convert a table."""
    return _kind(values) in _CONVERSIONS
