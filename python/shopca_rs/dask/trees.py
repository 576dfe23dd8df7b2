"""Many parts → one, by tasks that each combine a few."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dask.delayed import Delayed, delayed

_FAN_IN = 8


def reduced(parts: Sequence[Delayed], combine: Callable[[Any, Any], Any]) -> Delayed:
    """Combine parts in a tree whose shape depends on their number alone, so that the bits do too.

    Parameters
    ----------
    parts : sequence of Delayed
        At least one.
    combine : callable
        Two neighbours → one, associative up to rounding errors.

    Returns
    -------
    Delayed
        All of them combined, from left to right.
    """
    several = delayed(_combined, pure=True)
    while len(parts) > 1:
        parts = [several(combine, parts[start : start + _FAN_IN]) for start in range(0, len(parts), _FAN_IN)]
    return parts[0]


def _combined(combine: Callable[[Any, Any], Any], parts: Sequence[Any]) -> Any:
    total = parts[0]
    for part in parts[1:]:
        total = combine(total, part)
    return total
