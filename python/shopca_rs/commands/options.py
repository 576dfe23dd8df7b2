"""Options that several commands share, and the kinds of values options take."""

from __future__ import annotations

import math
import sys
from argparse import ArgumentParser, ArgumentTypeError, BooleanOptionalAction, Namespace
from typing import TYPE_CHECKING, Any

from ..dialect import SEPARATORS, as_separator
from ..operators import DEGENERATE
from ..tables import MISSING, MOST_CATEGORIES, TEXT
from .messages import say

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..tables import Table

# From about here on the work takes longer than a progress bar needs to be read.
_LONG = 500_000

SYMBOLS = """\
what the letters mean:
  k   how many nearest neighbours of each point tell how the data bend there
  α   weight of curvature against variance: 0 is PCA, inf is curvature alone
  λ   the same weight in the units of the data: λ = α · tr Σ / |tr S̄|, where Σ is the
      covariance and S̄ the mean shape operator (how the data bend, on average)
"""


def reading() -> ArgumentParser:
    """Return the options that say how a file becomes a table.

    Returns
    -------
    parser : ArgumentParser
        For the argument `parents`.
    """
    parser = ArgumentParser(add_help=False)
    parser.add_argument(
        "file",
        metavar="FILE",
        help="table with points as rows: .csv, .tsv (also .gz, .bz2, .xz), .parquet, .npy or .npz; "
        "- is CSV from standard input",
    )
    group = parser.add_argument_group("how the file is read")
    group.add_argument(
        "--label", metavar="COL", help="column with the rows' classes: not a feature, but kept and drawn"
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
        help="what to put in the place of missing numbers (default: %(default)s)",
    )
    group.add_argument(
        "--text",
        choices=TEXT,
        default="drop",
        help=f"columns of text: leave them out, or one 0/1 column for each of at most {MOST_CATEGORIES} "
        "values (default: %(default)s)",
    )
    group.add_argument(
        "--no-standardize",
        dest="standardize",
        action="store_false",
        help="take the columns as they are; by default each gets mean 0 and variance 1, "
        "as curvature depends on the units",
    )
    group.add_argument(
        "--separator",
        metavar="SIGN",
        type=_separator,
        help=f"what stands between the cells of a text table: one sign or {', '.join(SEPARATORS)} "
        "(default: found out)",
    )
    group.add_argument("--encoding", help="of a text table (default: utf-8, or what its first bytes say)")
    group.add_argument(
        "--header",
        action=BooleanOptionalAction,
        help="whether the first row of a text table holds names (default: unless it holds only numbers)",
    )
    return parser


def computing() -> ArgumentParser:
    """Return the options that say how curvature is computed.

    Returns
    -------
    parser : ArgumentParser
        For the argument `parents`.
    """
    parser = ArgumentParser(add_help=False)
    group = parser.add_argument_group("how curvature is computed")
    group.add_argument(
        "--neighbors",
        metavar="K",
        type=_neighbors,
        default="log2",
        help="k: a number from 2 to rows − 1, log2 for round(log2 rows) or log for round(ln rows) "
        "(default: %(default)s)",
    )
    group.add_argument(
        "--degenerate",
        choices=DEGENERATE,
        default="average",
        help="where k neighbours do not determine their own axes: average over all, or take LAPACK's "
        "(default: %(default)s)",
    )
    group.add_argument(
        "--jobs",
        metavar="N",
        type=_jobs,
        help="number of threads; the result is the same (default: all cores)",
    )
    return parser


def talking() -> ArgumentParser:
    """Return the option that makes a command silent.

    Returns
    -------
    parser : ArgumentParser
        For the argument `parents`.
    """
    parser = ArgumentParser(add_help=False)
    parser.add_argument("--quiet", action="store_true", help="no notes, no summary, no progress: errors only")
    return parser


def read(args: Namespace) -> Table:
    """Read the table that the options of `reading` describe, and say its notes.

    Parameters
    ----------
    args : Namespace
        The arguments.

    Returns
    -------
    table : Table
        The numbers.
    """
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
    )
    for note in table.notes:
        say(args, note)
    return table


