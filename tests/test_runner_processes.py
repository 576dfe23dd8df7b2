"""The processes of the runner: how they end, and which ones."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from concurrent.futures.process import BrokenProcessPool
from contextlib import nullcontext
from multiprocessing import active_children, get_context

import numpy as np
import pytest
from shopca_rs.experiments import runner
from shopca_rs.experiments.results import Results, Run
from shopca_rs.experiments.runner import run_all, survey


def save_points(path, n):
    np.savez(path, X=np.random.default_rng(0).normal(size=(n, 4)), y=np.arange(n) % 2)


@pytest.fixture
def long(tmp_path):
    """A folder with a data set on which Isomap takes many seconds."""
    folder = tmp_path / "data"
    folder.mkdir()
    save_points(folder / "optdigits.npz", 4000)
    return folder


LONG = [Run("published", "iris", "pca"), Run("published", "optdigits", "isomap")]


def test_a_process_that_is_killed_ends_the_experiment_with_a_sentence(long, tmp_path):
    found = list(survey(["iris", "optdigits"], long, openml=False))
    results = Results(tmp_path / "results")

    def kill_soon(run, result):
        (worker,) = active_children()
        threading.Timer(0.3, os.kill, (worker.pid, signal.SIGKILL)).start()

    with pytest.raises(ChildProcessError, match="while isomap ran on optdigits, as happens when memory runs"):
        run_all(LONG, found, results, folder=long, openml=False, report=kill_soon)
    assert [result.run for result in results] == LONG[:1]
    assert not active_children()


@pytest.fixture
def bystander():
    """A process that the caller started for something else."""
    process = get_context("spawn").Process(target=time.sleep, args=(60,))
    process.start()
    yield process
    process.kill()
    process.join()


def test_an_experiment_that_is_given_up_ends_its_own_processes_and_no_others(bystander, long, tmp_path):
    found = list(survey(["iris", "optdigits"], long, openml=False))

    def give_up(run, result):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_all(LONG, found, Results(tmp_path), folder=long, openml=False, jobs=2, report=give_up)
    assert active_children() == [bystander]
    assert bystander.is_alive()


def test_a_process_that_died_between_two_runs_ends_it_the_same_way(monkeypatch, tmp_path):
    found = list(survey(["iris"], None, openml=False))

    class Broken:
        def submit(self, *_):
            raise BrokenProcessPool("A child process terminated abruptly")

    monkeypatch.setattr(runner, "workers", lambda count: nullcontext(Broken()))
    with pytest.raises(ChildProcessError, match="while pca ran on iris, as happens when memory runs out"):
        run_all([Run("published", "iris", "pca")], found, Results(tmp_path), folder=None, openml=False)


EXPERIMENT = """
import os, sys
from pathlib import Path
from shopca_rs.experiments.results import Results, Run
from shopca_rs.experiments.runner import run_all, survey

os.setsid()
data, results = map(Path, sys.argv[1:3])
found = list(survey(["iris", "optdigits"], data, openml=False))
runs = [Run(*names.split()) for names in sys.argv[3:]]
try:
    report = lambda run, result: print(run.data_set, run.method, flush=True)
    run_all(runs, found, Results(results), folder=data, openml=False, jobs=2, report=report)
except KeyboardInterrupt:
    print("interrupted")
"""


def processes_of(group):
    """Process numbers of a group that are not mere entries waiting for their parent."""
    members = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat", encoding="utf-8") as file:
                    state, _, its_group = file.read().rpartition(")")[2].split()[:3]
            except OSError:
                continue
            if int(its_group) == group and state != "Z":
                members.append(int(entry))
    return members


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_ctrl_c_ends_all_processes_at_once_leaves_whole_files_and_the_rest_runs_later(
    start_python, long, tmp_path
):
    results = tmp_path / "results"
    names = (f"{run.protocol} {run.data_set} {run.method}" for run in LONG)
    process = start_python(EXPERIMENT, long, results, *names)
    assert process.stdout.readline() == "iris pca\n"
    assert len(processes_of(process.pid)) >= 3
    # To all processes of the group, as a terminal does it: one works, one waits, one is their parent.
    os.killpg(process.pid, signal.SIGINT)
    sent = time.monotonic()
    assert process.communicate(timeout=60) == ("interrupted\n", "")
    assert time.monotonic() - sent < 3
    # The standard library's own process that watches over shared resources goes after its parent.
    while processes_of(process.pid) and time.monotonic() - sent < 5:
        time.sleep(0.02)
    assert processes_of(process.pid) == []
    saved = sorted(str(path.relative_to(results)) for path in results.rglob("*.*"))
    assert saved == ["published/iris/pca.0.json", "published/iris/pca.0.npy"]

    # What was not finished can be done on other data, and is done faster on fewer.
    save_points(long / "optdigits.npz", 20)
    found = list(survey(["iris", "optdigits"], long, openml=False))
    reports = []
    run_all(LONG, found, Results(results), folder=long, openml=False, report=lambda *it: reports.append(it))
    assert reports[0] == (LONG[0], None)
    assert reports[1:] == [(LONG[1], Results(results).find(LONG[1], runner.key(LONG[1], found[1])))]
    assert reports[1][1].scores
