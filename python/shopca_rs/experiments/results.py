"""Finished runs on disk, one file each, so that an interrupted experiment resumes where it stopped."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..atomic_files import replacing


@dataclass(frozen=True)
class Run:
    """One method on one data set under one protocol, with one seed.

    Attributes
    ----------
    protocol, data_set, method : str
        Their names.
    seed : int
        0 where nothing depends on it.
    components : int
        Number of output dimensions.
    """

    protocol: str
    data_set: str
    method: str
    seed: int = 0
    components: int = 2


@dataclass(frozen=True)
class Result:
    """The outcome of a run.

    Attributes
    ----------
    run : Run
        Which.
    key : str
        What it was computed from: data and versions. With another key it counts as not done.
    scores : dict
        Scores by name, "ward_ari" or "knn_accuracy"; empty if the method failed.
    details : dict
        Numbers of the fit.
    seconds : float
        Time of the embedding, on one thread.
    failure : str
        Why there are no scores; empty if there are.
    notes : list of str
        First lines of the warnings that the method gave.
    """

    run: Run
    key: str
    scores: dict[str, float] = field(default_factory=dict)
    details: dict[str, float] = field(default_factory=dict)
    seconds: float = 0.0
    failure: str = ""
    notes: list[str] = field(default_factory=list)


class Results:
    """The finished runs in a folder.

    Parameters
    ----------
    folder : Path
        Where they are; created when the first is saved.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def find(self, run: Run, key: str) -> Result | None:
        """Return the result of a run if it is there and was computed from the same things.

        Parameters
        ----------
        run : Run
            Which.
        key : str
            What it must have been computed from.

        Returns
        -------
        Result or None
            The result. A file that cannot be read counts as none.
        """
        result = _read(self._path(run, ".json"))
        return result if result is not None and result.key == key and not result.failure else None

    def save(self, result: Result, Z: NDArray[np.float64] | None) -> None:
        """Write a result and its embedding.

        Parameters
        ----------
        result : Result
            To write; it replaces that of the same run.
        Z : ndarray of shape (n, 2) or None
            The embedding, if there is one.
        """
        path = self._path(result.run, ".json")
        path.parent.mkdir(parents=True, exist_ok=True)
        if Z is not None:
            with replacing(self._path(result.run, ".npy")) as unfinished:
                np.save(unfinished, Z)
        with replacing(path) as unfinished:
            unfinished.write_text(json.dumps(asdict(result), indent=1, ensure_ascii=False), encoding="utf-8")

    def embedding(self, run: Run) -> NDArray[np.float64]:
        """Return the embedding of a finished run.

        Parameters
        ----------
        run : Run
            Which.

        Returns
        -------
        ndarray of shape (n, 2)
            The embedding.
        """
        Z: NDArray[np.float64] = np.load(self._path(run, ".npy"), allow_pickle=False)
        return Z

    def __iter__(self) -> Iterator[Result]:
        for path in sorted(self.folder.glob("*/*/*.json")):
            # A process that was killed while it wrote leaves a file whose name starts with a full stop.
            result = None if path.name.startswith(".") else _read(path)
            if result is not None:
                yield result

    def _path(self, run: Run, suffix: str) -> Path:
        method = run.method if run.components == 2 else f"{run.method}-{run.components}d"
        return self.folder / run.protocol / run.data_set / f"{method}.{run.seed}{suffix}"


def _read(path: Path) -> Result | None:
    try:
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return Result(**(content | {"run": Run(**content["run"])}))
    except (OSError, ValueError, TypeError, KeyError):
        return None
