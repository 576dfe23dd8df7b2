"""Run what is not done yet, on several processes, within the available memory."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .. import machine
from . import scores
from .catalogue import CATALOGUE, DataSet
from .methods import COMPONENTS
from .preparation import inflated, sampled_rows
from .processes import ctrl_c_held, workers
from .protocols import DRAWS, FEW_ROWS, MOST_ROWS, PROTOCOLS
from .results import Result, Results, Run
from .sources import Missing, fingerprint, listed, load

RIVALS = {1: "pca", 2: "isomap", 3: "umap"}

_PACKAGES = ("shopca-rs", "numpy", "scipy", "scikit-learn", "umap-learn")
_BASE = 1 << 30  # bytes that the libraries and the data of a run take at most


@dataclass(frozen=True)
class Available:
    """A data set of the catalogue, as far as it could be loaded.

    Attributes
    ----------
    data_set : DataSet
        Its entry.
    shape : tuple of int
        Rows, features and classes of what was loaded; zeros if nothing was.
    incomplete : int
        Number of missing values.
    source : str
        Where it is from.
    notes : tuple of str
        What to know about it.
    matches_paper : bool
        Whether the rows are those of the paper.
    fingerprint : str
        Of its numbers.
    missing : str
        Why it could not be loaded; empty if it was.
    """

    data_set: DataSet
    shape: tuple[int, int, int] = (0, 0, 0)
    incomplete: int = 0
    source: str = ""
    notes: tuple[str, ...] = ()
    matches_paper: bool = False
    fingerprint: str = ""
    missing: str = ""


def known(fresh: Path | None = None) -> dict[str, DataSet]:
    """Return all data sets there are by their names.

    Parameters
    ----------
    fresh : Path, optional
        Folder of data sets that are not the paper's.

    Returns
    -------
    dict
        Those of the catalogue, then those of the folder.
    """
    data_sets = [*CATALOGUE, *(listed(fresh) if fresh is not None else [])]
    return {data_set.name: data_set for data_set in data_sets}


def survey(
    names: Iterable[str], folder: Path | None, *, openml: bool = True, fresh: Path | None = None
) -> Iterator[Available]:
    """Load each data set once and say what it is, or why it is missing.

    Parameters
    ----------
    names : iterable of str
        Names of data sets.
    folder : Path or None
        Folder of .npz files of the paper's data sets.
    openml : bool, default=True
        Whether to ask OpenML for the rest.
    fresh : Path, optional
        Folder of other data sets with a manifest.

    Yields
    ------
    Available
        One for each name, in the order of `known`.
    """
    wanted = set(names)
    for name, data_set in known(fresh).items():
        if name not in wanted:
            continue
        try:
            loaded = load(data_set, folder if data_set.in_paper else fresh, openml=openml)
        except Missing as missing:
            yield Available(data_set, missing=str(missing))
            continue
        yield Available(
            data_set,
            (*loaded.X.shape, len(np.unique(loaded.y))),
            int(np.isnan(loaded.X).sum()),
            loaded.source,
            (*loaded.notes, data_set.remark) if data_set.remark else loaded.notes,
            loaded.matches_paper,
            fingerprint(loaded),
        )


def plan(
    protocols: Sequence[str], tables: Sequence[int], found: Sequence[Available], seeds: int
) -> list[Run]:
    """List the runs of an experiment.

    Under the protocols of the paper a data set meets the rivals that its tables have. Under the fair one
    every data set meets PCA and all rivals of the tables, linear methods in several dimensions below that of
    the data. Small data sets also take part in the experiment with outliers.

    Parameters
    ----------
    protocols : sequence of str
        Names of protocols.
    tables : sequence of int
        Which of the paper's tables.
    found : sequence of Available
        Data sets; missing ones have no runs.
    seeds : int
        How often methods with random numbers run.

    Returns
    -------
    list of Run
        UMAP last, the first seed before the others, data sets that are not the paper's before those that are,
        the largest ones first.
    """
    runs = []
    for name in protocols:
        protocol = PROTOCOLS[name]
        for available in found:
            data_set, (n, d, _) = available.data_set, available.shape
            met = set(tables) if protocol.fair else set(tables) & set(data_set.tables)
            if available.missing or not met or (protocol.outliers and n > FEW_ROWS):
                continue
            if data_set.in_paper and not set(tables) & set(data_set.tables):
                continue
            rivals = {RIVALS[table] for table in met} | ({"pca"} if protocol.fair else set())
            for method in protocol.methods:
                if method.name in RIVALS.values() and method.name not in rivals:
                    continue
                for components in protocol.dimensions if method.linear else (COMPONENTS,):
                    if components > COMPONENTS and components >= d - len(data_set.label_columns):
                        continue
                    count = DRAWS if protocol.outliers else seeds if method.seeded else 1
                    for seed in range(count):
                        runs.append(Run(name, data_set.name, method.name, seed, components))
    order = {
        available.data_set.name: (available.data_set.in_paper, -available.shape[0], place)
        for place, available in enumerate(found)
    }
    return sorted(runs, key=lambda run: (run.method == "umap", run.seed, order[run.data_set]))


def run_all(
    runs: Sequence[Run],
    found: Sequence[Available],
    results: Results,
    *,
    folder: Path | None,
    openml: bool = True,
    fresh: Path | None = None,
    jobs: int = 1,
    memory: int | None = None,
    report: Callable[[Run, Result | None], object] = lambda run, result: None,
) -> None:
    """Run what is not in the results yet and save each result as it comes.

    Parameters
    ----------
    runs : sequence of Run
        What to run.
    found : sequence of Available
        Their data sets.
    results : Results
        Where finished runs are.
    folder, openml, fresh
        As in `survey`.
    jobs : int, default=1
        Number of processes; each computes on one thread, so the numbers do not depend on it.
    memory : int, optional
        Bytes that all processes together may take; 80 % of what this one may take by default, the machine's
        or a container's. Runs that need more are not started and count as failed.
    report : callable, optional
        Called with each run and its result as it finishes, and with None for those that were done before.

    Raises
    ------
    ChildProcessError
        If a process died, as it does when memory runs out.
    """
    by_name = {available.data_set.name: available for available in found}
    budget = memory or int(0.8 * machine.memory())
    pending = []
    for run in runs:
        if results.find(run, key(run, by_name[run.data_set])) is not None:
            report(run, None)
        else:
            pending.append(run)
    needs = {run: _need(run, by_name[run.data_set].shape[0]) for run in pending}
    with workers(min(jobs, max(len(pending), 1))) as pool:
        running: dict[Future[Result], Run] = {}
        try:
            while pending or running:
                for run in list(pending):
                    if len(running) == jobs:
                        break
                    run_key = key(run, by_name[run.data_set])
                    if needs[run] > budget:
                        pending.remove(run)
                        failure = (
                            f"needs about {needs[run] / 2**30:.1f} GiB, {budget / 2**30:.1f} GiB are allowed"
                        )
                        result = Result(run, run_key, failure=failure)
                        results.save(result, None)
                        report(run, result)
                    elif sum(needs[other] for other in running.values()) + needs[run] <= budget:
                        pending.remove(run)
                        with ctrl_c_held():
                            future = pool.submit(perform, run, run_key, results.folder, folder, openml, fresh)
                        running[future] = run
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    run = running.pop(future)
                    report(run, future.result())
        # Raised for what was running, or for what comes next if a process died in between.
        except BrokenProcessPool:
            raise ChildProcessError(
                f"A process died unexpectedly while {run.method} ran on {run.data_set}, as "
                "happens when memory runs out. What is finished is saved; go on with fewer jobs."
            ) from None


def perform(
    run: Run, run_key: str, results: Path, folder: Path | None, openml: bool, fresh: Path | None = None
) -> Result:
    """Embed, score and save: what a process does for one run.

    Parameters
    ----------
    run : Run
        Which.
    run_key : str
        What it is computed from.
    results : Path
        Folder of the results.
    folder, openml, fresh
        As in `survey`.

    Returns
    -------
    Result
        The result; with a failure if the method raised.
    """
    protocol = PROTOCOLS[run.protocol]
    Z, found, embedding, seconds, failure = None, {}, None, 0.0, ""
    caught: list[warnings.WarningMessage] = []
    try:
        X, y = _prepared(run.protocol, run.data_set, folder, openml, fresh)
        scored = np.ones(len(X), dtype=np.bool_)
        if protocol.outliers:
            X, scored = inflated(X, run.seed)
        np.random.seed(run.seed)  # noqa: NPY002 - Isomap's solver starts from the global generator
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            start = time.perf_counter()
            embedding = protocol.method(run.method).embed(X, run.seed, run.components)
            seconds = time.perf_counter() - start
            Z = embedding.Z
            found = scores.class_scores(Z[scored], y[scored], protocol.clusterings, protocol.accuracy)
            if protocol.outliers:
                found[scores.AVERAGE_OF_ALL] = scores.class_scores(Z, y, protocol.clusterings)[scores.AVERAGE]
            if protocol.neighborhoods:
                found |= scores.neighborhood_scores(X, Z)
    # What fails on one data set is a line of the report and must not stop the others.
    except Exception as error:
        failure = f"{type(error).__name__}: {error}".splitlines()[0]
    result = Result(
        run,
        run_key,
        {} if failure else found,
        embedding.details if embedding else {},
        seconds,
        failure,
        sorted({str(warning.message).strip().partition("\n")[0] for warning in caught} - {""}),
    )
    Results(results).save(result, None if failure or run.components > COMPONENTS else Z)
    return result


def key(run: Run, available: Available) -> str:
    """Say what the result of a run is computed from.

    Parameters
    ----------
    run : Run
        Which.
    available : Available
        Its data set.

    Returns
    -------
    str
        The fingerprint of the data, the versions of the packages, and the rules that may change.
    """
    used = versions()
    if run.method != "umap":
        del used["umap-learn"]
    if PROTOCOLS[run.protocol].fair:
        used["rows"] = str(MOST_ROWS)
    return " ".join([available.fingerprint, *(f"{name}={found}" for name, found in used.items())])


def versions() -> dict[str, str]:
    """Return the versions of the packages that the numbers come from.

    Returns
    -------
    dict
        Package → version, "none" if it is not installed.
    """
    return {name: _version(name) for name in _PACKAGES}


@lru_cache
def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "none"


def _need(run: Run, n: int) -> int:
    if PROTOCOLS[run.protocol].fair:
        n = min(n, MOST_ROWS)
    return _BASE + int(8 * n * n * PROTOCOLS[run.protocol].method(run.method).squares)


@lru_cache(maxsize=1)
def _prepared(
    protocol: str, data_set: str, folder: Path | None, openml: bool, fresh: Path | None
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    entry = known(fresh)[data_set]
    loaded = load(entry, folder if entry.in_paper else fresh, openml=openml)
    X, y = loaded.X, loaded.y
    if PROTOCOLS[protocol].fair:
        rows = sampled_rows(len(X), MOST_ROWS)
        X, y = np.delete(X[rows], entry.label_columns, axis=1), y[rows]
    return PROTOCOLS[protocol].prepare(X), y
