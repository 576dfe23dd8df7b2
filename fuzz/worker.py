"""A process that runs cases one after the other and reports each in a line of JSON.

``python -m fuzz.worker KIND SEED FIRST STEP`` runs the cases FIRST, FIRST + STEP, … until it is stopped. A
case that takes the process down is known by its announcement.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from importlib import import_module

from .trial import Trial, raised

KINDS = {"numbers": "differential", "arguments": "arguments", "files": "files", "memory": "memory"}


def generator(kind, seed, number):
    """Return the source of all random choices of a case."""
    import numpy as np

    return np.random.default_rng([list(KINDS).index(kind), seed, number])


def main(kind, seed, first, step):
    """Run cases until the reader of standard output leaves."""
    # What a case prints must not come between the lines.
    lines = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    module = import_module(f"fuzz.{KINDS[kind]}")
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        os.chdir(folder)
        getattr(module, "prepare", lambda: None)()
        number = int(first)
        while True:
            try:
                print(json.dumps({"begin": number}), file=lines)
                try:
                    trial = module.try_case(generator(kind, int(seed), number))
                except Exception as error:
                    trial = Trial("the fuzzer itself")
                    trial.report(raised(error), error)
                found = [[finding.signature, finding.detail] for finding in trial.findings]
                end = {"what": trial.what, "outcome": trial.outcome, "calls": trial.calls, "findings": found}
                print(json.dumps(end), file=lines)
            except BrokenPipeError:
                return
            number += int(step)


if __name__ == "__main__":
    main(*sys.argv[1:])
