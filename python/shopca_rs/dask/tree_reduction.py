"""Many parts → one, by tasks that each combine a few."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dask.base import tokenize
from dask.delayed import Delayed

from .internals import Graph, List, Task, TaskRef, on_top

_FAN_IN = 8


def reduced(parts: Sequence[Delayed], combine: Callable[[Any, Any], Any]) -> Delayed:
    """Combine parts in a tree whose shape depends on their number alone, so that the result is reproducible.

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
    keys = [part.key for part in parts]
    name, graph = f"combined-{tokenize(combine, keys)}", Graph()
    while len(keys) > 1:
        level = []
        for start in range(0, len(keys), _FAN_IN):
            few = List(*map(TaskRef, keys[start : start + _FAN_IN]))
            level.append((name, len(keys), start))
            graph[level[-1]] = Task(level[-1], _combined, combine, few)
        keys = level
    return on_top(name, graph, parts, keys)[0] if graph else parts[0]


def _combined(combine: Callable[[Any, Any], Any], parts: Sequence[Any]) -> Any:
    total = parts[0]
    for part in parts[1:]:
        total = combine(total, part)
    return total
