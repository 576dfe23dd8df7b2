"""Unsupervised choice of the number of neighbours and components."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from sklearn.base import clone  # type: ignore[import-untyped]
from sklearn.pipeline import Pipeline  # type: ignore[import-untyped]

from ..arguments import (
    Progress,
    RandomState,
    as_choice,
    as_count,
    as_generator,
    as_progress,
    shown,
)
from ..estimators.component_models import as_model, final_input, final_step
from ..estimators.shopca import SHOPCA
from ..estimators.summary import chosen_gap
from ..optional_pandas import as_pandas
from ..spectrum import eigengap
from .component_stability import as_fraction, as_table, stability
from .embedding_quality import continuity, trustworthiness

# Agreements that differ by less count as equal: a few refits cannot distinguish them.
TIE = 0.05

MOST_CANDIDATES = 100
_RULES = ("log2", "log")
_COLUMNS = {
    "n_neighbors": "k",
    "n_components": "m",
    "angle": "angle",
    "random_angle": "by chance",
    "agreement": "agreement",
    "eigengap": "eigengap",
    "trustworthiness": "trust",
    "continuity": "continuity",
    "verdict": "verdict",
}


@dataclass(frozen=True, eq=False, repr=False)
class Selection:
    """Result of `select`.

    Attributes
    ----------
    table : list of dict
        A row for each pair of candidates with the keys `n_neighbors` (as given) and `n_components`; `angle`
        (the median of the largest angle between refits and the fit to all rows, in degrees); `random_angle`
        (that of random subspaces); `agreement` (between disjoint refits: 0 for random subspaces, 1 for equal
        ones); `verdict`; `eigengap`; `trustworthiness` and `continuity`; `alpha`. None stands for what
        the estimator does not have or what was not requested.
    best : dict
        The recommended row of `table`.
    estimator_name : str
        Class of the estimator, or of the last step of the pipeline.
    """

    table: list[dict[str, Any]]
    best: dict[str, Any]
    estimator_name: str

    @property
    def n_neighbors(self) -> int | str | None:
        """The recommended number of neighbours; None if the estimator has none."""
        return self.best["n_neighbors"]  # type: ignore[no-any-return]

    @property
    def n_components(self) -> int:
        """The recommended number of components."""
        return self.best["n_components"]  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        return (
            f"Selection({self.estimator_name}, {len(self.table)} pairs, n_neighbors = {self.n_neighbors}, "
            f"n_components = {self.n_components})"
        )

    def to_pandas(self) -> Any:
        """Return the table for pandas.

        Returns
        -------
        pandas.DataFrame
            With NaN where `table` has None. Needs pandas.
        """
        return as_pandas().DataFrame(self.table)

    def summary(self) -> str:
        """Return the table as text, the recommended row marked.

        Returns
        -------
        str
            The lines.
        """
        used = [key for key in _COLUMNS if any(row[key] is not None for row in self.table)]
        cells = [[_COLUMNS[key] for key in used]]
        cells += [[_cell(key, row[key]) for key in used] for row in self.table]
        widths = [max(len(line[j]) for line in cells) for j in range(len(used))]
        marks = ["  ", *("* " if row is self.best else "  " for row in self.table)]
        lines = [
            mark + "  ".join(text.rjust(width) for text, width in zip(line, widths, strict=True))
            for mark, line in zip(marks, cells, strict=True)
        ]
        k = "" if self.n_neighbors is None else f"n_neighbors = {self.n_neighbors}, "
        title = f"{self.estimator_name}: recommended {k}n_components = {self.n_components}"
        return "\n".join([f"{title} ({self.best['verdict']})", *lines])


def select(
    X: Any,
    *,
    estimator: Any = None,
    n_neighbors: Sequence[int | str] | None = None,
    n_components: Sequence[int] | None = None,
    n_resamples: int = 10,
    fraction: float = 0.5,
    quality_neighbors: int | None = 10,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
    progress: Progress = None,
) -> Selection:
    """Compare numbers of neighbours and components by how stable the components are.

    The recommended pair is the one whose components agree best between disjoint subsamples of the rows,
    corrected for chance. Pairs within 0.05 of the best agreement count as equally stable; among them
    the mean of trustworthiness and continuity decides, or without these the number of components. The
    choice is unsupervised: a stable map need not separate classes well, but its plot can be trusted more.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The data, in any form that the estimator takes.
    estimator : estimator or Pipeline, default=None
        What `stability` takes, with a parameter `n_components`; ``SHOPCA()`` if None. Its other parameters
        are kept.
    n_neighbors : sequence of int, "log2" or "log", default=None
        Candidates for k. None takes round(log2 n_samples) times ½, 1, 2 and 4, as far as the number of rows
        allows. An estimator without that parameter has one row for each `n_components`.
    n_components : sequence of int, default=None
        Candidates for m, below the number of features; 1 to 5, as far as that allows, if None.
    n_resamples : int, default=10
        Refits for each pair.
    fraction : float, default=0.5
        Fraction of the rows in each of them, at most one half.
    quality_neighbors : int or None, default=10
        Number of neighbours of `trustworthiness` and `continuity`; None leaves them out.
    random_state : int, RandomState or None, default=0
        Seed of the subsamples, which are the same for all pairs.
    n_jobs : int or None, default=None
        Number of threads of each fit. The result does not depend on it.
    progress : bool or callable, optional
        True shows a progress bar; a callable is called with (done, total), in pairs.

    Returns
    -------
    Selection
        The table, and the recommended pair.

    See Also
    --------
    stability : The details for one pair.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from shopca_rs import LPP, select
    >>> X = load_iris().data
    >>> found = select(X, estimator=LPP(), n_neighbors=[7, 15], n_components=[1, 2])
    >>> found.n_components, len(found.table), found.best["verdict"]
    (1, 4, 'stable')
    """
    model = SHOPCA() if estimator is None else as_model(estimator, "estimator")
    prefix = _prefix(model)
    parameters = final_step(model).get_params(deep=False)
    if "n_components" not in parameters:
        raise TypeError(f"estimator must have a parameter n_components, got {shown(estimator)}.")
    table = as_table(X)
    if len(table.shape) != 2:
        raise ValueError(f"X must be 2-D with points as rows, got {len(table.shape)}-D.")
    n, d = table.shape
    share = _as_half(fraction)
    ks = _as_neighbors(n_neighbors, "n_neighbors" in parameters, n, share)
    ms = _candidates(n_components, "n_components", 1) if n_components is not None else _default_components(d)
    near = None if quality_neighbors is None else as_count(quality_neighbors, "quality_neighbors", 1)
    seed = int(as_generator(random_state).randint(2**31 - 1))
    rows = []
    with as_progress(progress, "selection", "pair") as report:
        for done, (k, m) in enumerate(product(ks, ms)):
            chosen = {f"{prefix}n_components": m}
            if k is not None:
                chosen[f"{prefix}n_neighbors"] = k
            candidate = clone(model).set_params(**chosen)
            found = stability(
                candidate,
                table,
                n_resamples=n_resamples,
                fraction=share,
                random_state=seed,
                n_jobs=n_jobs,
            )
            if found.verdict == "whole space":
                raise ValueError(
                    f"n_components must be below the number of features, {m}, got {m} among them: that many "
                    "components always span the whole space."
                )
            full = found.estimator
            rows.append(
                {
                    "n_neighbors": k,
                    "n_components": m,
                    "angle": found.median_angle,
                    "random_angle": found.random_angle,
                    "agreement": found.agreement,
                    "verdict": found.verdict,
                    "eigengap": _gap(final_step(full)),
                    **_quality(full, table, near, n_jobs),
                    "alpha": found.reference_alpha,
                }
            )
            if report is not None:
                report(done + 1, len(ks) * len(ms))
    return Selection(rows, _best(rows), type(final_step(model)).__name__)


def _prefix(model: Any) -> str:
    """Return the prefix of the last step's parameters."""
    prefix = ""
    while isinstance(model, Pipeline):
        name, model = model.steps[-1]
        prefix += f"{name}__"
    as_model(model, "estimator")
    return prefix


