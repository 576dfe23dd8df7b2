"""`shopca embed`: a table → its embedding by SHOPCA or another linear method."""

from __future__ import annotations

import json
from argparse import SUPPRESS, Namespace, RawDescriptionHelpFormatter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...geometry.quantities import doubtful
from . import kinds, options
from .messages import say
from .methods import METHODS, check_method, make_estimator, stored, told
from .outputs import check_outputs, write_outputs, writing
from .results import Result

if TYPE_CHECKING:
    from ...estimators.linear_projection import LinearProjection
    from ...geometry.forms import Curvatures
    from ..tables import Table

DESCRIPTION = """\
Embed the rows of a table in a few dimensions by SHOPCA: PCA of a covariance that is corrected by
how the data spread around each point. The map is linear and unsupervised. By default the columns
are standardised, k is log2 of the number of rows, and α is the one with the largest eigengap.
--method selects another linear map: locality preserving projections (lpp), PCA, or SHOPCA at α = inf.
"""

EPILOG = f"""\
{options.SYMBOLS}
examples:
  shopca embed iris.csv -o embedding.csv --label species
  shopca embed iris.csv --label species --plot iris.png --explore iris.html
  shopca embed digits.csv --label digit --plot digits.png --color curvature
  shopca embed big.parquet -o big.npz --components 5 --alpha 1 --drop id
  shopca embed iris.csv --method lpp --label species --plot lpp.png
  shopca embed - < table.csv | head
"""


def add_parser(subparsers: Any) -> None:
    """Add the command to those of `shopca`.

    Parameters
    ----------
    subparsers : argparse action
        What `ArgumentParser.add_subparsers` returned.
    """
    parser = subparsers.add_parser(
        "embed",
        help="embed a table in a few dimensions",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=RawDescriptionHelpFormatter,
        allow_abbrev=False,
        parents=[
            options.reading(why="by default they are standardised, as the result depends on the units"),
            options.computing(),
            writing("embedding, one line for each row"),
            options.talking(),
        ],
    )
    group = parser.add_argument_group("how the embedding is chosen")
    group.add_argument(
        "--method",
        choices=METHODS,
        default="shopca",
        help="shopca; lpp for locality preserving projections; pca; eigenmaps for SHOPCA at alpha = inf "
        "(default: %(default)s)",
    )
    group.add_argument(
        "--components",
        metavar="M",
        type=kinds.as_components,
        default=2,
        help="number of dimensions, all, or a fraction of the variance such as 0.9 (default: %(default)s)",
    )
    group.add_argument(
        "--alpha",
        metavar="A",
        type=kinds.as_alpha,
        default="auto",
        help="α: auto for the largest eigengap from 0.1 to 100, a number from 0, or inf "
        "(default: %(default)s)",
    )
    group.add_argument(
        "--criterion",
        choices=("mass", "eigenvalue"),
        default="mass",
        help="for --alpha auto: the gap after the last component is divided by the sum of all |eigenvalues| "
        "(mass) or by the |eigenvalue| of that component (default: %(default)s)",
    )
    options.add_include_self(group, False, "")
    group.add_argument(
        "--symmetric",
        action="store_true",
        help="use the symmetric part of S̄, which gives orthogonal components (default: no)",
    )
    group.add_argument(
        "--max-features",
        metavar="T",
        type=kinds.as_max_features,
        default=SUPPRESS,
        help="with more columns than this, PCA first reduces them to this many; none to disable "
        "(default: 25); for lpp the default is a tenth of the rows, at least 25 and at most 100",
    )
    group.add_argument(
        "--sample",
        metavar="N",
        type=kinds.as_sample_size,
        help="estimate S̄ from this many random rows, for very large tables (default: all rows)",
    )
    more = parser.add_argument_group("further output")
    more.add_argument(
        "--explore",
        metavar="FILE",
        help="interactive page with a slider for α, or for k with lpp: .html (needs plotly)",
    )
    more.add_argument(
        "--color",
        choices=("label", "curvature"),
        default="label",
        help="what the colours of --plot and --explore show: the column of --label, or the mean curvature of "
        "the surface that the prepared rows lie on, before max-features and the embedding "
        "(default: %(default)s)",
    )
    more.add_argument("--model", metavar="FILE", help="the map as a matrix, to apply to new rows: .json")


