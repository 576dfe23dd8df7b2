"""The pictures of a report: drawn by the plotting functions, as PNG in the page itself."""

from __future__ import annotations

import warnings
from base64 import b64encode
from collections.abc import Callable
from io import BytesIO
from typing import Any, NamedTuple

from ..plotting import (
    plot_cloud,
    plot_embedding,
    plot_loadings,
    plot_quality,
    plot_scree,
    plot_stability,
)
from . import words
from .findings import Findings, Subject

# In inches: pictures side by side, and pictures alone.
_SMALL = (5.6, 4.6)
_WIDE = (8.0, 4.6)
_DPI = 120


class Picture(NamedTuple):
    """A picture and what it shows.

    Attributes
    ----------
    source : str
        The picture as a data URI.
    alternative : str
        The text alternative.
    caption : str
        The caption below it.
    """

    source: str
    alternative: str
    caption: str


def draw_all(subject: Subject, findings: Findings, y: Any) -> dict[str, list[Picture]]:
    """Draw all pictures.

    Parameters
    ----------
    subject : Subject
        The table.
    findings : Findings
        What was found in it.
    y : array-like or None
        Labels or numbers that colour the points.

    Returns
    -------
    pictures : dict of str to list of Picture
        By the section they belong to.
    """
    X, models = subject.X, findings.models
    pictures = {
        "embedding": [
            Picture(
                _drawn(plot_embedding, model, X, y, label=subject.label),
                words.embedding_alternative(subject, findings, name),
                words.embedding_caption(findings, name),
            )
            for name, model in models.items()
        ],
        "loadings": [
            Picture(
                _drawn(plot_loadings, model, names=subject.names),
                f"Loadings of the components of {name}. The sentences above name the largest of them.",
                f"{name}: how much each column contributes, and in which direction.",
            )
            for name, model in models.items()
        ],
        "scree": [
            Picture(
                _drawn(plot_scree, findings.full_pca, values="variance"),
                "Share of the variance along each principal component. " + words.variance(findings),
                "PCA: the share of the variance along each component. A bend shows how many stand out.",
            ),
            Picture(
                _drawn(plot_scree, models["SHOPCA"]),
                "Eigenvalues of SHOPCA by component. " + words.eigengap(findings),
                "SHOPCA: the eigenvalues that order its components; those left of the dashed line are kept.",
            ),
        ],
    }
    if findings.quality:
        pictures["quality"] = [
            Picture(
                _drawn(plot_quality, findings.quality, size=_WIDE),
                "R_NX over the size of the neighbourhood, a line for each method. The table above has the "
                "areas under the lines.",
                "Share of preserved neighbours, for neighbourhoods from the nearest few (left) to nearly all "
                "rows (right). Higher is better; 0 is chance.",
            )
        ]
    if findings.stability:
        pictures["stability"] = [
            Picture(
                _drawn(plot_stability, result),
                f"Principal angles of {name}. {words.stability_verdict(name, result)}",
                f"{name}: how much the components change from half to half. Lower is better.",
            )
            for name, result in findings.stability.items()
        ]
    if findings.curvature is not None and findings.carries_curvature:
        points = X if findings.bent_rows is None else X[findings.bent_rows]
        bent = findings.curvature
        pictures["curvature"] = [
            Picture(
                _drawn(plot_cloud, points, bent, size=_WIDE, solid=X.shape[1] > 2),
                "The points, coloured by their mean curvature. " + words.curvature(findings)[0],
                "Mean curvature at each point. Hollow grey points cannot be distinguished from noise.",
            )
        ]
    return pictures


def _drawn(
    plot: Callable[..., object],
    *data: Any,
    size: tuple[float, float] = _SMALL,
    solid: bool = False,
    **options: Any,
) -> str:
    from matplotlib.figure import Figure

    # Without pyplot: no window, no display and nothing to close.
    figure = Figure(figsize=size, layout="constrained")
    plot(*data, ax=figure.add_subplot(projection="3d" if solid else None), **options)
    file = BytesIO()
    with warnings.catch_warnings():
        # Characters that the font lacks are boxes in the picture; the page has them as text.
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        figure.savefig(file, format="png", dpi=_DPI)
    return "data:image/png;base64," + b64encode(file.getvalue()).decode("ascii")
