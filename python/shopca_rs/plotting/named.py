"""Several named curves on one Axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..arguments import MOST_CLASSES, shown
from .drawing import literal

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def as_named(things: Mapping[Any, Any], name: str, what: str) -> dict[str, Any]:
    """Return a dict whose keys are text, with at least one entry and not too many to distinguish."""
    wrong = next((key for key in things if not isinstance(key, str)), None)
    if wrong is not None:
        raise TypeError(f"{name} must be a dict from names to {what}, got the name {shown(wrong)}.")
    if not 1 <= len(things) <= MOST_CLASSES:
        raise ValueError(f"{name} must hold from 1 to {MOST_CLASSES} {what}, got {len(things)}.")
    return dict(things)


def list_names(ax: Axes, handles: Sequence[Any], names: Sequence[str]) -> None:
    """Draw a legend of names exactly as they are written."""
    legend = ax.legend(
        list(handles),
        [f"line {j}" for j in range(len(names))],
        fontsize="small",
        framealpha=0.8,
        edgecolor="none",
    )
    for text, name in zip(legend.get_texts(), names, strict=True):
        literal(text, name)