def run(args: Namespace) -> None:
    """Embed a table.

    Parameters
    ----------
    args : Namespace
        The arguments.
    """
    _check(args)
    table = options.read(args, sparse=args.explore is None and args.color != "curvature")

    from ...plotting import plot_curvature, plot_embedding

    X, scaler = options.standardized(args, table)
    model = make_estimator(args, X)
    Z = model.fit_transform(X)
    bent = _curvatures(args, X) if args.color == "curvature" else None
    others: dict[str, Callable[[Path], object]] = {}
    if args.explore is not None:
        from sklearn.pipeline import make_pipeline  # type: ignore[import-untyped]

        from ...explorer.path_page import explore

        whole = make_pipeline(scaler, model)
        title = None if args.file == "-" else f"{type(model).__name__} of {Path(args.file).name}"
        colors = table.labels if bent is None else np.where(doubtful(bent), np.nan, bent.mean)
        others[args.explore] = lambda path: explore(
            whole,
            table.X,
            colors,
            path,
            names=options.row_names(table),
            title=title,
            feature_names=table.names,
        )
    if args.model is not None:
        others[args.model] = lambda path: path.write_text(
            _as_json(args, model, scaler, table), encoding="utf-8"
        )

    def draw(figure: Any) -> None:
        ax = figure.subplots()
        if bent is None:
            plot_embedding(model, X, table.labels, ax=ax)
        else:
            plot_curvature(model, X, bent, ax=ax)
        if args.method == "pca":
            ax.set_title("PCA")

    write_outputs(
        args,
        Result([f"{args.method}{j}" for j in range(Z.shape[1])], Z, table, args.label),
        draw,
        others,
    )
    say(args, _summary(args, model, X), kind="done")


def _check(args: Namespace) -> None:
    check_method(args)
    if args.color == "curvature" and args.plot is None and args.explore is None:
        raise ValueError("--color must come with --plot or --explore: it is the colour of the points there.")
    if args.model is not None and Path(args.model).suffix.lower() != ".json":
        raise ValueError(f"{args.model} must end in .json, the only format for the map.")
    check_outputs(args, args.explore, args.model)


def _curvatures(args: Namespace, X: Any) -> Curvatures:
    from .surface import surface_curvatures

    try:
        return surface_curvatures(args, X)
    except ValueError as error:
        raise ValueError(f"--color curvature failed (shopca curvature has more options): {error}") from error


def _summary(args: Namespace, model: LinearProjection, X: Any) -> str:
    rows, columns = X.shape
    kept = len(model.covariance_)
    first = f", PCA to {kept} first" if kept < columns and args.method != "pca" else ""
    return (
        f"{rows} rows × {columns} columns ({options.scaling(args)}{first}) to {model.n_components_} "
        f"component{'s' if model.n_components_ > 1 else ''}: {told(args, model)}"
    )


def _as_json(args: Namespace, model: LinearProjection, scaler: Any, table: Table) -> str:
    """Write the map as one matrix on the columns of the file: embedding = (x - center) @ weights.T."""
    scale = 1.0 if scaler.scale_ is None else scaler.scale_
    start = scaler.mean_ if scaler.with_mean else 0.0
    return json.dumps(
        {
            "columns": table.names,
            "center": (start + scale * model.mean_).tolist(),
            "weights": (model.components_ / scale).tolist(),
            "method": args.method,
            **stored(args, model),
        },
        indent=1,
        allow_nan=False,
        ensure_ascii=False,
    )
