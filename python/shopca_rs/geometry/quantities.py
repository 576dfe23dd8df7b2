"""Curvatures for plots: a number for each point, whether it is reliable, and the colour range."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arguments import as_choice, shown
from .forms import Curvatures, SecondFundamentalForm
from .second_form import curvatures, second_fundamental_form

Curvature = Curvatures | SecondFundamentalForm
Floats = NDArray[np.float64]

QUANTITIES = ("mean", "gaussian", "scalar", "standard_error")
LABELS = {
    "mean": "mean curvature",
    "gaussian": "Gaussian curvature",
    "scalar": "scalar curvature",
    "standard_error": "standard error of |II|",
}

# Colours span these percentiles; otherwise a few points near edges would dominate the range.
CLIPPED = (2, 98)
# Nothing is clipped where all numbers fit into a range wider by this fraction.
NEARLY_ALL = 0.1
# Numbers with a smaller relative difference get one colour, in the middle of a range this much wider.
SAME = 1e-6
AROUND = 0.05


class ColorRange(NamedTuple):
    """The range of numbers that the colours cover.

    Attributes
    ----------
    low, high : float
        The ends.
    below, above : bool
        Whether there are numbers beyond them.
    """

    low: float
    high: float
    below: bool
    above: bool


def as_curvature(
    curvature: Any, X: Floats, color: Any, *, directions: bool = False, n_jobs: int | None = None
) -> Curvature:
    """Return curvatures with an entry for each row of X and the quantity `color`; estimate them for None."""
    name = as_choice(color, "color", QUANTITIES)
    if curvature is None:
        estimate: Any = second_fundamental_form if directions else curvatures
        try:
            curvature = estimate(X, n_jobs=n_jobs)
        except ValueError as error:
            raise ValueError(
                f"{error} Or call {estimate.__name__} with other arguments and pass the result as curvature."
            ) from error
    if not isinstance(curvature, Curvature):
        raise TypeError(
            "curvature must be what curvatures or second_fundamental_form returns, or None, "
            f"got {shown(curvature)}."
        )
    if len(curvature) != len(X):
        raise ValueError(
            f"curvature must have one entry for each of the {len(X)} rows of X, got {len(curvature)}. Pass "
            "X[points] if it was computed at some points."
        )
    if name not in known_quantities(curvature):
        raise ValueError(
            'color must be "mean", "scalar" or "standard_error" here: Gaussian curvature is that of surfaces '
            f"(m = 2), and m = {curvature.intrinsic_dim}."
        )
    return curvature


def known_quantities(curvature: Curvature) -> tuple[str, ...]:
    """Return the quantities these points have: only surfaces have a Gaussian curvature."""
    return tuple(name for name in QUANTITIES if name != "gaussian" or curvature.intrinsic_dim == 2)


def quantity(curvature: Curvature, name: str) -> Floats:
    """Return one number for each point; NaN where it is flagged."""
    if name == "standard_error":
        return curvature.standard_error
    if isinstance(curvature, Curvatures):
        values: Floats = getattr(curvature, name)
        return values
    if name == "mean":
        length: Floats = np.linalg.norm(curvature.mean_curvature_vector, axis=1)
        return length if curvature.signs is None else length * curvature.signs
    return curvature.scalar_curvature / (2 if name == "gaussian" else 1)


def is_signed(name: str, values: Floats) -> bool:
    """Tell whether zero is the middle of a quantity: mean curvature has a sign only if it is oriented."""
    return name in ("gaussian", "scalar") or (name == "mean" and bool((values < 0).any()))


def doubtful(curvature: Curvature) -> NDArray[np.bool_]:
    """Tell which points have a standard error above |II|: noise alone would look like them."""
    return curvature.valid & ~(curvature.standard_error**2 <= curvature.squared_norm)


def color_range(values: Floats, signed: bool) -> ColorRange:
    """Return the range of colours for some numbers; symmetric about zero for signed ones."""
    finite = values[np.isfinite(values)]
    if len(finite) == 0:
        return ColorRange(-1.0 if signed else 0.0, 1.0, False, False)
    least, most = float(finite.min()), float(finite.max())
    if signed:
        end = float(np.percentile(np.abs(finite), CLIPPED[1]))
        high = max([end] + [side for side in (-least, most) if side - end <= NEARLY_ALL * 2 * end])
        low = -high
    else:
        low, high = (float(end) for end in np.percentile(finite, CLIPPED))
        room = NEARLY_ALL * (high - low)
        low, high = (least if low - least <= room else low), (most if most - high <= room else high)
    if high - low <= SAME * max(abs(low), abs(high)):
        room = AROUND * abs(high) or 1.0
        low, high = low - room, high + room
    return ColorRange(low, high, bool((finite < low).any()), bool((finite > high).any()))