def standardized(args: Namespace, table: Table) -> tuple[NDArray[np.float64], Any]:
    """Standardise the columns, unless the options say not to.

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
        The fitted scikit-learn scaler; with its two switches off where nothing is to be done.
    """
    import numpy as np
    from sklearn.preprocessing import StandardScaler  # type: ignore[import-untyped]

    scaler = StandardScaler(with_mean=args.standardize, with_std=args.standardize)
    with np.errstate(over="ignore", invalid="ignore"):
        X = scaler.fit_transform(table.X)
    spoilt = ~np.isfinite(X).all(axis=0) | (args.standardize & ~X.any(axis=0))
    if spoilt.any():
        name = table.names[int(np.argmax(spoilt))]
        raise ValueError(
            f"The columns must have squares that fit in float64, got a largest magnitude of "
            f"{np.abs(table.X[:, spoilt]).max():.3g} in {name}. Rescale that column, or give --drop {name}."
        )
    return X, scaler


def worth_a_bar(args: Namespace, X: NDArray[np.float64]) -> bool:
    """Tell whether to show a progress bar: someone looks, and it takes a while.

    Parameters
    ----------
    args : Namespace
        The arguments.
    X : ndarray of shape (n, d)
        What the work is on.

    Returns
    -------
    worth : bool
        Whether to.
    """
    return not args.quiet and sys.stderr.isatty() and X.size > _LONG


def as_components(text: str) -> int | float:
    """Return a number of components, or a share of variance between 0 and 1.

    Parameters
    ----------
    text : str
        As given.

    Returns
    -------
    number : int or float
        What `SHOPCA` takes for `n_components`.
    """
    number = _number(text, "a whole number from 1, or a share of the variance between 0 and 1")
    if number >= 1 and number == int(number) and "." not in text:
        return int(number)
    if 0 < number < 1:
        return number
    raise ArgumentTypeError(
        f"must be a whole number from 1, or a share of the variance between 0 and 1, got {text}"
    )


def as_alpha(text: str) -> float | str:
    """Return "auto" or a number from 0 to infinity.

    Parameters
    ----------
    text : str
        As given.

    Returns
    -------
    alpha : float or str
        What `SHOPCA` takes for `alpha`.
    """
    if text == "auto":
        return text
    alpha = _number(text, "auto, inf or a number from 0", infinite=True)
    if alpha < 0:
        raise ArgumentTypeError(f"must be auto, inf or a number from 0, got {text}")
    return alpha


def as_max_features(text: str) -> int | None:
    """Return a number of features from 1, or None for "none".

    Parameters
    ----------
    text : str
        As given.

    Returns
    -------
    most : int or None
        What `SHOPCA` takes for `max_features`.
    """
    return None if text.lower() == "none" else _whole(text, 1, "none or a whole number from 1")


def as_sample_size(text: str) -> int:
    """Return a number of rows from 2.

    Parameters
    ----------
    text : str
        As given.

    Returns
    -------
    count : int
        What `SHOPCA` takes for `sample`.
    """
    return _whole(text, 2, "a whole number from 2")


def _neighbors(text: str) -> int | str:
    return text if text in ("log2", "log") else _whole(text, 2, "log2, log or a whole number from 2")


def _jobs(text: str) -> int:
    jobs = _whole(text, None, "a whole number other than 0")
    if jobs == 0:
        raise ArgumentTypeError("must be a whole number other than 0, got 0")
    return jobs


def _separator(text: str) -> str:
    try:
        return as_separator(text)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from None


def _whole(text: str, low: int | None, expected: str) -> int:
    try:
        number = int(text)
    except ValueError:
        raise ArgumentTypeError(f"must be {expected}, got {text!r}") from None
    if low is not None and number < low:
        raise ArgumentTypeError(f"must be {expected}, got {text}")
    return number


def _number(text: str, expected: str, *, infinite: bool = False) -> float:
    try:
        number = float(text)
    except ValueError:
        raise ArgumentTypeError(f"must be {expected}, got {text!r}") from None
    if math.isnan(number) or (math.isinf(number) and not infinite):
        raise ArgumentTypeError(f"must be {expected}, got {text}")
    return number