def _as_half(fraction: Any) -> float:
    share = as_fraction(fraction, False)
    if share > 0.5:
        raise ValueError(f"fraction must be at most 0.5, got {share:g}: disjoint subsamples are compared.")
    return share


def _as_neighbors(given: Any, wanted: bool, n: int, fraction: float) -> list[Any]:
    if not wanted:
        if given is not None:
            raise ValueError(
                f"n_neighbors must be None for an estimator without that parameter, got {shown(given)}."
            )
        return [None]
    if given is not None:
        return [*_candidates(given, "n_neighbors", 2, _RULES)]
    base, most = math.log2(max(n, 2)), int(n * fraction) - 1
    return sorted({max(min(round(base * times), most), 2) for times in (0.5, 1, 2, 4)})


def _default_components(d: int) -> list[int]:
    return list(range(1, max(min(5, d - 1), 1) + 1))


def _candidates(given: Any, name: str, low: int, words: tuple[str, ...] = ()) -> list[Any]:
    """Return distinct integers of at least `low`, or some of the words."""
    expected = f"a list of 1 to {MOST_CANDIDATES} integers"
    if not isinstance(given, list | tuple | range | np.ndarray) or getattr(given, "ndim", 1) != 1:
        raise TypeError(f"{name} must be {expected}, got {shown(given)}.")
    if not 1 <= len(given) <= MOST_CANDIDATES:
        raise ValueError(f"{name} must be {expected}, got {len(given)}.")
    values = [
        as_choice(str(value), name, words)
        if words and isinstance(value, str)
        else as_count(value, f"{name}[{place}]", low)
        for place, value in enumerate(given)
    ]
    return list(dict.fromkeys(values))


def _gap(step: Any) -> float | None:
    if hasattr(step, "eigengaps_"):
        return chosen_gap(step)
    if hasattr(step, "eigenvalues_"):
        return float(eigengap(step.eigenvalues_, len(step.components_), "mass"))
    return None


def _quality(full: Any, table: Any, near: int | None, n_jobs: int | None) -> dict[str, float | None]:
    if near is None:
        return {"trustworthiness": None, "continuity": None}
    points, embedded = final_input(full, table), full.transform(table)
    # Both measures are defined for fewer neighbours than half of the rows.
    near = max(min(near, (len(embedded) - 1) // 2), 1)
    return {
        "trustworthiness": trustworthiness(points, embedded, near, n_jobs=n_jobs),
        "continuity": continuity(points, embedded, near, n_jobs=n_jobs),
    }


def _best(rows: list[dict[str, Any]]) -> dict[str, Any]:
    top = max(row["agreement"] for row in rows)
    tied = [row for row in rows if row["agreement"] >= top - TIE]
    if rows[0]["trustworthiness"] is None:
        return max(tied, key=lambda row: (row["n_components"], row["agreement"]))
    return max(tied, key=lambda row: row["trustworthiness"] + row["continuity"])


def _cell(key: str, value: Any) -> str:
    if value is None:
        return "-"
    if "angle" in key:
        return f"{value:.1f}°"
    return f"{value:.3f}" if isinstance(value, float) else str(value)
