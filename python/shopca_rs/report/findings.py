"""The contents of a report: fits, quality, stability and curvature of a table, and why any are missing."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone  # type: ignore[import-untyped]
from sklearn.decomposition import PCA  # type: ignore[import-untyped]

from ..classes import Classes
from ..estimators.component_models import component_names
from ..estimators.loading_table import Loadings
from ..estimators.lpp import LPP
from ..estimators.shopca import SHOPCA
from ..evaluation.component_stability import stability
from ..evaluation.embedding_quality import Quality, quality
from ..evaluation.stability_result import Stability
from ..evaluation.subspaces import principal_angles
from ..geometry.dimension import intrinsic_dimension
from ..geometry.fit_plan import DIMENSION_NEIGHBORS
from ..geometry.forms import Curvatures
from ..geometry.quantities import doubtful
from ..geometry.second_form import curvatures
from ..plotting.drawing import spaced

Floats = NDArray[np.float64]
Result = TypeVar("Result")

# If the standard error exceeds the curvature at more than this fraction of the points, noise explains much of
# it (for pure noise it is about half). At least this fraction of the points must have a curvature at all.
MOST_DOUBTFUL = 0.1
FEWEST_KNOWN = 0.5
_QUALITY_NEIGHBORS = 10
# Curvature is computed for a sample with about this many numbers, but at least this many rows: its cost grows
# with the square of the rows and with the columns.
_CURVATURE_NUMBERS, _FEWEST_ROWS = 40_000, 500
# From this dimension on, a fit has dozens of terms, and its neighbourhood must not exceed this fraction of
# the extent of the cloud.
_MANY_DIMENSIONS, _FARTHEST = 8, 2 / 3


@dataclass(frozen=True)
class Subject:
    """The table a report is about.

    Attributes
    ----------
    X : ndarray of shape (n, d)
        The numbers that are embedded.
    names : list of str
        The columns.
    colors : Classes, ndarray of shape (n,) or None
        What colours the points: classes, or numbers.
    label : str or None
        What the colours are called.
    preparation : str
        How the columns were preprocessed, in a sentence.
    notes : list of str
        Other changes made before, in sentences.
    """

    X: Floats
    names: list[str]
    colors: Classes | Floats | None
    label: str | None
    preparation: str
    notes: list[str]


@dataclass(frozen=True)
class Choices:
    """How the findings are computed; the names are those of `write_report`."""

    n_components: int | float
    n_neighbors: int | str
    sample: int
    n_jobs: int | None
    progress: bool


@dataclass(frozen=True)
class Findings:
    """What was found in a table.

    Attributes
    ----------
    models : dict of str to estimator
        Fitted to all rows, by the name of the method; SHOPCA and PCA always, LPP where it can be fitted.
    full_pca : PCA
        With all its components.
    quality : dict of str to Quality
        By method; empty where it could not be computed.
    stability : dict of str to Stability
        By method; without those that could not be refitted.
    curvature : Curvatures or None
        Of the rows `bent_rows`.
    sampled : ndarray of int or None
        Rows used for stability, as many as for quality; None for all.
    bent_rows : ndarray of int or None
        Rows used for curvature: some of `sampled` if there are many columns. None for all.
    absent : dict of str to str
        Why a method or a part is missing, by its name.
    remarks : list of str
        Warnings that came up.
    """

    models: dict[str, Any]
    full_pca: Any
    quality: dict[str, Quality] = field(default_factory=dict)
    stability: dict[str, Stability] = field(default_factory=dict)
    curvature: Curvatures | None = None
    sampled: NDArray[np.intp] | None = None
    bent_rows: NDArray[np.intp] | None = None
    absent: dict[str, str] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)

    @property
    def m(self) -> int:
        """The number of components."""
        return len(self.models["PCA"].components_)

    def loadings(self, method: str, names: list[str]) -> Loadings:
        """Return the loadings of a method with the names of the columns."""
        model = self.models[method]
        return Loadings(np.asarray(model.components_, dtype=np.float64), component_names(model), names)

    def angles_to_pca(self, method: str) -> Floats:
        """Return the principal angles between the components of a method and those of PCA, in degrees."""
        return principal_angles(self.models[method].components_, self.models["PCA"].components_)

    @property
    def doubtful_share(self) -> float:
        """The fraction of valid points whose standard error exceeds the curvature; 1 if there are none."""
        if self.curvature is None or not self.curvature.valid.any():
            return 1.0
        return float(doubtful(self.curvature).sum() / self.curvature.valid.sum())

    @property
    def known_share(self) -> float:
        """The fraction of the points whose neighbours determine a fit."""
        return 0.0 if self.curvature is None else float(self.curvature.valid.mean())

    @property
    def carries_curvature(self) -> bool:
        """Whether curvature is known at most points, and can be distinguished from noise at most of these."""
        return self.known_share >= FEWEST_KNOWN and self.doubtful_share <= MOST_DOUBTFUL


def find(subject: Subject, choices: Choices) -> Findings:
    """Fit the methods to a table and evaluate them.

    Parameters
    ----------
    subject : Subject
        The table.
    choices : Choices
        The settings.

    Returns
    -------
    findings : Findings
        The results. SHOPCA and PCA must be possible; the reasons why other parts are missing are included.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = _found(subject.X, choices)
    told = (w for w in caught if issubclass(w.category, UserWarning | RuntimeWarning))
    return replace(found, remarks=list(dict.fromkeys(str(warning.message) for warning in told)))


