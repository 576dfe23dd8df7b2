"""The eigenvalues of the paper's shape operator at each row of a table."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...operators import Degenerate, operator_curvatures
from . import options
from .messages import say
from .outputs import write_outputs
from .results import Result

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..tables import Table

# With more columns than this, a note suggests leaving them out.
_MANY = 25


def write_operator_curvatures(args: Namespace, table: Table, X: NDArray[np.float64]) -> None:
    """Compute and write the curvatures of the paper's operator.

    Parameters
    ----------
    args : Namespace
        The arguments.
    table : Table
        The table that was read.
    X : ndarray of shape (n, d)
        Its numbers, standardised or not.
    """
    from ...estimators.shopca import SHOPCA
    from ...plotting import plot_embedding

    n, d = X.shape
    degenerate: Degenerate = args.degenerate or "average"
    k = SHOPCA(n_neighbors=args.neighbors or "log2")._resolve_neighbors(n)
    own = bool(args.include_self)
    bent = operator_curvatures(
        X,
        k,
        include_self=own,
        degenerate=degenerate,
        n_jobs=args.jobs,
        progress=options.worth_a_bar(args, X),
    )
    if k + own <= d:
        enough = d + 1 - own
        cure = (
            f"Give --neighbors {enough} or more to get other values."
            if enough < n
            else f"Other values need at least {enough + 1} rows."
        )
        say(
            args,
            f"The Gaussian curvature is 0 everywhere: k = {k} neighbours{' and the row itself' * own} span "
            f"fewer directions than the {d} columns. {cure}",
        )
    if args.principal and d > _MANY:
        say(args, f"There are {d} principal curvatures for each row; --no-principal leaves them out.")

    def draw(figure: Any) -> None:
        flat = SHOPCA(
            min(2, d), n_neighbors=k, alpha=0, max_features=None, degenerate=degenerate, n_jobs=args.jobs
        ).fit(X)
        low, high = np.percentile(bent.mean, [2, 98])
        ax = plot_embedding(
            flat, X, bent.mean, ax=figure.subplots(), label="mean curvature", vmin=low, vmax=high
        )
        ax.set_title(f"Mean curvature on the principal components, k = {k}")

    names, values = ["mean", "gaussian"], [bent.mean, bent.gaussian]
    if args.principal:
        names += [f"principal_{j + 1}" for j in range(d)]
        values += list(bent.principal.T)
    write_outputs(args, Result(names, np.column_stack(values), table, args.label), draw)
    low, middle, high = np.percentile(bent.mean, [0, 50, 100])
    say(
        args,
        f"{n} rows × {d} columns ({options.scaling(args)}), k = {k}: mean curvature from {low:.4g} to "
        f"{high:.4g}, median {middle:.4g}",
        kind="done",
    )
