"""`shopca reproduce`: the paper's experiments, under its own rules and under fair ones."""

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

    from ..experiments.results import Result, Run

TABLES = {"table1": (1,), "table2": (2,), "table3": (3,), "all": (1, 2, 3)}
PROTOCOLS = ("published", "written", "fair")

_DESCRIPTION = """\
Rerun the experiments of the SHOPCA paper and write a report: a Markdown page with
tables and figures, and a CSV file with every number.

table1 compares SHOPCA with PCA, table2 with Isomap, table3 with UMAP, on the data sets
that the paper has in that table; all is all three.

protocols:
  published  the rules that the printed numbers were really made by, found by matching them
  written    the rules as the paper's text gives them
  fair       standardised once, the same input for every method, three clusterings and
             nearest neighbours, tests against PCA

Finished runs are kept in the output folder. Interrupt it whenever you like: the same
command goes on where it was."""

_EPILOG = """\
where the data come from, in this order: scikit-learn (iris, wine, digits), the files
NAME.npz with arrays X and y in --data, OpenML. What cannot be had is listed as missing.

examples:
  shopca reproduce table1 --datasets iris wine digits     nothing to download, a minute
  shopca reproduce all --protocol published --data npz/   the paper's numbers
  shopca reproduce all --protocol fair --data npz/ --jobs 8

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
        help=f"rules to run under, one or more of {', '.join(PROTOCOLS)} (default: all)",
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
        "--paper",
        type=Path,
        metavar="DIR",
        default=_folder("SHOPCA_PAPER"),
        help="folder with published_tables.csv, the printed numbers to compare with (default: the "
        "environment variable SHOPCA_PAPER; without it nothing is compared)",
    )
    parser.add_argument("--offline", action="store_true", help="do not ask OpenML")
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
        help="how often methods with random numbers run (default: %(default)s)",
    )
    parser.add_argument(
        "--jobs",
        type=_positive,
        metavar="N",
        help="number of processes, one thread each; the numbers are the same (default: all cores)",
    )
    parser.add_argument(
        "--memory",
        type=_gibibytes,
        metavar="GIB",
        help="memory for all processes together (default: 80 %% of the machine's)",
    )


def run(args: Namespace) -> None:
    """Run the command.

    Parameters
    ----------
    args : Namespace
        Its arguments.
    """
    from ..arguments import as_threads
    from ..experiments.printed import read_printed
    from ..experiments.report import Experiment, write_report
    from ..experiments.results import Results
    from ..experiments.runner import plan, run_all, survey

    tables = TABLES[args.tables]
    names = _names(args.datasets, tables)
    printed = [row for row in read_printed(args.paper) if row.table in tables and row.data_set in names]
    if args.data is not None and not args.data.is_dir():
        raise ValueError(f"--data must be a folder of .npz files, {args.data} is none. Check the name.")
    report = args.report or args.output / "report.md"
    args.output.mkdir(parents=True, exist_ok=True)
    if not report.parent.is_dir():
        raise ValueError(
            f"--report must be in a folder that exists, {report.parent} does not. Create it first."
        )

    found = []
    for available in survey(names, args.data, openml=not args.offline):
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
            jobs=args.jobs or as_threads(None),
            memory=args.memory,
            report=show,
        )
    experiment = Experiment(_command_line(), protocols, found, results, runs, printed, args.data)
    written = write_report(experiment, report)
    say(args, f"{report}, and {len(written) - 1} files in {report.with_suffix('')}", kind="wrote")


def _check_packages(umap: bool) -> None:
    """Say before the work what would be missing at its end."""
    needed = {"matplotlib": "matplotlib"} | ({"umap": "umap-learn"} if umap else {})
    missing = [package for module, package in needed.items() if find_spec(module) is None]
    if missing:
        raise ValueError(f'{" and ".join(missing)} must be installed: pip install "shopca-rs[reproduce]".')


def _names(wanted: list[str] | None, tables: tuple[int, ...]) -> list[str]:
    """Names of the data sets of the tables, or of those asked for."""
    from difflib import get_close_matches

    from ..experiments.catalogue import CATALOGUE

    known = {data_set.name: data_set for data_set in CATALOGUE}
    for name in wanted or []:
        if name not in known:
            close = get_close_matches(name, known, 3, 0.4) or list(known)[:3]
            raise ValueError(
                f"--datasets must be names of the paper's list, got {name}. Near it: {', '.join(close)}."
            )
    chosen = [name for name in known if wanted is None or name in wanted]
    chosen = [name for name in chosen if set(known[name].tables) & set(tables)]
    if not chosen:
        raise ValueError(f"--datasets must be in the table asked for, got {', '.join(wanted or [])}.")
    return chosen


@contextmanager
def _progress(args: Namespace, total: int) -> Iterator[Callable[[Run, Result | None], None]]:
    """Show a bar where someone looks, otherwise a line for each finished run."""
    if args.quiet:
        yield lambda run, result: None
        return
    done, before = 0, 0
    if sys.stderr.isatty():
        from tqdm import tqdm

        with tqdm(total=total, unit="run", desc="shopca reproduce") as bar:

            def advance(run: Run, result: Result | None) -> None:
                bar.set_postfix_str(
                    f"{run.data_set} {run.method}" if result else "done before", refresh=False
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
        say(
            args,
            f"[{done}/{total}] {run.protocol} {run.data_set} {run.method} {run.seed}: {outcome}",
            kind="run",
        )

    yield tell
    if before:
        say(args, f"{before} of {total} runs were done before")


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
