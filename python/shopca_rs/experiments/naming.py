"""How methods, measures and numbers are written in the report."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from .protocols import PROTOCOLS
from .scores import ACCURACY, AVERAGE, AVERAGE_OF_ALL, CONTINUITY, TRUSTWORTHINESS

# Name, function and content of a figure → the Markdown that shows it.
Draw = Callable[[str, Callable[[Any, Path], object], Any], str]

TITLES = {method.name: method.title for protocol in PROTOCOLS.values() for method in protocol.methods}
RIVAL_TITLES = {"pca": "PCA", "isomap": "Isomap", "umap": "UMAP"}
INDICES = {"ari": "ARI", "fm": "FM", "v_measure": "V"}

_TITLES = {
    ACCURACY: "7-NN accuracy",
    AVERAGE: "AVG4",
    AVERAGE_OF_ALL: "AVG4 of all rows",
    TRUSTWORTHINESS: "trustworthiness",
    CONTINUITY: "continuity",
}
_CLUSTERINGS = {"ward": "Ward", "kmeans": "k-means", "complete": "complete linkage"}


def short_title(method: str) -> str:
    """Return the title of a variant of SHOPCA without the name of the method.

    Parameters
    ----------
    method : str
        Its name.

    Returns
    -------
    str
        What follows the comma.
    """
    return TITLES[method].split(", ")[1]


def measure_title(name: str) -> str:
    """Return a measure as people write it.

    Parameters
    ----------
    name : str
        "ward_ari", "knn_accuracy" and so on.

    Returns
    -------
    str
        "Ward ARI", "7-NN accuracy".

    Examples
    --------
    >>> measure_title("kmeans_v_measure")
    'k-means V'
    """
    if name in _TITLES:
        return _TITLES[name]
    clustering, _, index = name.partition("_")
    return f"{_CLUSTERINGS[clustering]} {INDICES[index]}"


def p_text(p: float) -> str:
    """Return a p-value with two digits, with the letter.

    Parameters
    ----------
    p : float
        From 0 to 1.

    Returns
    -------
    str
        "p < 0.0001" where it is smaller.

    Examples
    --------
    >>> p_text(0.0234)
    'p = 0.023'
    """
    return "p < 0.0001" if p < 1e-4 else f"p = {p:.2g}"
