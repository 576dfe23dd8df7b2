"""`shopca curvature`: a table → the curvatures at each of its points."""

from __future__ import annotations

from argparse import ArgumentTypeError, Namespace, RawDescriptionHelpFormatter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...operators import DEGENERATE
from . import kinds, options
from .messages import say
from .outputs import check_outputs, write_outputs, writing
from .results import Result

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ...geometry.forms import Curvatures
    from ..tables import Table

DESCRIPTION = """\
Estimate the curvature of the surface that the rows of a table lie on, at each row. The surface
has dimension m in the space of the d columns, which must share one unit.
  mean                        |H|, the length of the mean curvature vector
  scalar                      scalar curvature
  gaussian                    Gaussian curvature, where m = 2
  principal_1 … principal_m   principal curvatures, ascending, where d = m + 1
  squared_norm                |II|², corrected for noise
  standard_error              of |II|: covers noise, not bias
  valid                       false where the neighbours do not determine a fit; other values are missing
By default the columns are not scaled, and m, k, stages and order are chosen automatically.
"""

EPILOG = """\
--operator paper gives the eigenvalues of the paper's shape operator instead, which measure local
spread: principal_1 … principal_d, their mean and their product. It standardises the columns, and
k is log2 of the number of rows by default.

examples:
  shopca curvature cloud.csv -o curvatures.csv
  shopca curvature cloud.csv --plot cloud.png --explore cloud.html --color gaussian
  shopca curvature scan.npy -o curvatures.npz --intrinsic-dim 2 --orient
  shopca curvature iris.csv --operator paper --label species -o curvatures.csv
"""

OPERATORS = ("surface", "paper")
# Options that apply to only one of the operators.
_OWN = {
    "surface": ("intrinsic_dim", "stages", "order", "orient", "color", "explore"),
    "paper": ("degenerate", "include_self"),
}


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
            options.reading(
                None,
                "by default they are taken as they are, as curvature needs one unit for all columns, and "
                "standardised with --operator paper",
            ),
            writing("curvatures, one line for each row"),
            options.talking(),
        ],
    )
    group = parser.add_argument_group("how curvature is computed")
    group.add_argument(
        "--operator",
        choices=OPERATORS,
        default="surface",
        help="surface: curvature of the surface the points lie on; paper: eigenvalues of the paper's shape "
        "operator (default: %(default)s)",
    )
    group.add_argument(
        "--neighbors",
        metavar="K",
        type=_neighbors,
        help="k: auto for the least estimated error, or a number up to rows − 1 (default: auto); with "
        "--operator paper a number, log2 or log (default: log2)",
    )
    group.add_argument(
        "--intrinsic-dim",
        metavar="M",
        type=kinds.as_auto_or_count,
        help="m: the dimension of the surface, from 1 to columns − 1, or auto (default: auto)",
    )
    group.add_argument(
        "--stages",
        choices=("auto", "1", "2"),
        help="1 for points with little noise, 2 for noisy points (default: auto)",
    )
    group.add_argument(
        "--order", choices=("auto", "2", "3", "4"), help="degree of the fitted polynomial (default: auto)"
    )
    group.add_argument(
        "--orient",
        action="store_true",
        default=None,
        help="where d = m + 1: orient the whole surface to give mean and principal curvatures consistent "
        "signs (default: the normal of each point follows its mean curvature vector)",
    )
    group.add_argument(
        "--degenerate",
        choices=DEGENERATE,
        help="with --operator paper, where k neighbours do not determine their eigenvectors: average over "
        "all bases, or take LAPACK's (default: average)",
    )
    options.add_include_self(group, None, "with --operator paper, ")
    options.add_jobs(group)
    more = parser.add_argument_group("further output")
    more.add_argument(
        "--no-principal", dest="principal", action="store_false", help="leave the principal curvatures out"
    )
    more.add_argument(
        "--explore", metavar="FILE", help="interactive page of the points for a browser: .html (needs plotly)"
    )
    more.add_argument(
        "--color",
        choices=("mean", "gaussian", "scalar", "standard_error"),
        help="what the colours of --plot and --explore show (default: mean)",
    )


def run(args: Namespace) -> None:
    """Compute the curvatures of a table.

    Parameters
    ----------
    args : Namespace
        The arguments.
    """
    _check(args)
    check_outputs(args, args.explore)
    paper = args.operator == "paper"
    if args.standardize is None:
        args.standardize = paper
    table = options.read(args)
    X, _ = options.standardized(args, table)
    if paper:
        from .paper_operator import write_operator_curvatures

        write_operator_curvatures(args, table, X)
    else:
        _write_surface_curvatures(args, table, X)


