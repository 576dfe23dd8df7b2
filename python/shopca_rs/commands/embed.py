"""`shopca embed`: a table → its SHOPCA embedding."""

from __future__ import annotations

import json
from argparse import Namespace, RawDescriptionHelpFormatter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import options
from .messages import say
from .outputs import check_outputs, write_outputs, writing
from .results import Result

if TYPE_CHECKING:
    from ..base import CurvedPCA
    from ..tables import Table

DESCRIPTION = """\
Embed the rows of a table in a few dimensions by SHOPCA: PCA whose covariance is bent by how
the data curve around each point. The map is linear and uses no labels. By default the columns
are standardised, k is log2 of the number of rows, and α is the one with the largest eigengap.
"""

EPILOG = f"""\
{options.SYMBOLS}
examples:
  shopca embed iris.csv -o embedding.csv --label species
  shopca embed iris.csv --label species --plot iris.png --explore iris.html
  shopca embed big.parquet -o big.npz --components 5 --alpha 1 --drop id
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
            options.reading(),
            options.computing(),
            writing("embedding, one line for each row"),
            options.talking(),
        ],
    )
    group = parser.add_argument_group("how the embedding is chosen")
    group.add_argument(
        "--components",
        metavar="M",
        type=options.as_components,
        default=2,
        help="how many dimensions, or a share of the variance such as 0.9 (default: %(default)s)",
    )
    group.add_argument(
        "--alpha",
        metavar="A",
        type=options.as_alpha,
        default="auto",
        help="α: auto for the largest eigengap from 0.1 to 100, a number from 0, or inf "
        "(default: %(default)s)",
    )
    group.add_argument(
        "--criterion",
        choices=("mass", "eigenvalue"),
        default="mass",
        help="for --alpha auto: the gap behind the last component is divided by the sum of all |eigenvalues| "
        "or by its own (default: %(default)s)",
    )
    group.add_argument(
        "--symmetric",
        action="store_true",
        help="use the symmetric part of S̄: orthogonal components (default: no)",
    )
    group.add_argument(
        "--max-features",
        metavar="T",
        type=options.as_max_features,
        default=25,
        help="with more columns than this, PCA reduces them to it first; none for never "
        "(default: %(default)s)",
    )
    group.add_argument(
        "--sample",
        metavar="N",
        type=options.as_sample_size,
        help="estimate S̄ from this many random rows, for tables of very many (default: all rows)",
    )
    more = parser.add_argument_group("more to be written")
    more.add_argument(
        "--explore", metavar="FILE", help="page to move through all α in a browser: .html (needs plotly)"
    )
    more.add_argument("--model", metavar="FILE", help="the map itself, for new rows: .json")


def run(args: Namespace) -> None:
    """Embed a table.

    Parameters
    ----------
    args : Namespace
        The arguments.
    """
    _check(args)
    table = options.read(args)

    from ..estimator import SHOPCA
    from ..plotting import plot_embedding

    X, scaler = options.standardized(args, table)
    model = SHOPCA(
        args.components,
        n_neighbors=args.neighbors,
        alpha=args.alpha,
        criterion=args.criterion,
        symmetric=args.symmetric,
        max_features=args.max_features,
        degenerate=args.degenerate,
        sample=args.sample,
        n_jobs=args.jobs,
        verbose=options.worth_a_bar(args, X),
    )
    Z = model.fit_transform(X)
    others: dict[str, Callable[[Path], object]] = {}
    if args.explore is not None:
        from ..explorer import explore

        title = None if args.file == "-" else f"SHOPCA of {Path(args.file).name}"
        names = [f"row {row} of the file" for row in table.rows] if len(table.rows) < table.n_rows else None
        others[args.explore] = lambda path: explore(model, X, table.labels, path, names=names, title=title)
    if args.model is not None:
        others[args.model] = lambda path: path.write_text(_as_json(model, scaler, table), encoding="utf-8")
    write_outputs(
        args,
        Result(model.get_feature_names_out().tolist(), Z, table, args.label),
        lambda ax: plot_embedding(model, X, table.labels, ax=ax),
        others,
    )
    say(args, _summary(args, model, X), kind="done")


def _check(args: Namespace) -> None:
    if args.explore is not None:
        from ..explorer import plotly_source

        plotly_source()
        if Path(args.explore).suffix.lower() not in (".html", ".htm"):
            raise ValueError(f"{args.explore} must end in .html: the explorer is a page for a browser.")
    if args.model is not None and Path(args.model).suffix.lower() != ".json":
        raise ValueError(f"{args.model} must end in .json, the only form the map is written in.")
    check_outputs(args, args.explore, args.model)


def _summary(args: Namespace, model: CurvedPCA, X: Any) -> str:
    rows, columns = X.shape
    scaled = "standardised" if args.standardize else "as they are"
    return (
        f"{rows} rows × {columns} columns ({scaled}) to {model.n_components_} components: "
        f"k = {model.n_neighbors_}, α = {model.alpha_:.4g}, λ = {model.lambda_:.4g}, "
        f"eigengap {model.eigengaps_.max():.4g}"
    )


def _as_json(model: CurvedPCA, scaler: Any, table: Table) -> str:
    """Write the map as one matrix on the columns of the file: embedding = (x - center) @ weights.T."""
    scale = 1.0 if scaler.scale_ is None else scaler.scale_
    start = 0.0 if scaler.mean_ is None else scaler.mean_
    infinite = model.alpha_ == float("inf")
    return json.dumps(
        {
            "columns": table.names,
            "center": (start + scale * model.mean_).tolist(),
            "weights": (model.components_ / scale).tolist(),
            "neighbors": model.n_neighbors_,
            # JSON has no infinity.
            "alpha": "inf" if infinite else model.alpha_,
            "lambda": "inf" if infinite else model.lambda_,
            "eigengap": float(model.eigengaps_.max()),
        },
        indent=1,
        allow_nan=False,
        ensure_ascii=False,
    )
