"""`shopca curvature`: a table → the curvatures at each of its points."""

from __future__ import annotations

from argparse import Namespace, RawDescriptionHelpFormatter
from typing import TYPE_CHECKING, Any

import numpy as np

from ..operators import curvatures
from . import options
from .messages import say
from .outputs import check_outputs, write_outputs, writing
from .results import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DESCRIPTION = """\
Compute the curvatures at each row of a table, from the covariance of its k nearest neighbours.
  principal_1 … principal_d   eigenvalues of the row's shape operator, ascending; never positive
  mean                        their mean; far below 0 where the neighbours are widely spread
  gaussian                    their product; 0 where k ≤ d, as k neighbours span fewer directions
By default the d columns are standardised and k is log2 of the number of rows.
"""

EPILOG = """\
examples:
  shopca curvature iris.csv -o curvatures.csv --label species
  shopca curvature iris.csv --drop species --no-principal | sort -t, -k1 -g | head
  shopca curvature big.parquet -o curvatures.npz --neighbors 30 --plot curvature.png
"""

# More columns than this nobody reads.
_MANY = 25


def add_parser(subparsers: Any) -> None:
    """Add the command to those of `shopca`.

    Parameters
    ----------
    subparsers : argparse action
        What `ArgumentParser.add_subparsers` returned.
    """
    parser = subparsers.add_parser(
        "curvature",
        help="the curvatures at each point of a table",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=RawDescriptionHelpFormatter,
        allow_abbrev=False,
        parents=[
            options.reading(),
            options.computing(),
            writing("curvatures, one line for each row"),
            options.talking(),
        ],
    )
    parser.add_argument(
        "--no-principal",
        dest="principal",
        action="store_false",
        help="only the mean and the Gaussian curvature, not the d principal ones",
    )


def run(args: Namespace) -> None:
    """Compute the curvatures of a table.

    Parameters
    ----------
    args : Namespace
        The arguments.
    """
    check_outputs(args)
    table = options.read(args)

    from ..estimator import SHOPCA
    from ..plotting import plot_embedding

    X, _ = options.standardized(args, table)
    n, d = X.shape
    k = SHOPCA(n_neighbors=args.neighbors)._resolve_neighbors(n)
    bent = curvatures(
        X, k, degenerate=args.degenerate, n_jobs=args.jobs, progress=options.worth_a_bar(args, X)
    )
    if k <= d:
        say(
            args,
            f"The Gaussian curvature is 0 everywhere: k = {k} neighbours span fewer directions than the "
            f"{d} columns. Give --neighbors {d + 1} or more for another.",
        )
    if args.principal and d > _MANY:
        say(args, f"There are {d} principal curvatures for each row; --no-principal leaves them out.")

    def draw(ax: Axes) -> None:
        flat = SHOPCA(
            min(2, d), n_neighbors=k, alpha=0, max_features=None, degenerate=args.degenerate, n_jobs=args.jobs
        ).fit(X)
        low, high = np.percentile(bent.mean, [2, 98])
        plot_embedding(flat, X, bent.mean, ax=ax, vmin=low, vmax=high)
        ax.set_title(f"Mean curvature on the principal components, k = {k}")

    names, values = ["mean", "gaussian"], [bent.mean, bent.gaussian]
    if args.principal:
        names += [f"principal_{j + 1}" for j in range(d)]
        values += list(bent.principal.T)
    write_outputs(args, Result(names, np.column_stack(values), table, args.label), draw)
    scaled = "standardised" if args.standardize else "as they are"
    low, middle, high = np.percentile(bent.mean, [0, 50, 100])
    say(
        args,
        f"{n} rows × {d} columns ({scaled}), k = {k}: mean curvature from {low:.4g} to {high:.4g}, "
        f"median {middle:.4g}",
        kind="done",
    )
