"""`shopca reproduce`: the paper's experiments, under its own protocols and under fair ones."""

from __future__ import annotations

import os
import shlex
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace, RawDescriptionHelpFormatter
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .messages import say
from .options import talking

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...experiments.results import Result, Run

TABLES = {"table1": (1,), "table2": (2,), "table3": (3,), "all": (1, 2, 3)}
PROTOCOLS = ("published", "written", "fair", "outliers")

_DESCRIPTION = """\
Rerun the experiments of the SHOPCA paper and write a report: a Markdown page with
tables and figures, and a CSV file with every number.

table1 compares SHOPCA with PCA, table2 with Isomap, table3 with UMAP, on the data sets
of that table in the paper; all runs all three.

protocols:
  published  the settings that really produced the printed numbers, found by matching them
  written    the settings given in the paper's text
  fair       standardised once, at most 2000 rows, more methods, data sets and dimensions,
             tests against PCA chosen in advance
  outliers   the same on small data sets with some rows moved far away

Finished runs are kept in the output folder. The command can be interrupted at any time:
run it again to continue."""

_EPILOG = """\
where the data come from, in this order: scikit-learn (iris, wine, digits), the files
NAME.npz with arrays X and y in --data, OpenML. Unavailable data sets are listed as missing.
Data sets of --fresh, listed in its manifest.csv, take part in the last two protocols.

examples:
  shopca reproduce table1 --datasets iris wine digits     nothing to download, a minute
  shopca reproduce all --protocol published --data npz/   the paper's numbers
  shopca reproduce all --protocol fair outliers --data npz/ --fresh others/ --jobs 8

UMAP and the figures need:  pip install "shopca-rs[reproduce]"
"""


def add_parser(subparsers: Any) -> None:
    """Add the command.

    Parameters
    ----------
    subparsers : object
        What `ArgumentParser.add_subparsers` returned.
    """
    parser: ArgumentParser = subparsers.add_parser(
        "reproduce",
        help="rerun the paper's experiments and write a report",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=RawDescriptionHelpFormatter,
        allow_abbrev=False,
        parents=[talking()],
    )
    parser.add_argument(
        "tables", nargs="?", choices=TABLES, default="all", help="which experiment (default: %(default)s)"
    )
    parser.add_argument(
        "--protocol",
        nargs="+",
        choices=PROTOCOLS,
        default=list(PROTOCOLS),
        metavar="NAME",
        help=f"protocols to run, one or more of {', '.join(PROTOCOLS)} (default: all)",
    )
    parser.add_argument(
        "--datasets", nargs="+", metavar="NAME", help="only these data sets (default: all of the experiment)"
    )
    parser.add_argument(
        "--data",
        type=Path,
        metavar="DIR",
        default=_folder("SHOPCA_DATA"),
        help="folder of .npz files (default: the environment variable SHOPCA_DATA)",
    )
    parser.add_argument(
        "--fresh",
        type=Path,
        metavar="DIR",
        default=_folder("SHOPCA_FRESH"),
        help="folder of .npz files and a manifest.csv of data sets that are not in the paper, for the "
        "protocols fair and outliers (default: the environment variable SHOPCA_FRESH)",
    )
    parser.add_argument(
        "--paper",
        type=Path,
        metavar="DIR",
        default=_folder("SHOPCA_PAPER"),
        help="folder with published_tables.csv, the printed numbers to compare with (default: the "
        "environment variable SHOPCA_PAPER; without it nothing is compared)",
    )
    parser.add_argument("--offline", action="store_true", help="do not download from OpenML")
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="DIR",
        default=Path("shopca-reproduction"),
        help="folder of finished runs and of the report (default: %(default)s)",
    )
    parser.add_argument(
        "--report",
        type=Path,
        metavar="FILE",
        help="the Markdown page (default: report.md in the output folder)",
    )
    parser.add_argument(
        "--seeds",
        type=_positive,
        default=5,
        metavar="N",
        help="number of runs of randomised methods (default: %(default)s)",
    )
    parser.add_argument(
        "--jobs",
        type=_positive,
        metavar="N",
        help="number of processes, one thread each; does not affect the numbers (default: all cores)",
    )
    parser.add_argument(
        "--memory",
        type=_gibibytes,
        metavar="GIB",
        help="memory for all processes together, in GiB (default: 80 %% of the machine's)",
    )


