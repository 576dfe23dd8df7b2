"""One HTML file to explore a fit in a browser: a slider over the α of SHOPCA, or over the k of LPP.

The file holds its data and plotly's JavaScript; it needs no network, and its security policy blocks any.
plotly is imported when `explore` is called: ``pip install "shopca-rs[explore]"``.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import OneToOneFeatureMixin, clone  # type: ignore[import-untyped]
from sklearn.exceptions import NotFittedError  # type: ignore[import-untyped]
from sklearn.utils.validation import check_is_fitted  # type: ignore[import-untyped]

from ..arguments import as_array, as_count, as_path, as_text
from ..classes import as_colors
from ..estimators.component_models import earlier_steps, final_input, final_step
from ..estimators.component_models import feature_names as feature_names_of
from ..estimators.curved_pca import CurvedPCA
from ..estimators.linear_projection import LinearProjection
from ..estimators.lpp import LPP
from ..estimators.type_checks import as_projection
from ..estimators.validation import as_features, as_result
from .alpha_path import alpha_path
from .component_path import ComponentPath
from .html_pages import as_captions, plotly_source, shown_rows, write_page
from .neighbor_path import neighbor_path
from .path_data import color_data, curve_data, loading_data, packed_pictures, quality_data

Matrix = NDArray[np.float64]

# More points are drawn small and transparent, and without animation, which is slow for many points.
_MANY = 5000


def explore(
    estimator: Any,
    X: Any,
    y: ArrayLike | None = None,
    path: str | os.PathLike[str] = "shopca.html",
    *,
    names: ArrayLike | None = None,
    title: str | None = None,
    feature_names: ArrayLike | None = None,
    n_steps: int = 41,
    max_points: int = 2000,
) -> Path:
    """Write one HTML file with the embedding of X at every α of SHOPCA, or every k of LPP.

    A slider moves from α = 0 (PCA) to ∞ (eigenmaps), or from few neighbours to many. At the fitted value the
    picture is that of `transform`. Components at neighbouring values are matched in order and sign, so that
    the points move smoothly. Every picture is scaled to fit the same square. The axes name the features with
    the largest loadings, a tooltip shows their values at each point, and curves show the eigengap (for LPP
    the largest ratios), the angle to PCA and the quality of the picture.

    Parameters
    ----------
    estimator : SHOPCA, ShapeOperatorEigenmaps, LPP or a Pipeline that ends with one
        If it is not fitted, a copy is fitted to X.
    X : array-like of shape (n_samples, n_features)
        Points to show. For a fitted LPP, the rows that it was fitted to, without weights: every other k is a
        fit to them.
    y : array-like of shape (n_samples,), default=None
        Labels or numbers to colour them by: text and up to 20 distinct integers are classes. Points
        without a label are grey.
    path : str or path-like, default="shopca.html"
        The file. An existing one is replaced only when the new one is complete.
    names : array-like of shape (n_samples,), default=None
        Names of the points, shown with the row number in the tooltip.
    title : str, default=None
        Heading of the page.
    feature_names : array-like of shape (n_features,), default=None
        Names of the features that the estimator was given; those it was fitted with if None.
    n_steps : int, default=41
        Number of steps from α = 0.01 to α = 100, besides the fitted α, 0 and ∞. For LPP, from k = 3 to a
        quarter of the rows, at most 200 and at most 8 million neighbours of all rows together; steps that
        round to the same k are one.
    max_points : int, default=2000
        If there are more points, this many evenly spaced rows are shown. Above 5000 points, the page does not
        animate them.

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
    plotly_source()
    path = as_path(path)
    title = None if title is None else as_text(title, "title")
    steps, most = as_count(n_steps, "n_steps", 2), as_count(max_points, "max_points", 2)
    step = as_projection(final_step(estimator))
    try:
        check_is_fitted(step)
    except NotFittedError:
        estimator = clone(estimator).fit(X)
        step = final_step(estimator)
    inputs = final_input(estimator, X)
    scores = step._scores(inputs)
    n = len(scores)
    colors = None if y is None else as_colors(y, n)
    captions = None if names is None else as_captions(names, n)
    features = _feature_names(estimator, feature_names)
    rows = shown_rows(n, most)
    with np.errstate(over="ignore"):
        centred = scores - (step.mean_ if step._basis is None else 0.0)
    along = _path(step, scores, centred, steps)
    m = step.n_components_
    data: dict[str, Any] = {
        # With one component the other axis is the row number, so the axes need no common scale.
        "axes": ["row", "component 1"] if m == 1 else ["component 1", "component 2"],
        "anchor": None if m == 1 else "x",
        "glide": len(rows) <= _MANY,
        "rows": rows.tolist(),
        "captions": None if captions is None else [captions[row] for row in rows],
        **_marker(len(rows)),
        "pictures": packed_pictures(_pictures(centred[rows], along.directions)),
        "loadings": loading_data(
            [_loadings(step, columns) for columns in along.directions],
            features,
            _shown_values(estimator, X, inputs)[rows],
        ),
        "colors": color_data(colors, rows),
        "curves": curve_data(along),
        "quality": quality_data(along, as_features(step, inputs, reset=False), centred),
    }
    heading = title or f"{type(step).__name__}: {along.subject}"
    many = "" if len(rows) == n else f" {len(rows)} of {n} points are shown."
    grey = " Grey points have no number." if None in data["colors"].get("values", ()) else ""
    note = f"{along.note} Every picture is scaled to fit the same square.{many}{grey}"
    return write_page("path_page.html", path, title=heading, note=note, data=data)


def _path(step: LinearProjection, scores: Matrix, centred: Matrix, n_steps: int) -> ComponentPath:
    if isinstance(step, LPP):
        return neighbor_path(step, scores, centred, n_steps)
    assert isinstance(step, CurvedPCA)
    return alpha_path(step, n_steps)


def _pictures(centred: Matrix, directions: list[Matrix]) -> list[Matrix]:
    """Return the first two columns of every embedding, scaled to fit the square from -1 to 1."""
    pictures = []
    for columns in directions:
        with np.errstate(over="ignore", invalid="ignore"):
            Z = as_result(centred @ columns[:, :2], centred)
        reach = np.abs(Z).max()
        Z = Z / (reach if reach > 0 else 1.0)
        if Z.shape[1] == 1:
            Z = np.column_stack([np.linspace(-1, 1, len(Z)), Z])
        pictures.append(Z)
    return pictures


def _marker(n: int) -> dict[str, float]:
    """Return the size and the opacity of points: many hide each other."""
    if n > _MANY:
        return {"size": 3.0, "opacity": 0.5}
    return {"size": float(np.clip(2500 / n, 5, 9)), "opacity": 0.85}


def _loadings(step: LinearProjection, columns: Matrix) -> Matrix:
    """Return the loadings of the components shown, in the features before any PCA."""
    rows = columns[:, :2].T
    return rows if step._basis is None else rows @ step._basis


def _feature_names(model: Any, given: ArrayLike | None) -> list[str]:
    if given is None:
        return feature_names_of(model)
    d = final_step(model).n_features_in_
    listed = as_array(given, "feature_names", "a list of names")
    if listed.shape != (d,):
        raise ValueError(
            f"feature_names must have one entry for each of the {d} features, got shape {listed.shape}."
        )
    return [str(name) for name in listed]


def _shown_values(model: Any, X: Any, inputs: Any) -> Matrix:
    """Return the values of the features: before a pipeline's scalers, otherwise as its last step is given."""
    scaled = all(isinstance(step, OneToOneFeatureMixin) for step in earlier_steps(model))
    return np.asarray(X if scaled else inputs, dtype=np.float64)
