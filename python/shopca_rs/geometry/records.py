"""Records of numbers, one for each point, as the core returns them → the fields of the results.

Records and fields are NumPy or dask arrays.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .fit_plan import Plan

# At the start of every record: valid, radius, σ², the contributions of noise to |II|² and to |tr II|².
HEAD = 5


def form_width(d: int, m: int) -> int:
    """Return how many numbers the record of a form has."""
    return HEAD + d + d * m + m * m * d


def curvatures_width(d: int, m: int) -> int:
    """Return how many numbers the record of curvatures has."""
    return HEAD + 3 + (m + d if d == m + 1 else 0)


def form_of_records(records: Any, d: int, m: int, plan: Plan) -> dict[str, Any]:
    """Return the fields of a `SecondFundamentalForm`."""
    tangent, form = HEAD + d, HEAD + d + d * m
    return _head(records, m, plan) | {
        "offset": records[:, HEAD:tangent],
        "tangent": records[:, tangent:form].reshape(-1, d, m),
        "form": records[:, form:].reshape(-1, m, m, d),
        "trace_variance": records[:, 4].copy(),
    }


def curvatures_of_records(records: Any, d: int, m: int, plan: Plan) -> dict[str, Any]:
    """Return the fields of `Curvatures`."""
    mean, squared_norm, scalar = (records[:, HEAD + place].copy() for place in range(3))
    first = HEAD + 3
    return _head(records, m, plan) | {
        "mean": mean,
        "squared_norm": squared_norm,
        "scalar": scalar,
        "gaussian": scalar / 2 if m == 2 else None,
        "principal": records[:, first : first + m] if d == m + 1 else None,
        "normal": records[:, first + m :] if d == m + 1 else None,
    }


def _head(records: Any, m: int, plan: Plan) -> dict[str, Any]:
    return {
        "valid": records[:, 0] == 1,
        "noise": np.sqrt(records[:, 2]),
        "standard_error": np.sqrt(records[:, 3]),
        "intrinsic_dim": m,
        **plan._asdict(),
    }


def warn_flagged(valid: NDArray[np.bool_], order: int, m: int, stacklevel: int = 4) -> None:
    """Warn about points whose neighbours do not determine the fit."""
    flagged = int((~valid).sum())
    if flagged:
        warnings.warn(
            f"{flagged} of {len(valid)} points have neighbours that do not determine a fit of order {order} "
            f"in {m} dimensions (grids, duplicates, or tangent spaces of neighbours that disagree): they are "
            "flagged in `valid`, and their numbers are NaN.",
            stacklevel=stacklevel,
        )
