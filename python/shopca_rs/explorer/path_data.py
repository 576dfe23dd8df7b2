"""Data for the page of `explore`: points, colours, loadings and curves as JSON."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arguments import as_sample
from ..classes import MISSING, MISSING_COLOR, Classes, class_style, short_name
from ..evaluation.embedding_quality import continuity, trustworthiness
from .component_path import ComponentPath

Matrix = NDArray[np.float64]

# Features that an axis names, and features whose values the page holds.
TOP_FEATURES = 3
MOST_FEATURES = 24
# Pictures are scaled to the square from -1 to 1: less than a pixel.
_PRECISION = 2e-5

# Quality is computed at about this many steps, on a sample of rows, among at most this many rows, and for
# this many neighbours.
_QUALITY_STEPS = 9
_QUALITY_SAMPLE = 1000
_QUALITY_ROWS = 20_000
_QUALITY_NEIGHBORS = 10


def packed(numbers: NDArray[Any]) -> str:
    """Return numbers as base64 of float32, the last axis fastest."""
    with np.errstate(over="ignore"):
        return base64.b64encode(np.ascontiguousarray(numbers, dtype="<f4").tobytes()).decode("ascii")


def packed_pictures(pictures: list[Matrix]) -> dict[str, Any]:
    """Return pictures of shape (n, 2) as low-rank products: one factor for the points, one for each picture.

    All pictures are linear in the data, so together their rank is at most that of the data.
    """
    together = np.hstack(pictures)
    left, sizes, right = np.linalg.svd(together, full_matrices=False)
    rank = max(int((sizes > _PRECISION).sum()), 1)
    weights = right[:rank].reshape(rank, len(pictures), 2).transpose(1, 2, 0)
    return {
        "rank": rank,
        "scores": packed(left[:, :rank] * sizes[:rank]),
        "weights": [[[float(f"{w:.7g}") for w in axis] for axis in picture] for picture in weights],
    }


def loading_data(loadings: list[Matrix], names: list[str], values: Matrix) -> dict[str, Any]:
    """Return the top features of each axis at every step, and the values of those that matter most.

    Parameters
    ----------
    loadings : list of ndarray of shape (2, d) or (1, d)
        For each step the loadings of the components shown.
    names : list of str
        Of the features.
    values : ndarray of shape (n, d)
        Of the rows shown.
    """
    tops = [[_top(row) for row in rows] for rows in loadings]
    weight = np.zeros(len(names))
    for rows, top in zip(loadings, tops, strict=True):
        for row, chosen in zip(rows, top, strict=True):
            weight[chosen] += np.abs(row[chosen])
    named = np.flatnonzero(weight)
    kept = named[np.argsort(-weight[named], kind="stable")][:MOST_FEATURES]
    place = {int(feature): j for j, feature in enumerate(named)}
    return {
        "features": [names[feature] for feature in named],
        "tops": [
            [
                [[place[int(feature)], round(float(row[feature]), 3)] for feature in chosen]
                for row, chosen in zip(rows, top, strict=True)
            ]
            for rows, top in zip(loadings, tops, strict=True)
        ],
        "values": {place[int(feature)]: packed(values[:, feature]) for feature in kept},
    }


def _top(row: Matrix) -> NDArray[np.intp]:
    order = np.argsort(-np.abs(row), kind="stable")[:TOP_FEATURES]
    chosen: NDArray[np.intp] = order[row[order] != 0]
    return chosen


def color_data(colors: Classes | Matrix | None, rows: NDArray[np.intp]) -> dict[str, Any]:
    """Return what colours the rows shown: classes with their styles, numbers, or nothing."""
    if colors is None:
        return {"kind": "none", "style": class_style(0)._asdict()}
    if not isinstance(colors, Classes):
        numbers = [float(f"{number:.6g}") if np.isfinite(number) else None for number in colors[rows]]
        return {"kind": "numbers", "values": numbers, "missing": MISSING_COLOR}
    codes = colors.codes[rows]
    shown = [int(code) for code in np.unique(codes)]
    order = [code for code in shown if code >= 0] + [code for code in shown if code < 0]
    place = {code: j for j, code in enumerate(order)}
    return {
        "kind": "classes",
        "codes": [place[int(code)] for code in codes],
        "classes": [
            {
                "name": MISSING if code < 0 else colors.names[code],
                "short": MISSING if code < 0 else short_name(colors.names[code]),
                "missing": code < 0,
                "count": int((codes == code).sum()),
                "color": class_style(code).color,
                "symbol": class_style(code).symbol,
            }
            for code in order
        ],
    }


def curve_data(path: ComponentPath) -> dict[str, Any]:
    """Return the parameter with its axis, and the eigenvalues and the angle to PCA along it."""
    return {
        **path.axis._asdict(),
        "ends": [end._asdict() for end in path.axis.ends],
        "fitted": path.fitted,
        "spectrum": path.spectrum,
        "measure": path.measure,
        "lines": [line._asdict() for line in path.lines],
        "angles": [round(float(angle), 3) for angle in path.angles],
    }


def quality_data(path: ComponentPath, X: Matrix, scores: Matrix) -> dict[str, Any] | None:
    """Return trustworthiness and continuity of the picture at some steps, None for too few rows.

    Parameters
    ----------
    path : ComponentPath
        The components at every step.
    X : ndarray of shape (n, d)
        The data.
    scores : ndarray of shape (n, r)
        Its rows, centred, in the space of the components.
    """
    among = as_sample(min(_QUALITY_ROWS, len(X)), 0, len(X)) if len(X) > 2 else None
    if among is not None:
        X, scores = X[among], scores[among]
    n = len(X)
    k = min(_QUALITY_NEIGHBORS, (n - 1) // 2)
    if k < 1:
        return None
    X = X / (np.abs(X).max() or 1.0)
    scores = scores / (np.abs(scores).max() or 1.0)
    count = len(path.directions)
    steps = np.unique([*np.linspace(0, count - 1, _QUALITY_STEPS).round(), path.fitted]).astype(int).tolist()
    sample = _QUALITY_SAMPLE if n > _QUALITY_SAMPLE else None
    pictures = [scores @ path.directions[step][:, :2] for step in steps]
    found = {
        measure.__name__: [round(measure(X, Z, k, sample=sample), 4) for Z in pictures]
        for measure in (trustworthiness, continuity)
    }
    return {"steps": steps, "n_neighbors": k, **found}
