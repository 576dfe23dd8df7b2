"""One progress bar over all stages of a fit, with the name of the current one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

Report = Callable[[int, int], None]

PCA = "principal components"
NEIGHBORS = "neighbours"
OPERATORS = "shape operators"
ALPHA = "choice of α"
GRAPH = "graph and directions"


class Stages:
    """Reports the progress of a fit to a bar, if there is one."""

    def __init__(self, bar: Any, names: tuple[str, ...]) -> None:
        self._bar = bar
        self._names = names

    def begin(self, name: str) -> None:
        """Mark the beginning of a stage."""
        self._show(name, 0.0)

    def counter(self, *names: str) -> Report | None:
        """Return a callable (done, total) for equally long stages in a row, None without a bar."""
        if self._bar is None:
            return None

        def show(done: int, total: int) -> None:
            passed = len(names) * done / total if total else 0.0
            place = min(int(passed), len(names) - 1)
            self._show(names[place], passed - place)

        return show

    def end(self) -> None:
        """Mark the end of the work."""
        self._show(self._names[-1], 1.0)

    def _show(self, name: str, share: float) -> None:
        if self._bar is None:
            return
        self._bar.set_description_str(name, refresh=False)
        self._bar.update(max(self._names.index(name) + share - self._bar.n, 0.0))
        self._bar.refresh()


@contextmanager
def stages(shown: bool, *names: str) -> Iterator[Stages]:
    """Show one bar for stages of these names, if wanted."""
    if not shown:
        yield Stages(None, names)
        return
    from tqdm.auto import tqdm

    layout = "{desc}: {percentage:3.0f}%|{bar}| {elapsed}"
    with tqdm(total=float(len(names)), desc=names[0], bar_format=layout) as bar:
        yield Stages(bar, names)
