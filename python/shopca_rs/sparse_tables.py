"""Sparse tables: validated, or made dense if they have few columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from .arguments import as_finite
from .foreign_tables import is_sparse

# Largest number of columns of a sparse table that a function without PCA makes dense.
MOST_FILLED_COLUMNS = 1000


def as_sparse(X: Any, name: str = "X") -> Any:
    """Return a sparse table of finite real numbers as CSR in float64, each entry stored once."""
    if X.ndim != 2 or 0 in X.shape:
        raise ValueError(f"{name} must have at least one row and one column, got shape {X.shape}.")
    if X.dtype.kind not in "fiub":
        raise TypeError(
            f"{name} must hold real numbers, got dtype {X.dtype}. Encode or drop such columns first."
        )
    table = X.tocsr().astype(np.float64, copy=False)
    if not table.has_canonical_format:
        table = table.copy() if table is X else table
        table.sum_duplicates()
    as_finite(table.data, name)
    return table


def as_filled(X: Any, what: str = "A sparse X", other: str = "SHOPCA") -> Any:
    """Return a sparse table of few columns as a dense one, anything else as it is."""
    if not is_sparse(X):
        return X
    table = as_sparse(X)
    if table.shape[1] > MOST_FILLED_COLUMNS:
        raise TypeError(
            f"{what} must have at most {MOST_FILLED_COLUMNS} columns here, where it is made dense, "
            f"got {table.shape[1]}. Use {other}, which reduces them, or .toarray() if it fits in memory."
        )
    return table.toarray()