def _found(X: Floats, choices: Choices) -> Findings:
    absent: dict[str, str] = {}
    models, unfitted = _fitted(X, choices, absent)
    n = len(X)
    sampled = None
    if n > choices.sample:
        sampled = np.sort(np.random.RandomState(0).permutation(n)[: choices.sample])
    rows = X if sampled is None else X[sampled]
    settings: dict[str, Any] = {"n_jobs": choices.n_jobs, "progress": choices.progress}
    found: dict[str, Quality] | None = _attempted(
        absent,
        "quality",
        lambda: {
            name: quality(
                X,
                model.transform(X),
                max(1, min(_QUALITY_NEIGHBORS, (n - 1) // 2)),
                sample=None if sampled is None else len(sampled),
                **settings,
            )
            for name, model in models.items()
        },
    )
    stable = {}
    for name, model in unfitted.items():
        if name in models:
            result = _attempted(absent, f"stability of {name}", partial(stability, model, rows, **settings))
            if result is not None:
                stable[name] = result
    bent_rows = _bent_rows(X, sampled)
    bent = _attempted(
        absent, "curvature", partial(_bent, X if bent_rows is None else X[bent_rows], **settings)
    )
    # Without n_components, PCA keeps all components.
    full_pca = PCA(svd_solver="full").fit(X)
    return Findings(models, full_pca, found or {}, stable, bent, sampled, bent_rows, absent)


def _fitted(X: Floats, choices: Choices, absent: dict[str, str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the methods fitted to all rows, and unfitted ones with the same number of components."""
    options: dict[str, Any] = {"n_neighbors": choices.n_neighbors, "n_jobs": choices.n_jobs}
    first = SHOPCA(choices.n_components, **options, verbose=choices.progress).fit(X)
    m = int(first.n_components_)
    unfitted = {
        "SHOPCA": SHOPCA(m, **options),
        "LPP": LPP(m, **options),
        "PCA": PCA(m, svd_solver="full"),
    }
    models = {"SHOPCA": first}
    for name in ("LPP", "PCA"):
        model = _attempted(absent, name, partial(clone(unfitted[name]).fit, X))
        if model is not None:
            models[name] = model
    if "PCA" not in models:
        raise ValueError(
            f"X must be a table that PCA can be fitted to, but it failed: {absent['PCA'].rstrip('.')}. "
            "Rescale the columns, for example divide them by their standard deviations."
        )
    return models, unfitted


def _bent_rows(X: Floats, sampled: NDArray[np.intp] | None) -> NDArray[np.intp] | None:
    """Return the rows whose curvature is affordable, or None for all."""
    rows = np.arange(len(X)) if sampled is None else sampled
    most = max(_FEWEST_ROWS, _CURVATURE_NUMBERS // X.shape[1])
    if len(rows) <= most:
        return sampled
    return rows[np.sort(np.random.RandomState(0).permutation(len(rows))[:most])]


def _bent(X: Floats, **settings: Any) -> Curvatures:
    """Return the curvatures of a table, unless its neighbourhoods are as large as the table."""
    n, d = X.shape
    if d > _MANY_DIMENSIONS and n > DIMENSION_NEIGHBORS:
        m = min(intrinsic_dimension(X, n_neighbors=DIMENSION_NEIGHBORS).dimension, d - 1)
        # Twice the terms of a quadratic fit. The radius of k of n points grows as the m-th root of k / n.
        k = (m + 1) * (m + 2)
        reach = (k / n) ** (1 / m)
        if m >= _MANY_DIMENSIONS and reach > _FARTHEST:
            needed = float(f"{k / _FARTHEST**m:.1g}")
            raise ValueError(
                f"On a surface of dimension m = {m} (estimated), a fit needs a neighbourhood of {k} rows, "
                f"which covers {min(reach, 1):.0%} of the extent of the {spaced(n)} rows; about "
                f"{spaced(int(needed))} rows would be needed."
            )
    with warnings.catch_warnings():
        # The section on curvature reports this without the names of attributes.
        warnings.filterwarnings("ignore", ".*do not determine a fit")
        return curvatures(X, **settings)


def _attempted(absent: dict[str, str], part: str, work: Callable[[], Result]) -> Result | None:
    """Return the result of the work, or None after noting why it failed."""
    try:
        return work()
    except ValueError as error:
        absent[part] = " ".join(str(error).split())
        return None
