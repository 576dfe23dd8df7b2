"""The kind `files`: broken tables through the command line."""

from __future__ import annotations

import csv
import io
import re
import resource
import shutil
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import numpy as np
import pandas as pd
from shopca_rs.cli import main
from shopca_rs.cli.tables import MISSING, TEXT

from . import mutations
from .clouds import choose
from .trial import Trial, raised

MEMORY = 6 * 2**30

# Columns of results whose numbers are finite.
OURS = r"shopca\d+|mean|scalar|gaussian|principal_\d+|squared_norm"
# What only a programmer can read.
FOREIGN = re.compile(r"Errno|Traceback|<class|object at 0x|internal error|NoneType|numpy\.(?!save)|Error\(")
# NumPy's warnings, which are said as notes.
NUMPY = re.compile(r"encountered in|Mean of empty slice|Degrees of freedom|All-NaN")


def prepare():
    """Make a request for too much memory fail instead of filling the machine."""
    if sys.platform == "linux":
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def try_case(rng):
    """Run one command on one file."""
    folder = Path("case")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    name, data, words = mutations.file(rng)
    (folder / name).write_bytes(data)
    command, *operator = choose(
        rng, ["embed"], ["embed"], ["curvature"], ["curvature"], ["curvature", "--operator", "paper"]
    )
    surface = command == "curvature" and not operator
    ending = choose(rng, ".csv", ".tsv", ".npy", ".npz", ".parquet", None)
    output = None if ending is None else folder / f"result{ending}"
    argv = [command, str(folder / name), "-o", "-" if output is None else str(output), "--jobs", "1"]
    argv += operator + _options(rng, command, surface)
    context = f"shopca {' '.join(argv)} ({', '.join(words)}; {len(data)} bytes)"
    trial = Trial(f"{command} {name.removeprefix('data')}", calls=1)
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.TextIOWrapper(io.BytesIO(), "utf-8")
    try:
        with redirect_stdout(out), redirect_stderr(err):
            code = main(argv)
    except BaseException as error:
        trial.outcome = "failed"
        trial.report(raised(error), f"{context}: {error!r}")
        return trial
    out.flush()
    err.flush()
    said = err.buffer.getvalue().decode()
    printed = out.buffer.getvalue().decode()
    _judge(trial, command, code, said, f"{context}: {said.strip()}")
    left = sorted(path.name for path in folder.iterdir() if path.name != name)
    if code == 0:
        trial.check(left == ([] if output is None else [output.name]), "other files", f"{context}: {left}")
        trial.check(_complete(output, printed, surface), "incomplete result", context)
    else:
        trial.check(
            not left and not printed, "a result beside an error", f"{context}: {left} {printed[:50]!r}"
        )
    return trial


def _options(rng, command, surface):
    options = []
    for chance, more in (
        (0.2, ["--label", choose(rng, "kind", "kind", "kind", "y", "x0", "X", "names", "nowhere")]),
        (0.2, ["--text", choose(rng, *TEXT)]),
        (0.3, ["--missing", choose(rng, *MISSING)]),
        (0.2, ["--no-standardize"]),
        (0.1, ["--drop", choose(rng, "kind", "x0", "x1")]),
        (0.05, ["--separator", choose(rng, ",", ";", "tab", "space", "|", "x")]),
        (
            0.1,
            ["--encoding", choose(rng, "utf-8", "latin-1", "utf-16", "ascii", "cp037", "hex", "idna", "x")],
        ),
        (0.1, [choose(rng, "--header", "--no-header")]),
        (0.2, ["--neighbors", choose(rng, "2", "2", "3", "log", "1000000")]),
        (0.05 if surface else 0.2, ["--degenerate", "lapack"]),
        (0.6 * surface, ["--intrinsic-dim", choose(rng, "1", "1", "2", "auto")]),
        (0.5 * surface, ["--neighbors", choose(rng, "4", "6", "10")]),
        (0.2 * surface, choose(rng, ["--orient"], ["--order", "2"], ["--stages", "2"])),
        (0.2, ["--standardize"]),
    ):
        if rng.random() < chance:
            options += more
    if command == "embed" and rng.random() < 0.4:
        options += choose(
            rng,
            ["--components", choose(rng, "1", "3", "0.9")],
            ["--alpha", choose(rng, "0", "1", "inf", "1e300")],
            ["--symmetric"],
            ["--max-features", choose(rng, "1", "2", "none")],
            ["--sample", "3"],
        )
    return options


def _judge(trial, command, code, said, context):
    """Check the exit code and that standard error holds our lines only."""
    lines = said.splitlines()
    errors = [line for line in lines if line.startswith(f"shopca {command}: error: ")]
    others = [line for line in lines if not line.startswith(f"shopca {command}: ")]
    trial.outcome = {0: "answered", 2: "refused"}.get(code, "failed")
    trial.check(code in (0, 2), f"exit code {code}", context)
    trial.check(len(errors) == (code == 2), f"{len(errors)} errors with exit code {code}", context)
    trial.check(not others, "lines that are not ours", context)
    for line in errors:
        trial.check(line.endswith((".", "?", ")")), f"not a sentence: {_common(line)}", context)
        trial.check(not FOREIGN.search(line), f"foreign words: {FOREIGN.findall(line)}", context)
    for line in lines:
        noise = NUMPY.search(line)
        trial.check(not noise, f"a warning of NumPy: {_common(line)}", context)


def _common(line):
    """Return the end of a line without its numbers: what failures of one cause have in common."""
    return re.sub(r"\d+", "N", line.partition(": ")[2][-60:])


def _complete(output, printed, surface):
    """Tell whether a result has rows, all of one length, and finite numbers but those of flagged points."""
    if output is None:
        return _complete_lines(io.StringIO(printed, newline=""), ",", surface)
    if output.suffix in (".csv", ".tsv"):
        with open(output, encoding="utf-8", newline="") as file:
            return _complete_lines(file, "," if output.suffix == ".csv" else "\t", surface)
    if output.suffix == ".parquet":
        table = pd.read_parquet(output)
        valid = table["valid"].to_numpy(bool) if surface else None
        numbers = table.filter(regex=f"^({OURS})$").select_dtypes("number").to_numpy(float)
    else:
        numbers = np.load(output) if output.suffix == ".npy" else np.load(output)["X"]
        # The last two columns are the standard error, which may be infinite, and whether the rest is valid.
        numbers, valid = (numbers[:, :-2], numbers[:, -1] == 1) if surface else (numbers, None)
    return numbers.ndim == 2 and len(numbers) > 0 and _finite(numbers, valid)


def _complete_lines(file, separator, surface):
    names, *rows = csv.reader(file, delimiter=separator)
    ours = [j for j, name in enumerate(names) if re.fullmatch(OURS, name)]
    if not rows or any(len(row) != len(names) for row in rows):
        return False
    # A label may have taken the name of one of the columns: those are the first.
    numbers = np.array([[float(row[j] or "nan") for j in ours[: len(names) - 1 or 1]] for row in rows])
    valid = np.array([row[names.index("valid")] == "true" for row in rows]) if surface else None
    return _finite(numbers, valid)


def _finite(numbers, valid):
    """Tell whether numbers are finite where they are valid, and missing elsewhere."""
    if valid is None:
        valid = np.ones(len(numbers), dtype=bool)
    return bool(np.isfinite(numbers[valid]).all() and np.isnan(numbers[~valid]).all())
