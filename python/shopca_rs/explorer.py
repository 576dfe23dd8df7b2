"""One HTML file to explore a fit in a browser: a slider from PCA over every α to the eigenmaps.

The file holds its data and plotly's JavaScript; it needs no network and its security policy allows none.
plotly is imported when `explore` is called: ``pip install "shopca-rs[explore]"``.
"""

from __future__ import annotations

import html
import json
import os
import re
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment  # type: ignore[import-untyped]
from sklearn.base import clone  # type: ignore[import-untyped]
from sklearn.exceptions import NotFittedError  # type: ignore[import-untyped]
from sklearn.utils.validation import check_is_fitted  # type: ignore[import-untyped]

from .arguments import as_count
from .plotting import as_labels
from .spectrum import Criterion, curved_covariance, eigengap, leading_directions, spectra
from .writing import replacing

if TYPE_CHECKING:
    from .base import CurvedPCA

Matrix = NDArray[np.float64]

# matplotlib's tab10, then the pale half of its tab20.
_COLOURS = [
    "#1f77b4",
    "#ff7f0e",
    "#2ca02c",
    "#d62728",
    "#9467bd",
    "#8c564b",
    "#e377c2",
    "#7f7f7f",
    "#bcbd22",
    "#17becf",
    "#aec7e8",
    "#ffbb78",
    "#98df8a",
    "#ff9896",
    "#c5b0d5",
    "#c49c94",
    "#f7b6d2",
    "#c7c7c7",
    "#dbdb8d",
    "#9edae5",
]


def explore(
    estimator: CurvedPCA,
    X: Any,
    y: ArrayLike | None = None,
    path: str | os.PathLike[str] = "shopca.html",
    *,
    names: ArrayLike | None = None,
    title: str | None = None,
    n_steps: int = 41,
    max_points: int = 2000,
) -> Path:
    """Write one HTML file with the embedding of X at every α from 0 (PCA) to ∞ (eigenmaps).

    At the fitted α the picture is that of `transform`. From there to both sides the columns keep their place
    and their sign: each is the one most like its neighbour's. Every picture is scaled to fit the same square.

    Parameters
    ----------
    estimator : SHOPCA or ShapeOperatorEigenmaps
        Fitted, or else fitted to X here (a copy of it).
    X : array-like of shape (n_samples, n_features)
        Points to show.
    y : array-like of shape (n_samples,), default=None
        Labels or numbers to colour them by.
    path : str or path-like, default="shopca.html"
        The file. It is replaced at once when it is complete, or not at all.
    names : array-like of shape (n_samples,), default=None
        Names of the points, shown with the row number under the pointer.
    title : str, default=None
        Heading of the page.
    n_steps : int, default=41
        Number of steps between α = 0.01 and α = 100; the fitted one, 0 and ∞ come on top.
    max_points : int, default=2000
        Of more points, this many rows at equal distances are shown.

    Returns
    -------
    path : Path
        The file written.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_iris
    >>> from shopca_rs import SHOPCA, explore
    >>> iris = load_iris()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = explore(SHOPCA().fit(iris.data), iris.data, iris.target, folder + "/iris.html")
    ...     page.name
    'iris.html'
    """
    plotly = plotly_source()
    try:
        check_is_fitted(estimator)
    except NotFittedError:
        estimator = clone(estimator).fit(X)
    scores = estimator._scores(X)
    n = len(scores)
    labels = None if y is None else as_labels(y, n)
    captions = None if names is None else _captions(names, n)
    rows = _shown_rows(n, as_count(max_points, "max_points", 2))
    alphas = _alphas(estimator.alpha_, as_count(n_steps, "n_steps", 2))
    fitted = int(np.flatnonzero(alphas == estimator.alpha_)[0])
    pictures = _pictures(estimator, scores[rows], alphas, fitted)
    heading = title or f"{type(estimator).__name__}: from PCA to Shape Operator Eigenmaps"
    many = "" if len(rows) == n else f" {len(rows)} of {n} points are shown."
    parts = {
        "title": html.escape(heading),
        "note": f"k = {estimator.n_neighbors_}. Every picture is scaled to fit the same square.{many}",
        "plotly": plotly,
        "data": _as_script(_page_data(estimator, pictures, alphas, fitted, rows, labels, captions)),
    }
    page = files("shopca_rs").joinpath("explorer.html").read_text(encoding="utf-8")
    # In one pass, so that text that looks like a place to fill stays text.
    page = re.sub(r"\{\{(\w+)\}\}", lambda place: parts[place[1]], page)
    with replacing(path) as unfinished:
        unfinished.write_text(page, encoding="utf-8")
    return Path(path)


def plotly_source() -> str:
    """Return plotly's JavaScript, or say how to get it."""
    try:
        from plotly.offline import get_plotlyjs  # type: ignore[import-untyped]
    except ImportError as error:
        raise ImportError(
            "The explorer needs plotly, which cannot be imported. "
            'Install it with pip install "shopca-rs[explore]".'
        ) from error
    source: str = get_plotlyjs()
    return source


def _shown_rows(n: int, most: int) -> NDArray[np.intp]:
    return np.unique(np.linspace(0, n - 1, min(n, most)).round().astype(np.intp))


def _alphas(fitted: float, steps: int) -> Matrix:
    return np.unique(np.concatenate([[0.0, fitted, np.inf], np.geomspace(0.01, 100, steps)]))


