"""Workers on one kind of cases, watched: what they find, and which case took one down."""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# Seconds after which a case counts as hanging; the slowest takes a few.
PATIENCE = 120

# Small matrices only: more threads would get in each other's way.
ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"), "1")


@dataclass
class Tally:
    """What a session tried and found.

    Attributes
    ----------
    kind, seed
        Of the cases.
    cases, calls : int
        How many were tried, and how often the package was called.
    outcomes : Counter
        Of (what, outcome).
    findings : dict
        Signature → list of (number of the case, detail).
    seconds : float
        How long it took.
    interrupted : bool
        Whether Ctrl-C ended it.
    """

    kind: str
    seed: int
    cases: int = 0
    calls: int = 0
    outcomes: Counter[tuple[str, str]] = field(default_factory=Counter)
    findings: dict[str, list[tuple[int, str]]] = field(default_factory=dict)
    seconds: float = 0.0
    interrupted: bool = False

    def add(self, number, what, outcome, calls, findings):
        """Count a case."""
        self.cases += 1
        self.calls += calls
        self.outcomes[what, outcome] += 1
        for signature, detail in findings:
            self.findings.setdefault(signature, []).append((number, detail))


class Worker:
    """One process and its current case."""

    def __init__(self, kind, seed, first, step):
        self.kind, self.seed, self.step = kind, seed, step
        self.start(first)

    def start(self, first):
        """Start the process at a case."""
        self.number, self.since, self.rest = first, time.monotonic(), b""
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115
        path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
        self.process = subprocess.Popen(
            [sys.executable, "-m", "fuzz.worker", self.kind, *map(str, (self.seed, first, self.step))],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            env=os.environ | ONE_THREAD | {"PYTHONPATH": path, "MPLBACKEND": "agg"},
            start_new_session=True,
        )

    def lines(self):
        """Return the lines that have arrived, or None if the process has ended."""
        data = os.read(self.process.stdout.fileno(), 1 << 16)
        *whole, self.rest = (self.rest + data).split(b"\n")
        return [json.loads(line) for line in whole] if data else None

    def stop(self):
        """End the process and what it started, and return the last words it wrote."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.process.stdout.close()
        self.errors.seek(0, os.SEEK_END)
        self.errors.seek(max(self.errors.tell() - 2000, 0))
        words = self.errors.read().decode(errors="replace")
        self.errors.close()
        return words


def run(kind, seed, *, seconds=None, cases=None, jobs=1, first=0):
    """Run cases of one kind for some time, or some number of them.

    Parameters
    ----------
    kind : str
        One of `fuzz.worker.KINDS`.
    seed, first : int
        Of the cases, and the number of the first one.
    seconds : float, optional
        When to stop.
    cases : int, optional
        How many to run; exactly the numbers from `first` on.
    jobs : int, default=1
        Number of processes.

    Returns
    -------
    tally : Tally
        What was tried and found.
    """
    tally, began = Tally(kind, seed), time.monotonic()
    last = float("inf") if cases is None else first + cases
    watched = selectors.DefaultSelector()
    workers = [Worker(kind, seed, first + j, jobs) for j in range(jobs) if first + j < last]
    for worker in workers:
        watched.register(worker.process.stdout, selectors.EVENT_READ, worker)

    def leave(worker):
        watched.unregister(worker.process.stdout)
        words = worker.stop()
        workers.remove(worker)
        return words

    def died(worker, how):
        code = worker.process.poll()
        number, words = worker.number, leave(worker)
        tally.add(number, "the process", "died", 1, [[how.format(code=code), words]])
        if number + jobs < last:
            worker.start(number + jobs)
            workers.append(worker)
            watched.register(worker.process.stdout, selectors.EVENT_READ, worker)

    try:
        while workers and (seconds is None or time.monotonic() - began < seconds):
            for key, _ in watched.select(timeout=1.0):
                worker = key.data
                lines = worker.lines()
                if lines is None:
                    worker.process.wait()
                    died(worker, "the process ended with code {code}")
                    continue
                for line in lines:
                    if "begin" in line:
                        worker.number, worker.since = line["begin"], time.monotonic()
                        if worker.number >= last:
                            leave(worker)
                            break
                    else:
                        tally.add(worker.number, **line)
            for worker in list(workers):
                if time.monotonic() - worker.since > PATIENCE:
                    died(worker, f"no answer for {PATIENCE} seconds")
    except KeyboardInterrupt:
        # What was found so far is worth showing.
        tally.interrupted = True
    finally:
        for worker in list(workers):
            leave(worker)
    tally.seconds = time.monotonic() - began
    return tally
