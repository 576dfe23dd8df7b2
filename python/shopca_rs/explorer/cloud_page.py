"""One HTML file with a point cloud in three dimensions, coloured by its curvature, to rotate in a browser.

plotly is imported when `explore_cloud` is called: ``pip install "shopca-rs[explore]"``.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arguments import as_count, as_path, as_text
from ..geometry.quantities import (
    LABELS,
    Curvature,
    as_curvature,
    color_range,
    doubtful,
    is_signed,
    known_quantities,
    quantity,
)
from ..plotting.views import as_view
from .html_pages import as_captions, page_text, plotly_source, shown_rows, write_page

Floats = NDArray[np.float64]

TICKS = 5


def explore_cloud(
    X: ArrayLike,
    curvature: Curvature | None = None,
    path: str | os.PathLike[str] = "cloud.html",
    *,
    color: str = "mean",
    names: ArrayLike | None = None,
    feature_names: ArrayLike | None = None,
    title: str | None = None,
    max_points: int = 20_000,
) -> Path:
    """Write one HTML file with a rotatable point cloud, coloured by its curvature.

    The page has a menu of quantities and shows all values of a point in a tooltip. It holds its data
    and plotly's JavaScript; it needs no network. Colours are those of `plot_cloud`: the ends of the colour
    bar have an arrow if there are points beyond them, points whose standard error exceeds |II| are hollow and
    grey, flagged points are grey crosses.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Points as rows, in at least 2 columns; those in more than 3 are shown on their first three principal
        components.
    curvature : Curvatures or SecondFundamentalForm, default=None
        What `curvatures` or `second_fundamental_form` returned for X; computed with their defaults if None.
    path : str or path-like, default="cloud.html"
        The file. An existing one is replaced only when the new one is complete.
    color : {"mean", "gaussian", "scalar", "standard_error"}, default="mean"
        The quantity shown first.
    names : array-like of shape (n,), default=None
        Names of the points, shown with the row number in the tooltip.
    feature_names : array-like of shape (d,), default=None
        Names of the columns, for the axes; those of a data frame if None.
    title : str, default=None
        Heading of the page.
    max_points : int, default=20000
        If there are more points, this many evenly spaced rows are shown.

    Returns
    -------
    path : Path
        The file written.

    See Also
    --------
    plot_cloud : The same as a static plot.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from shopca_rs import explore_cloud
    >>> sphere = np.random.default_rng(0).normal(size=(500, 3))
    >>> sphere /= np.linalg.norm(sphere, axis=1, keepdims=True)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     explore_cloud(sphere, path=folder + "/sphere.html").name
    'sphere.html'
    """
    plotly_source()
    path = as_path(path)
    heading = "Curvature of a point cloud" if title is None else as_text(title, "title")
    view = as_view(X, feature_names)
    n = len(view.points)
    captions = None if names is None else as_captions(names, n)
    most = as_count(max_points, "max_points", 2)
    bent = as_curvature(curvature, view.points, color)
    rows = shown_rows(n, most)
    data = {
        "axes": [page_text(name) for name in view.names],
        "coordinates": [_numbers(axis[rows]) for axis in view.coordinates.T],
        "size": float(np.clip(6000 / max(len(rows), 1), 2.5, 5)),
        "rows": rows.tolist(),
        "captions": None if captions is None else [page_text(captions[row]) for row in rows],
        "quantities": [_described(bent, name, rows) for name in known_quantities(bent)],
        "first": known_quantities(bent).index(color),
        "doubtful": np.flatnonzero(doubtful(bent)[rows]).tolist(),
        "flagged": np.flatnonzero(~bent.valid[rows]).tolist(),
    }
    return write_page(
        "cloud_page.html", path, title=heading, note=_note(bent, len(rows), view.remark), data=data
    )


def _described(bent: Curvature, name: str, rows: NDArray[np.intp]) -> dict[str, Any]:
    """Return a quantity at the rows shown, and its colour range over all reliable points."""
    values = quantity(bent, name)
    error = name == "standard_error"
    trusted = values[bent.valid if error else bent.valid & ~doubtful(bent)]
    signed = is_signed(name, trusted)
    low, high, below, above = color_range(trusted, signed)
    ticks = np.linspace(low, high, TICKS)
    texts = [f"{tick:.3g}".replace("-", "−") for tick in ticks]
    texts[0] += " ▼" if below else ""
    texts[-1] += " ▲" if above else ""
    return {
        "label": LABELS[name],
        "values": _numbers(values[rows]),
        "range": [low, high],
        "ticks": [ticks.tolist(), texts],
        "signed": signed,
        # Standard errors are shown for doubtful points too.
        "everywhere": error,
    }


def _note(bent: Curvature, shown: int, remark: str) -> str:
    parts = [
        f"m = {bent.intrinsic_dim}, k = {bent.n_neighbors}, "
        f"{bent.stages} stage{'s' if bent.stages > 1 else ''}, order {bent.order}.",
        f"Shown on the {remark}." if remark else "",
        f"{shown} of {len(bent)} points are shown." if shown < len(bent) else "",
        "▲ and ▼ on the colour bar: there are points beyond it.",
    ]
    return " ".join(filter(None, parts))


def _numbers(values: Floats) -> list[float | None]:
    """Return numbers with six digits, None where they are not finite: JSON has neither NaN nor infinity."""
    return [float(f"{value:.6g}") if np.isfinite(value) else None for value in values]
