"""`shopca report`: a table → one HTML page about it."""

from __future__ import annotations

from argparse import Namespace, RawDescriptionHelpFormatter
from pathlib import Path
from typing import Any

from . import kinds, options
from .messages import one_line, say
from .outputs import check_apart, check_html

DESCRIPTION = """\
Write a page about a table, in words and pictures, that can be sent to a colleague: what was read
and changed, SHOPCA, LPP and PCA side by side, which columns make the components, how many components
stand out, how far the pictures can be trusted, whether they would look the same with other rows, and
curvature if the data allow it. The page is one file that needs no network. Needs matplotlib.
"""

EPILOG = """\
examples:
  shopca report iris.csv --label species -o report.html
  shopca report titanic.csv --text encode --drop PassengerId
  shopca report big.parquet --sample 5000 --jobs 4
  shopca report scan.npy --no-standardize
"""

# Rows from which quality, stability and curvature are estimated.
_SAMPLE = 2000
_QUICK = 500


def add_parser(subparsers: Any) -> None:
    """Add the command to those of `shopca`.

    Parameters
    ----------
    subparsers : argparse action
        What `ArgumentParser.add_subparsers` returned.
    """
    parser = subparsers.add_parser(
        "report",
        help="a page about a table, in words and pictures",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=RawDescriptionHelpFormatter,
        allow_abbrev=False,
        parents=[
            options.reading(why="by default they are standardised, as their units may differ"),
            options.talking(),
        ],
    )
    parser.add_argument(
        "-o", "--output", metavar="FILE", default="report.html", help="the page: .html (default: %(default)s)"
    )
    parser.add_argument("--title", help="title of the page (default: the name of the file)")
    group = parser.add_argument_group("how it is computed")
    group.add_argument(
        "--components",
        metavar="M",
        type=kinds.as_components,
        default=2,
        help="number of dimensions, or a fraction of the variance such as 0.9 (default: %(default)s)",
    )
    group.add_argument(
        "--neighbors",
        metavar="K",
        type=kinds.as_neighbors,
        default="log2",
        help="k of SHOPCA and LPP: a number from 2 to rows − 1, log2 for round(log2 rows) or log for "
        "round(ln rows) (default: %(default)s)",
    )
    size = group.add_mutually_exclusive_group()
    size.add_argument(
        "--sample",
        metavar="N",
        type=kinds.as_sample_size,
        default=_SAMPLE,
        help="with more rows than this, estimate quality, stability and curvature from this many random rows "
        "(default: %(default)s)",
    )
    size.add_argument(
        "--quick", dest="sample", action="store_const", const=_QUICK, help=f"the same as --sample {_QUICK}"
    )
    options.add_jobs(group)


def run(args: Namespace) -> None:
    """Write the report of a table.

    Parameters
    ----------
    args : Namespace
        The arguments.
    """
    check_html(args.output, "the report")
    check_apart(args, args.output)
    from ...report import write_report

    table = options.read(args)
    X, _ = options.standardized(args, table)
    file = "standard input" if args.file == "-" else Path(args.file).name
    write_report(
        X,
        table.labels,
        args.output,
        feature_names=table.names,
        label=args.label,
        title=one_line(args.title or f"SHOPCA report of {file}"),
        preparation=_preparation(args),
        notes=[one_line(note) for note in (_read(table, file), *table.notes)],
        n_components=args.components,
        n_neighbors=args.neighbors,
        sample=args.sample,
        n_jobs=args.jobs,
        progress=options.worth_a_bar(args, X),
    )
    rows, columns = X.shape
    say(args, f"{rows} rows × {columns} columns ({options.scaling(args)}): {args.output}", kind="done")


def _preparation(args: Namespace) -> str:
    if args.standardize:
        return "They are standardised: each column has mean 0 and variance 1, so that units do not matter."
    return "They are not scaled: columns with a larger spread have more weight."


def _read(table: Any, file: str) -> str:
    used = "all" if len(table.rows) == table.n_rows else f"{len(table.rows)} of them"
    return f"Read {table.n_rows} rows from {file}; {used} are used."
