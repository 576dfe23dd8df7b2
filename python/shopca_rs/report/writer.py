"""`write_report`: a table → one page about it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from numpy.typing import ArrayLike

from ..arguments import as_count, as_flag, as_path, as_points, as_text, as_threads, shown
from ..atomic_files import as_target, replacing
from ..classes import as_colors
from ..plotting.drawing import as_pyplot
from ..plotting.views import as_feature_names
from .findings import Choices, Subject, find
from .page import as_page
from .pictures import draw_all

_AS_GIVEN = "The columns are used as given."


def write_report(
    X: Any,
    y: ArrayLike | None = None,
    path: str | os.PathLike[str] = "report.html",
    *,
    feature_names: ArrayLike | None = None,
    label: str | None = None,
    title: str | None = None,
    preparation: str = _AS_GIVEN,
    notes: Sequence[str] = (),
    n_components: int | float = 2,
    n_neighbors: int | Literal["log2", "log"] = "log2",
    sample: int = 2000,
    n_jobs: int | None = None,
    progress: bool = False,
) -> Path:
    """Write a page about a table: SHOPCA, LPP and PCA side by side, and how far they can be trusted.

    The page has the embeddings, loadings, eigenvalues, quality, stability and curvature, in words and
    pictures. It is one file without scripts that needs no network.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The table. It is not standardised: do that first if the columns have different units.
    y : array-like of shape (n_samples,), default=None
        Labels or numbers that colour the points; not used otherwise. Missing ones are grey.
    path : str or path-like, default="report.html"
        The file to write.
    feature_names : array-like of str, default=None
        Names of the columns; those of a data frame, or x0, x1, … if None.
    label : str, default=None
        Name of `y`; its attribute `name` if it is a Series.
    title : str, default=None
        Title of the page.
    preparation : str
        How the columns were preprocessed, in a sentence for the page.
    notes : sequence of str, default=()
        Other changes made before, in sentences for the page.
    n_components : int or float, default=2
        Number of components, or a fraction of the variance, as in `SHOPCA`.
    n_neighbors : int, "log2" or "log", default="log2"
        Number of neighbours of SHOPCA and LPP.
    sample : int, default=2000
        With more rows than this, quality is estimated at this many random rows, and stability and curvature
        use only this many rows; at least 10. Curvature uses fewer rows if there are more than about twenty
        columns. The page says so.
    n_jobs : int or None, default=None
        Number of threads; the result does not depend on it.
    progress : bool, default=False
        Show a progress bar for each stage.

    Returns
    -------
    path : Path
        The page.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_iris
    >>> from shopca_rs import write_report
    >>> iris = load_iris(as_frame=True)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = write_report(iris.data, iris.target, folder + "/iris.html", title="Iris")
    ...     "<h1>Iris</h1>" in page.read_text("utf-8")
    True
    """
    table = as_points(X)
    d = table.shape[1]
    names = as_feature_names(X, feature_names, d) or [f"x{j}" for j in range(d)]
    colors = None if y is None else as_colors(y, len(table))
    given = getattr(y, "name", None) if label is None else as_text(label, "label")
    subject = Subject(
        table,
        names,
        colors,
        given if isinstance(given, str) else None,
        as_text(preparation, "preparation"),
        _as_notes(notes),
    )
    heading = "What SHOPCA, LPP and PCA find" if title is None else as_text(title, "title")
    as_threads(n_jobs)
    choices = Choices(
        n_components, n_neighbors, as_count(sample, "sample", 10), n_jobs, as_flag(progress, "progress")
    )
    target = as_path(path)
    as_target(target)
    as_pyplot()
    findings = find(subject, choices)
    page = as_page(heading, subject, findings, draw_all(subject, findings, y))
    with replacing(target) as unfinished:
        unfinished.write_text(page, encoding="utf-8")
    return target


def _as_notes(notes: Any) -> list[str]:
    if isinstance(notes, str) or not isinstance(notes, Sequence):
        raise TypeError(f"notes must be a list of sentences, got {shown(notes)}.")
    return [as_text(note, "notes") for note in notes]
