"""How well embeddings preserve neighbourhoods of every size."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..arguments import as_numbers, as_points, shown
from ..classes import class_style, short_name
from ..evaluation.embedding_quality import quality
from .drawing import as_axes, draw, thin_grid
from .named import as_named, list_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Largest number of points of a curve, evenly spaced on the logarithmic axis.
_POINTS = 1000


def plot_quality(
    results: Any, X: Any = None, *, sample: int | None = None, ax: Axes | None = None, **line_kw: Any
) -> Axes:
    """Draw R_NX of several embeddings: how well each preserves neighbourhoods of every size.

    R_NX(K) is 1 if the K nearest neighbours are the same in the data and in the embedding, and 0 if they
    agree no more than by chance. The legend has the area under the curve (AUC), on the logarithmic axis of K.

    Parameters
    ----------
    results : Quality, array-like of shape (n, m), or dict of these
        What `quality` returned, or an embedding of `X`; a dict from names to these for several.
    X : array-like of shape (n, d), default=None
        The data, if embeddings are given.
    sample : int, default=None
        Evaluate the embeddings at this many random rows; all rows if None. Use 1000 from 50 000 rows on.
    ax : matplotlib Axes, default=None
        Where to draw; a new one if None.
    **line_kw
        Passed to `Axes.plot`.

    Returns
    -------
    ax : matplotlib Axes
        The plot. With a sample, a band shows one standard error on both sides.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from shopca_rs import SHOPCA, plot_quality
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.decomposition import PCA
    >>> X = load_iris().data
    >>> models = {"SHOPCA": SHOPCA(2), "PCA": PCA(2)}
    >>> ax = plot_quality({name: model.fit_transform(X) for name, model in models.items()}, X)
    >>> [text.get_text().split(":")[0] for text in ax.get_legend().get_texts()]
    ['SHOPCA', 'PCA']
    """
    named = results if isinstance(results, Mapping) else {"": results}
    data = None if X is None else as_points(X)
    curves = {
        name: _as_curve(result, data, sample)
        for name, result in as_named(named, "results", "results of quality or embeddings").items()
    }
    ax = as_axes(ax)
    handles, names = [], []
    for number, (name, (sizes, r, error, auc)) in enumerate(curves.items()):
        style: dict[str, Any] = {"color": class_style(number).color, "linewidth": 1.8}
        # Lines have no markers: repeated colours are dashed.
        style["linestyle"] = ["-", "--", ":"][number // 7 % 3]
        (line,) = draw(ax.plot, line_kw, sizes, r, **(style | line_kw))
        if error.any():
            ax.fill_between(sizes, r - error, r + error, color=line.get_color(), alpha=0.2, linewidth=0)
        handles.append(line)
        names.append(f"{short_name(name)}: AUC {auc:.3f}" if name else f"AUC {auc:.3f}")
    ax.axhline(0, color="0.4", linewidth=0.7)
    ax.annotate(
        "chance",
        (1, 0),
        xycoords=("axes fraction", "data"),
        xytext=(-4, 2),
        ha="right",
        va="bottom",
        textcoords="offset points",
        color="0.4",
        fontsize="small",
    )
    lowest = min(float(r.min()) for _, r, _, _ in curves.values())
    ax.set(xscale="log", ylim=(min(1.05 * lowest, -0.02), 1), xlabel="K, size of the neighbourhood")
    ax.set_ylabel("R_NX, neighbours preserved (0 chance, 1 all)")
    ax.set_title("Neighbourhoods preserved by the embedding" + ("s" if len(curves) > 1 else ""))
    thin_grid(ax)
    list_names(ax, handles, names)
    return ax


def _as_curve(
    result: Any, X: NDArray[np.float64] | None, sample: int | None
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], float]:
    """Return K, R_NX, its standard error and the AUC, thinned out."""
    if not _is_result(result):
        if X is None:
            raise TypeError(
                f"results must be what quality returns, or a dict of such, got {shown(result)}. Give X as "
                "well to draw embeddings of it."
            )
        # The curve is the same for every number of neighbours.
        result = quality(X, result, 1, sample=sample)
    r = as_numbers(result.r_nx, "r_nx of results", 1, "1-D")
    error = np.broadcast_to(np.asarray(getattr(result.standard_error, "r_nx", 0.0), dtype=float), r.shape)
    sizes = np.unique(np.geomspace(1, len(r), _POINTS).round().astype(int))
    return sizes, r[sizes - 1], error[sizes - 1], float(result.auc)


def _is_result(result: Any) -> bool:
    parts = ("r_nx", "auc", "standard_error")
    return not isinstance(result, type) and all(hasattr(result, part) for part in parts)
