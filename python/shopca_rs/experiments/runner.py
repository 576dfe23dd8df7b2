"""Run what is not done yet, on several processes, within the memory there is."""

from __future__ import annotations

import os
import signal
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from multiprocessing import active_children, get_context
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from . import scores
from .catalogue import CATALOGUE, DataSet
from .protocols import PROTOCOLS
from .results import Result, Results, Run
from .sources import Missing, fingerprint, load

RIVALS = {1: "pca", 2: "isomap", 3: "umap"}

_PACKAGES = ("shopca-rs", "numpy", "scipy", "scikit-learn", "umap-learn")
_BASE = 1 << 30  # bytes that the libraries and the data of a run take at most


@dataclass(frozen=True)
class Available:
    """A data set of the catalogue, as far as it could be had.

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


def survey(names: Iterable[str], folder: Path | None, *, openml: bool = True) -> Iterator[Available]:
    """Load each data set once and say what it is, or why it is missing.

    Parameters
    ----------
    names : iterable of str
        Names in the catalogue.
    folder : Path or None
        Folder of .npz files.
    openml : bool, default=True
        Whether to ask OpenML for the rest.

    Yields
    ------
    Available
        One for each name, in the order of the catalogue.
    """
    wanted = set(names)
    for data_set in CATALOGUE:
        if data_set.name not in wanted:
            continue
        try:
            loaded = load(data_set, folder, openml=openml)
        except Missing as missing:
            yield Available(data_set, missing=str(missing))
            continue
        yield Available(
            data_set,
            (*loaded.X.shape, len(np.unique(loaded.y))),
            int(np.isnan(loaded.X).sum()),
            loaded.source,
            loaded.notes,
            loaded.matches_paper,
            fingerprint(loaded),
        )


def plan(
    protocols: Sequence[str], tables: Sequence[int], found: Sequence[Available], seeds: int
) -> list[Run]:
    """List the runs of an experiment.

    Under the protocols of the paper a data set meets the rivals that its tables have; under the fair one
    every data set of the tables meets PCA and all their rivals.

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
        The largest data sets first.
    """
    runs = []
    for name in protocols:
        for available in found:
            if available.missing or not set(available.data_set.tables) & set(tables):
                continue
            met = set(tables) if name == "fair" else set(available.data_set.tables) & set(tables)
            rivals = {RIVALS[table] for table in met} | ({"pca"} if name == "fair" else set())
            for method in PROTOCOLS[name].methods:
                if method.name in RIVALS.values() and method.name not in rivals:
                    continue
                for seed in range(seeds if method.seeded else 1):
                    runs.append(Run(name, available.data_set.name, method.name, seed))
    rows = {available.data_set.name: available.shape[0] for available in found}
    order = {data_set.name: place for place, data_set in enumerate(CATALOGUE)}
    return sorted(runs, key=lambda run: (-rows[run.data_set], order[run.data_set]))


def run_all(
    runs: Sequence[Run],
    found: Sequence[Available],
    results: Results,
    *,
    folder: Path | None,
    openml: bool = True,
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
    folder, openml
        As in `survey`.
    jobs : int, default=1
        Number of processes; each computes on one thread, so the numbers do not depend on it.
    memory : int, optional
        Bytes that all processes together may take; 80 % of the machine's by default. Runs that need more are
        not started and fail with a sentence.
    report : callable, optional
        Called with each run and its result as it finishes, and with None for those that were done before.

    Raises
    ------
    ChildProcessError
        If a process died, as it does when memory runs out.
    """
    by_name = {available.data_set.name: available for available in found}
    budget = memory or int(0.8 * os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    pending = []
    for run in runs:
        if results.find(run, key(run, by_name[run.data_set])) is not None:
            report(run, None)
        else:
            pending.append(run)
    needs = {run: _need(run, by_name[run.data_set].shape[0]) for run in pending}
    with _workers(min(jobs, max(len(pending), 1))) as pool:
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
                        with _ctrl_c_held():
                            future = pool.submit(perform, run, run_key, results.folder, folder, openml)
                        running[future] = run
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    run = running.pop(future)
                    report(run, future.result())
        # Raised for what was running, or for what comes next if a process died in between.
        except BrokenProcessPool:
            raise ChildProcessError(
                f"A process ended without a word while {run.method} ran on {run.data_set}, as "
                "happens when memory runs out. What is finished is saved; go on with fewer jobs."
            ) from None


def perform(run: Run, run_key: str, results: Path, folder: Path | None, openml: bool) -> Result:
    """Embed, score and save: what a process does for one run.

    Parameters
    ----------
    run : Run
        Which.
    run_key : str
        What it is computed from.
    results : Path
        Folder of the results.
    folder, openml
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
        X, y = _prepared(run.protocol, run.data_set, folder, openml)
        np.random.seed(run.seed)  # noqa: NPY002 - Isomap's solver starts from the global generator
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            start = time.perf_counter()
            embedding = protocol.method(run.method).embed(X, run.seed)
            seconds = time.perf_counter() - start
            Z = embedding.Z
            for clustering in protocol.clusterings:
                for index, value in scores.cluster_scores(Z, y, clustering).items():
                    found[f"{clustering}_{index}"] = value
            if protocol.accuracy:
                found[scores.ACCURACY] = scores.neighbor_accuracy(Z, y)
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
    Results(results).save(result, None if failure else Z)
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
        The fingerprint of the data and the versions of the packages.
    """
    used = versions()
    if run.method != "umap":
        del used["umap-learn"]
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
    return _BASE + int(8 * n * n * PROTOCOLS[run.protocol].method(run.method).squares)


@lru_cache(maxsize=1)
def _prepared(
    protocol: str, data_set: str, folder: Path | None, openml: bool
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    entry = next(entry for entry in CATALOGUE if entry.name == data_set)
    loaded = load(entry, folder, openml=openml)
    return PROTOCOLS[protocol].prepare(loaded.X), loaded.y


@contextmanager
def _workers(count: int) -> Iterator[ProcessPoolExecutor]:
    """Start processes that end at once when the block does not end well."""
    # Forked processes would inherit the state of whatever threads this one has.
    pool = ProcessPoolExecutor(count, mp_context=get_context("spawn"), initializer=_start)
    try:
        yield pool
    except BaseException:
        for process in active_children():
            process.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


@contextmanager
def _ctrl_c_held() -> Iterator[None]:
    """Let Ctrl-C wait; a process that is started meanwhile never sees it, which is its parent's business."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _start() -> None:
    """One thread for everything."""
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
        os.environ[variable] = "1"
    from threadpoolctl import threadpool_limits

    threadpool_limits(1)
