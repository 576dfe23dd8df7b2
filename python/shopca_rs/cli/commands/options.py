"""Options that several commands share."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, BooleanOptionalAction, Namespace
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...operators import DEGENERATE
from ..tables import MISSING, MOST_CATEGORIES, TEXT
from ..tables.numerals import DECIMALS, THOUSANDS
from ..tables.text_format import SEPARATORS
from . import kinds
from .messages import say

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..tables import Table

# Columns whose ranges differ by this factor are unlikely to share one unit.
_UNLIKE = 1000

# From about this many numbers on, the work takes long enough for a progress bar.
_LONG = 500_000

SYMBOLS = """\
what the letters mean:
  k   number of nearest neighbours that make the neighbourhood of each point
  α   weight of the mean shape operator S̄ (how the data spread around each point, on average)
      against the covariance Σ: 0 is PCA, inf is S̄ alone
  λ   the same weight in the units of the data: λ = α · tr Σ / |tr S̄|
"""


def reading(standardize: bool | None = True, why: str = "by default they are standardised") -> ArgumentParser:
    """Return the options for reading a table.

    Parameters
    ----------
    standardize : bool or None, default=True
        Whether the columns are standardised by default; None if the command decides.
    why : str
        What the help says about it.

    Returns
    -------
    parser : ArgumentParser
        For the argument `parents`.
    """
    parser = ArgumentParser(add_help=False)
    parser.add_argument(
        "file",
        metavar="FILE",
        help="table with points as rows: .csv, .tsv (also .gz, .bz2, .xz), .parquet, .npy, .npz or .mtx; "
        "- is CSV from standard input",
    )
    group = parser.add_argument_group("how the file is read")
    group.add_argument(
        "--label",
        metavar="COL",
        help="column of class labels: not a feature; kept in the output, and the colours of pictures",
    )
    group.add_argument(
        "--drop",
        metavar="COL",
        nargs="+",
        action="extend",
        default=[],
        help="columns to leave out, such as row numbers",
    )
    group.add_argument(
        "--missing",
        choices=MISSING,
        default="median",
        help="what to do about missing numbers (default: %(default)s)",
    )
    group.add_argument(
        "--text",
        choices=TEXT,
        default="drop",
        help=f"columns of text: drop them, or encode them as 0/1 columns, one for each of at most "
        f"{MOST_CATEGORIES} values (default: %(default)s)",
    )
    group.add_argument(
        "--standardize",
        action=BooleanOptionalAction,
        default=standardize,
        help=f"give each column mean 0 and variance 1, or take the columns as they are; {why}",
    )
    group.add_argument(
        "--separator",
        metavar="SIGN",
        type=kinds.as_separator_sign,
        help=f"column separator of a text table: one character or {', '.join(SEPARATORS)} "
        "(default: detected)",
    )
    group.add_argument(
        "--decimal",
        metavar="SIGN",
        type=kinds.as_decimal_sign,
        help=f"decimal sign of numbers written as text: {', '.join(DECIMALS)} or the sign "
        "(default: detected from all rows)",
    )
    group.add_argument(
        "--thousands",
        metavar="SIGN",
        type=kinds.as_thousands_sign,
        help=f"thousands separator of numbers written as text: {', '.join(THOUSANDS)} or the sign "
        "(default: any of them that is not the decimal sign)",
    )
    group.add_argument(
        "--encoding", help="encoding of a text table (default: utf-8, or from its byte order mark)"
    )
    group.add_argument(
        "--header",
        action=BooleanOptionalAction,
        help="whether the first row of a text table holds names (default: unless it holds only numbers)",
    )
    return parser


def computing() -> ArgumentParser:
    """Return the options for computing the shape operator.

    Returns
    -------
    parser : ArgumentParser
        For the argument `parents`.
    """
    parser = ArgumentParser(add_help=False)
    group = parser.add_argument_group("how it is computed")
    group.add_argument(
        "--neighbors",
        metavar="K",
        type=kinds.as_neighbors,
        default="log2",
        help="k: a number from 2 to rows − 1, log2 for round(log2 rows) or log for round(ln rows) "
        "(default: %(default)s)",
    )
    group.add_argument(
        "--degenerate",
        choices=DEGENERATE,
        default="average",
        help="where k neighbours do not determine their eigenvectors: average over all bases, or take "
        "LAPACK's (default: %(default)s)",
    )
    add_jobs(group)
    return parser


def add_jobs(group: Any) -> None:
    """Add the option for the number of threads.

    Parameters
    ----------
    group : argparse group
        Where it belongs.
    """
    group.add_argument(
        "--jobs",
        metavar="N",
        type=kinds.as_jobs,
        help="number of threads; does not affect the result (default: all cores)",
    )


def add_include_self(group: Any, absent: bool | None, when: str) -> None:
    """Add the option that puts each row into its own neighbourhood.

    Parameters
    ----------
    group : argparse group
        Where it belongs.
    absent : bool or None
        Its value where it is not given.
    when : str
        The beginning of the help text.
    """
    group.add_argument(
        "--include-self",
        action="store_true",
        default=absent,
        help=f"{when}include each row in its own neighbourhood of k + 1 rows, so that outliers far from "
        "their neighbours have an effect (default: no)",
    )


def talking() -> ArgumentParser:
    """Return the option that makes a command silent.

    Returns
    -------
    parser : ArgumentParser
        For the argument `parents`.
    """
    parser = ArgumentParser(add_help=False)
    parser.add_argument("--quiet", action="store_true", help="print errors only, no notes, no progress")
    return parser


def read(args: Namespace, *, sparse: bool = False) -> Table:
    """Read the table that the options of `reading` describe, and print its notes.

    Parameters
    ----------
    args : Namespace
        The arguments.
    sparse : bool, default=False
        Whether a sparse table is left as it is. Otherwise one with few columns is made dense.

    Returns
    -------
    table : Table
        The numbers.
    """
    from scipy.sparse import issparse  # type: ignore[import-untyped]

    from ...sparse_tables import as_filled
    from ..tables import read_table

    table = read_table(
        args.file,
        label=args.label,
        drop=args.drop,
        text=args.text,
        missing=args.missing,
        separator=args.separator,
        encoding=args.encoding,
        header=args.header,
        decimal=args.decimal,
        thousands=args.thousands,
    )
    if not sparse and issparse(table.X):
        try:
            filled = as_filled(table.X, f"The sparse table {args.file}", "shopca embed")
        except TypeError as error:
            raise ValueError(str(error)) from None
        table = replace(table, X=filled, notes=[*table.notes, "Converted a sparse table to a dense one."])
    for note in table.notes:
        say(args, note)
    return table


def standardized(args: Namespace, table: Table) -> tuple[NDArray[np.float64], Any]:
    """Standardise the columns; if the options say not to, print a note where their ranges differ much.

    Parameters
    ----------
    args : Namespace
        The arguments.
    table : Table
        The numbers.

    Returns
    -------
    X : ndarray of shape (n, d)
        The columns with mean 0 and variance 1, or as they are.
    scaler : StandardScaler
        The fitted scikit-learn scaler; it does nothing without standardisation.
    """
    import numpy as np
    from scipy.sparse import issparse
    from sklearn.preprocessing import StandardScaler  # type: ignore[import-untyped]

    if not args.standardize:
        _compare_sizes(args, table)
    # A sparse table keeps its zeros: the estimators centre it.
    centred = args.standardize and not issparse(table.X)
    scaler = StandardScaler(with_mean=centred, with_std=args.standardize)
    with np.errstate(over="ignore", invalid="ignore"):
        X = scaler.fit_transform(table.X)
    if issparse(X):
        return X, scaler
    spoilt = ~np.isfinite(X).all(axis=0) | (args.standardize & ~X.any(axis=0))
    if spoilt.any():
        name = table.names[int(np.argmax(spoilt))]
        raise ValueError(
            f"The columns must have squares that fit in float64, got a largest magnitude of "
            f"{np.abs(table.X[:, spoilt]).max():.3g} in {name}. Rescale that column, or give --drop {name}."
        )
    return X, scaler


def _compare_sizes(args: Namespace, table: Table) -> None:
    import numpy as np
    from scipy.sparse import issparse
    from sklearn.utils.sparsefuncs import min_max_axis  # type: ignore[import-untyped]

    with np.errstate(all="ignore"):
        ranges = (
            np.subtract(*min_max_axis(table.X, axis=0)[::-1])
            if issparse(table.X)
            else np.ptp(table.X, axis=0)
        )
        least, most = int(np.argmin(ranges)), int(np.argmax(ranges))
        factor = ranges[most] / ranges[least]
    if factor >= _UNLIKE:
        written = f"{factor:.0f}" if factor < 1e6 else f"{factor:.3g}"
        say(
            args,
            f"The ranges of the columns differ by a factor of {written}, from {table.names[least]} to "
            f"{table.names[most]}: the largest columns dominate the distances between rows. Give "
            "--standardize if the units differ.",
        )


def scaling(args: Namespace) -> str:
    """Describe the scaling of the columns in a few words.

    Parameters
    ----------
    args : Namespace
        The arguments.

    Returns
    -------
    words : str
        For the summary.
    """
    return "standardised" if args.standardize else "as they are"


def row_names(table: Table) -> list[str] | None:
    """Return names of the rows if some rows of the file were dropped, else None.

    Parameters
    ----------
    table : Table
        What was read.

    Returns
    -------
    names : list of str or None
        For the pages.
    """
    if len(table.rows) == table.n_rows:
        return None
    return [f"row {row} of the file" for row in table.rows]


def worth_a_bar(args: Namespace, X: NDArray[np.float64]) -> bool:
    """Tell whether to show a progress bar: on a terminal, and if the work takes a while.

    Parameters
    ----------
    args : Namespace
        The arguments.
    X : ndarray of shape (n, d)
        The data.

    Returns
    -------
    worth : bool
        Whether to show it.
    """
    return not args.quiet and sys.stderr.isatty() and X.size > _LONG