def _pictures(estimator: CurvedPCA, scores: Matrix, alphas: Matrix, fitted: int) -> list[Matrix]:
    """Embed at every α, columns matched outwards from the fitted one, each scaled to fit the unit square."""
    Sigma, S, basis = estimator._operators()
    m = estimator.n_components_
    centred = scores - (estimator.mean_ if estimator._basis is None else 0.0)
    rows = estimator.components_ if estimator._basis is None else estimator.components_ @ estimator._basis.T

    directions = [
        basis @ leading_directions(curved_covariance(Sigma, S, alpha), m).vectors for alpha in alphas
    ]
    directions[fitted] = rows.T
    for step in range(fitted + 1, len(alphas)):
        directions[step] = _like(directions[step], directions[step - 1])
    for step in reversed(range(fitted)):
        directions[step] = _like(directions[step], directions[step + 1])

    pictures = []
    for columns in directions:
        Z = centred @ columns[:, :2]
        reach = np.abs(Z).max()
        Z = Z / (reach if reach > 0 else 1.0)
        if m == 1:
            Z = np.column_stack([np.linspace(-1, 1, len(Z)), Z])
        pictures.append(Z)
    return pictures


def _like(columns: Matrix, others: Matrix) -> Matrix:
    """Reorder and turn unit columns so that each is as close as possible to its other."""
    cosines = others.T @ columns
    order = linear_sum_assignment(-np.abs(cosines))[1]
    signs = np.where(cosines[np.arange(len(order)), order] < 0, -1.0, 1.0)
    matched: Matrix = columns[:, order] * signs
    return matched


def _page_data(
    estimator: CurvedPCA,
    pictures: list[Matrix],
    alphas: Matrix,
    fitted: int,
    rows: NDArray[np.intp],
    labels: NDArray[Any] | None,
    captions: list[str] | None,
) -> dict[str, Any]:
    Sigma, S, _ = estimator._operators()
    criterion: Criterion = getattr(estimator, "criterion", "mass")
    m = estimator.n_components_
    low, high = np.log10(alphas[1]), np.log10(alphas[-2])
    decades = np.arange(np.ceil(low), np.floor(high) + 1)
    return {
        "alphas": [None if np.isinf(alpha) else float(alpha) for alpha in alphas],
        "names": [_alpha_name(alpha) for alpha in alphas],
        "fitted": fitted,
        # Of one component the other axis is the row, where lengths mean nothing.
        "axes": ["row", "component 1"] if m == 1 else ["component 1", "component 2"],
        "anchor": None if m == 1 else "x",
        "size": float(np.clip(2500 / max(len(rows), 1), 5, 9)),
        "frames": [[np.round(column, 4).tolist() for column in Z.T] for Z in pictures],
        "gaps": eigengap(spectra(Sigma, S, alphas), m, criterion).tolist(),
        "criterion": f"eigengap ({criterion})",
        "places": [low - 0.5, *np.log10(alphas[1:-1]).tolist(), high + 0.5],
        "ticks": [
            [low - 0.5, *decades.tolist(), high + 0.5],
            ["0", *[f"{10**decade:g}" for decade in decades], "∞"],
        ],
        **_traces(rows, labels, captions),
    }


def _traces(
    rows: NDArray[np.intp], labels: NDArray[Any] | None, captions: list[str] | None
) -> dict[str, Any]:
    """One trace for each class, or one for all; rows are counted among those shown."""
    lines = [f"row {row}" if captions is None else f"row {row}<br>{captions[row]}" for row in rows]
    everything = np.arange(len(rows))
    if labels is None:
        return {"legend": False, "traces": [_trace("", everything, lines, {"color": _COLOURS[0]})]}
    shown = labels[rows]
    lines = [f"{line}<br>{_text(label)}" for line, label in zip(lines, shown, strict=True)]
    if shown.dtype.kind == "f":
        numbers = [float(number) if np.isfinite(number) else None for number in shown]
        marker = {"color": numbers, "colorscale": "Viridis", "showscale": True}
        return {"legend": False, "traces": [_trace("", everything, lines, marker)]}
    traces = []
    for j, name in enumerate(np.unique(shown)):
        members = np.flatnonzero(shown == name)
        marker = {"color": _COLOURS[j % len(_COLOURS)]}
        traces.append(_trace(_text(_short(str(name))), members, [lines[row] for row in members], marker))
    return {"legend": True, "traces": traces}


def _trace(name: str, members: NDArray[np.intp], lines: list[str], marker: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "rows": members.tolist(), "hover": lines, "marker": marker}


def _alpha_name(alpha: float) -> str:
    return "∞" if np.isinf(alpha) else f"{alpha:.3g}"


def _captions(names: ArrayLike, n: int) -> list[str]:
    listed = np.asarray(names)
    if listed.shape != (n,):
        raise ValueError(
            f"names must have one entry for each of the {n} rows of X, got shape {listed.shape}."
        )
    return [_text(name) for name in listed]


def _text(value: object) -> str:
    """Text as plotly shows it: its labels are a small HTML of their own."""
    return html.escape(str(value), quote=False)


def _short(name: str) -> str:
    return name if len(name) <= 40 else name[:39] + "…"


def _as_script(data: dict[str, Any]) -> str:
    """JSON that cannot end the script element it stands in."""
    text = json.dumps(data, allow_nan=False, ensure_ascii=True, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