def _check(args: Namespace) -> None:
    """Reject options of the other operator."""
    for operator, names in _OWN.items():
        for name in names:
            if operator != args.operator and getattr(args, name) is not None:
                raise ValueError(
                    f"--{name.replace('_', '-')} must come with --operator {operator}, got --operator "
                    f"{args.operator}. Leave one of them out."
                )
    if args.operator == "surface" and args.neighbors in ("log2", "log"):
        raise ValueError(
            f"--neighbors must be auto or a number, got {args.neighbors}, a rule of --operator paper."
        )
    if args.operator == "paper" and args.neighbors == "auto":
        raise ValueError("--neighbors must be log2, log or a number with --operator paper, got auto.")
    if args.color is not None and args.plot is None and args.explore is None:
        raise ValueError("--color must come with --plot or --explore: it is the colour of the points there.")


def _write_surface_curvatures(args: Namespace, table: Table, X: NDArray[np.float64]) -> None:
    from ...geometry.quantities import as_curvature
    from ...plotting import plot_cloud
    from .surface import in_words_of_options, surface_curvatures

    bent = surface_curvatures(
        args,
        X,
        n_neighbors=args.neighbors or "auto",
        intrinsic_dim=args.intrinsic_dim or "auto",
        stages=_number(args.stages),
        order=_number(args.order),
        orient=bool(args.orient),
    )
    color = args.color or "mean"
    try:
        as_curvature(bent, X, color)
    except ValueError as error:
        raise ValueError(in_words_of_options(error)) from error

    def draw(figure: Any) -> None:
        ax = figure.add_subplot(projection=None if X.shape[1] == 2 else "3d")
        plot_cloud(X, bent, color=color, feature_names=table.names, ax=ax)

    others: dict[str, Callable[[Path], object]] = {}
    if args.explore is not None:
        from ...explorer.cloud_page import explore_cloud

        title = None if args.file == "-" else f"Curvature of {Path(args.file).name}"
        others[args.explore] = lambda path: explore_cloud(
            X,
            bent,
            path,
            color=color,
            names=options.row_names(table),
            feature_names=table.names,
            title=title,
        )
    columns = _columns(bent, args.principal)
    values = np.column_stack(list(columns.values()))
    write_outputs(args, Result(list(columns), values, table, args.label, ("valid",)), draw, others)
    say(args, _summary(args, bent, X), kind="done")


def _columns(bent: Curvatures, principal: bool) -> dict[str, NDArray[Any]]:
    columns = {"mean": bent.mean, "scalar": bent.scalar}
    if bent.gaussian is not None:
        columns["gaussian"] = bent.gaussian
    if principal and bent.principal is not None:
        columns |= {f"principal_{j + 1}": values for j, values in enumerate(bent.principal.T)}
    return columns | {
        "squared_norm": bent.squared_norm,
        "standard_error": bent.standard_error,
        "valid": bent.valid.astype(np.float64),
    }


def _summary(args: Namespace, bent: Curvatures, X: NDArray[np.float64]) -> str:
    n, d = X.shape
    known = "given" if isinstance(args.intrinsic_dim, int) else "estimated"
    flagged = int((~bent.valid).sum())
    told = (
        f"{n} rows × {d} columns ({options.scaling(args)}), m = {bent.intrinsic_dim} ({known}), "
        f"k = {bent.n_neighbors}, {bent.stages} stage{'s' if bent.stages > 1 else ''}, order {bent.order}"
    )
    if flagged < n:
        noise = float(np.median(bent.noise[bent.valid]))
        scale = float(np.abs(X).max()) or 1.0
        radius = scale * float(np.sqrt(((X / scale - (X / scale).mean(axis=0)) ** 2).sum(axis=1).mean()))
        told += f", noise {noise:.3g} ({100 * noise / radius:.2g} % of the radius)"
    told += f", {flagged} point{'s' if flagged != 1 else ''} flagged"
    if flagged < n:
        low, middle, high = np.percentile(bent.mean[bent.valid], [0, 50, 100])
        told += f": mean curvature from {low:.4g} to {high:.4g}, median {middle:.4g}"
    return told


def _neighbors(text: str) -> int | str:
    if text == "auto":
        return text
    try:
        return kinds.as_neighbors(text)
    except ArgumentTypeError as error:
        raise ArgumentTypeError(str(error).replace("must be ", "must be auto, ", 1)) from None


def _number(text: str | None) -> int | str:
    return "auto" if text in (None, "auto") else int(text)