def run(args: Namespace) -> None:
    """Run the command.

    Parameters
    ----------
    args : Namespace
        Its arguments.
    """
    from ...arguments import as_threads
    from ...experiments.printed import read_printed
    from ...experiments.report import Experiment, write_report
    from ...experiments.results import Results
    from ...experiments.runner import plan, run_all, survey

    tables = TABLES[args.tables]
    for option, folder in (("--data", args.data), ("--fresh", args.fresh)):
        if folder is not None and not folder.is_dir():
            raise ValueError(f"{option} must be a folder of .npz files, got {folder}. Check the name.")
    names = _names(args.datasets, tables, args.fresh)
    printed = [row for row in read_printed(args.paper) if row.table in tables and row.data_set in names]
    report = args.report or args.output / "report.md"
    args.output.mkdir(parents=True, exist_ok=True)
    if not report.parent.is_dir():
        raise ValueError(
            f"--report must be in an existing folder, but {report.parent} does not exist. Create it first."
        )

    found = []
    for available in survey(names, args.data, openml=not args.offline, fresh=args.fresh):
        found.append(available)
        if available.missing:
            say(args, f"{available.data_set.name} is missing: {available.missing}")
    protocols = tuple(name for name in PROTOCOLS if name in args.protocol)
    runs = plan(protocols, tables, found, args.seeds)
    _check_packages(any(run.method == "umap" for run in runs))
    results = Results(args.output / "results")
    with _progress(args, len(runs)) as show:
        run_all(
            runs,
            found,
            results,
            folder=args.data,
            openml=not args.offline,
            fresh=args.fresh,
            jobs=args.jobs or as_threads(None),
            memory=args.memory,
            report=show,
        )
    experiment = Experiment(_command_line(), protocols, found, results, runs, printed, args.data, args.fresh)
    written = write_report(experiment, report)
    say(args, f"{report}, and {len(written) - 1} files in {report.with_suffix('')}", kind="wrote")


def _check_packages(umap: bool) -> None:
    """Check for the required packages before the work starts."""
    needed = {"matplotlib": "matplotlib"} | ({"umap": "umap-learn"} if umap else {})
    missing = [package for module, package in needed.items() if find_spec(module) is None]
    if missing:
        raise ValueError(f'{" and ".join(missing)} must be installed: pip install "shopca-rs[reproduce]".')


def _names(wanted: list[str] | None, tables: tuple[int, ...], fresh: Path | None) -> list[str]:
    """Return the names of the requested data sets, by default all of the tables and all fresh ones."""
    from difflib import get_close_matches

    from ...experiments.runner import known

    there = known(fresh)
    for name in wanted or []:
        if name not in there:
            close = get_close_matches(name, there, 3, 0.4) or list(there)[:3]
            raise ValueError(
                f"--datasets must be data sets of the paper or of --fresh, got {name}. "
                f"Did you mean {' or '.join(close)}?"
            )
    chosen = [name for name in there if wanted is None or name in wanted]
    chosen = [name for name in chosen if not there[name].in_paper or set(there[name].tables) & set(tables)]
    if not chosen:
        raise ValueError(f"--datasets must be in the requested table, got {', '.join(wanted or [])}.")
    return chosen


@contextmanager
def _progress(args: Namespace, total: int) -> Iterator[Callable[[Run, Result | None], None]]:
    """Show a progress bar on a terminal, otherwise a line for each finished run."""
    if args.quiet:
        yield lambda run, result: None
        return
    done, before = 0, 0
    if sys.stderr.isatty():
        from tqdm import tqdm

        with tqdm(total=total, unit="run", desc="shopca reproduce") as bar:

            def advance(run: Run, result: Result | None) -> None:
                bar.set_postfix_str(
                    f"{run.data_set} {run.method}" if result else "already done", refresh=False
                )
                bar.update()

            yield advance
        return

    def tell(run: Run, result: Result | None) -> None:
        nonlocal done, before
        done += 1
        if result is None:
            before += 1
            return
        outcome = result.failure or f"{result.seconds:.1f} s"
        what = f"{run.protocol} {run.data_set} {run.method} {run.components}-D {run.seed}"
        say(args, f"[{done}/{total}] {what}: {outcome}", kind="run")

    yield tell
    if before:
        say(args, f"{before} of {total} runs were already done")


def _command_line() -> str:
    return shlex.join(["shopca", *sys.argv[1:]])


def _folder(variable: str) -> Path | None:
    return Path(os.environ[variable]) if os.environ.get(variable) else None


def _positive(text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise ArgumentTypeError(f"must be a whole number from 1, got {text}")
    return number


def _gibibytes(text: str) -> int:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        raise ArgumentTypeError(f"must be a number of GiB above 0, got {text}")
    return int(number * 2**30)
