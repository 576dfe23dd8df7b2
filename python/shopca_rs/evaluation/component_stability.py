"""Stability: how much the components change when they are fitted to other samples of the rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone  # type: ignore[import-untyped]

from ..arguments import (
    Progress,
    RandomState,
    as_array,
    as_count,
    as_flag,
    as_generator,
    as_progress,
    as_threads,
    shown,
)
from ..estimators.component_models import (
    as_model,
    component_matrix,
    earlier_steps,
    feature_names,
    final_input,
    final_step,
)
from ..estimators.loading_table import Loadings, loadings
from ..estimators.sklearn_internals import rows_of
from .stability_result import Stability
from .subspaces import principal_angles, random_angle

Floats = NDArray[np.float64]

MOST_RESAMPLES = 10_000
_FEWEST_ROWS = 3


def stability(
    estimator: Any,
    X: Any,
    *,
    n_resamples: int = 20,
    fraction: float = 0.5,
    bootstrap: bool = False,
    sign_flip: bool = False,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
    progress: Progress = None,
) -> Stability:
    """Refit an estimator to random subsamples of the rows and compare the components.

    With halves, the default, a refit differs from the fit to all rows about as much as that fit differs from
    a fit to infinitely many rows: by the sampling error of n rows. The halves come in disjoint pairs. On pure
    noise, the components of such a pair agree no better than random subspaces.

    Parameters
    ----------
    estimator : estimator or Pipeline
        A transformer with `components_` after `fit`, such as SHOPCA, LPP or scikit-learn's PCA, or a pipeline
        that ends with one. It is cloned and stays as it is. The steps of a pipeline are all refitted; the
        angles are between the components of the last one, in the coordinates of the features it is given.
        So the steps before it must keep the same features: scaling is fine, another PCA raises an error.
    X : array-like of shape (n_samples, n_features)
        The data, in any form that the estimator takes.
    n_resamples : int, default=20
        Number of refits, from 2 to 10000.
    fraction : float, default=0.5
        Fraction of the rows in each refit, above 0 and below 1; 1 is allowed with `bootstrap`.
    bootstrap : bool, default=False
        Draw with replacement. The duplicated rows affect the nearest neighbours: for SHOPCA and LPP, prefer
        subsamples without replacement.
    sign_flip : bool, default=False
        Also refit to all rows with the sign of one feature changed, for each feature: d more fits. PCA and
        LPP are invariant to it; the shape operator is not.
    random_state : int, RandomState or None, default=0
        Seed of the subsamples.
    n_jobs : int or None, default=None
        Number of threads of each fit, for estimators and steps that have a parameter of that name; None
        leaves it unchanged. The fits run one after the other, so the result does not depend on it.
    progress : bool or callable, optional
        True shows a progress bar; a callable is called with (done, total), in fits.

    Returns
    -------
    Stability
        Angles, loadings, α; `verdict` and `summary` describe them in words.

    See Also
    --------
    select : The same for several numbers of neighbours and components.
    loadings : The components of one fit, with names.

    Notes
    -----
    An `n_components` that is not an integer is resolved once, on all rows. Only the signs of
    the components are aligned. If they were rotated onto those of the fit to all rows, the spread of the
    loadings would no longer describe the loadings of a single fit.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from shopca_rs import LPP, stability
    >>> result = stability(LPP(2), load_iris().data)
    >>> result.angles.shape, result.loadings.shape
    ((20, 2), (20, 2, 4))
    >>> result.verdict
    'partly stable'
    """
    count = _as_resamples(n_resamples)
    share, replace = as_fraction(fraction, as_flag(bootstrap, "bootstrap")), bool(bootstrap)
    flips, generator = as_flag(sign_flip, "sign_flip"), as_generator(random_state)
    model = _prepared(as_model(estimator, "estimator"), n_jobs)
    table = as_table(X)
    with as_progress(progress, "stability", "fit") as report:
        full = model.fit(table)
        component_matrix(full, "estimator")
        reference = loadings(full)
        m, d = reference.values.shape
        tick = _counter(report, 1 + count + (d if flips else 0))
        _fix_components(full, m)
        n = int(table.shape[0])
        drawn = _as_drawn(share, n)
        refits = []
        for rows in _samples(generator, count, n, drawn, replace):
            refits.append(_refit(full, table, rows, reference))
            tick()
        flipped = _flipped(full, table, reference.values, tick) if flips else None
    components = np.stack([matrix for matrix, _ in refits])
    alphas = [alpha for _, alpha in refits if alpha is not None]
    pairs = not replace and 2 * drawn <= n
    return Stability(
        angles=np.stack([principal_angles(matrix, reference.values) for matrix in components]),
        disjoint_angles=(
            np.stack([principal_angles(*components[i : i + 2]) for i in range(0, count - 1, 2)])
            if pairs
            else None
        ),
        loadings=_aligned(components, reference.values),
        reference=reference,
        alpha=np.array(alphas) if alphas else None,
        reference_alpha=_alpha(full),
        sign_flip=flipped,
        random_angle=random_angle(m, d),
        n_samples=n,
        n_drawn=drawn,
        bootstrap=replace,
        estimator=full,
    )


def _as_resamples(n_resamples: Any) -> int:
    count = as_count(n_resamples, "n_resamples", 2)
    if count > MOST_RESAMPLES:
        raise ValueError(f"n_resamples must be at most {MOST_RESAMPLES}, got {count}.")
    return count


def as_table(X: Any) -> Any:
    """Return the data as given, or as an array if they have no shape."""
    if isinstance(getattr(X, "shape", None), tuple):
        return X
    return as_array(X, "X", "a table with rows of one length")


def as_fraction(fraction: Any, replace: bool) -> float:
    """Return a fraction of the rows: above 0 and below 1, or 1 with replacement."""
    if isinstance(fraction, bool | np.bool_) or not isinstance(fraction, Real):
        raise TypeError(f"fraction must be a number above 0 and below 1, got {shown(fraction)}.")
    if not 0 < fraction <= 1:  # type: ignore[operator]
        raise ValueError(f"fraction must be above 0 and below 1, got {shown(fraction)}.")
    if fraction == 1 and not replace:
        raise ValueError("fraction must be below 1, got 1: every refit would have all rows. Use 0.5.")
    return float(fraction)


def _as_drawn(fraction: float, n: int) -> int:
    drawn = int(fraction * n)  # rounded down: two halves of an odd number of rows have none in common
    if drawn < _FEWEST_ROWS:
        raise ValueError(
            f"fraction must give each refit at least {_FEWEST_ROWS} rows, got {fraction:g} of {n}. Raise it."
        )
    return drawn


def _prepared(estimator: Any, n_jobs: Any) -> Any:
    """Return an unfitted clone with that number of threads in all its steps."""
    as_threads(n_jobs)
    for step in earlier_steps(estimator):
        if _makes_axes(step):
            raise ValueError(
                f"estimator must not have a {type(step).__name__} before its last step: its axes change with "
                "the rows, so components after it cannot be compared. Apply it to X first, or use "
                "max_features of SHOPCA and LPP."
            )
    model = clone(estimator)
    if n_jobs is not None:
        names = model.get_params(deep=True)
        model.set_params(**{name: n_jobs for name in names if name.split("__")[-1] == "n_jobs"})
    return model


def _makes_axes(step: Any) -> bool:
    """Tell whether a step of a pipeline replaces the features by components."""
    return hasattr(step, "get_params") and "n_components" in step.get_params(deep=False)


def _fix_components(full: Any, m: int) -> None:
    """Make the refits have as many components as the fit to all rows."""
    step = final_step(full)
    wanted = step.get_params(deep=False).get("n_components", m)
    if not isinstance(wanted, Integral):
        step.set_params(n_components=m)


def _samples(generator: Any, count: int, n: int, drawn: int, replace: bool) -> Iterator[NDArray[np.intp]]:
    """Yield rows in ascending order; subsamples of at most half of the rows come in disjoint pairs."""
    left = np.empty(0, dtype=np.intp)
    for i in range(count):
        if replace:
            yield np.sort(generator.randint(0, n, drawn))
            continue
        if i % 2 == 0 or len(left) < drawn:
            left = generator.permutation(n)
        yield np.sort(left[:drawn])
        left = left[drawn:]


def _refit(full: Any, table: Any, rows: NDArray[np.intp], reference: Loadings) -> tuple[Floats, float | None]:
    """Return the components of a clone fitted to some rows, and its α if it has one."""
    model = clone(full)
    try:
        model.fit(rows_of(table, rows))
        matrix = component_matrix(model, "estimator")
    except ValueError as error:
        reason = " ".join(str(error).split()).rstrip(".")
        raise ValueError(
            f"A refit to {len(rows)} of {table.shape[0]} rows failed: {reason[:300]}. "
            "A larger fraction may help."
        ) from error
    if matrix.shape[1] == reference.values.shape[1] and feature_names(model) == reference.features:
        if len(matrix) == len(reference.values):
            return matrix, _alpha(model)
        raise ValueError(
            f"estimator must have the same number of components in every refit, got {len(matrix)} and "
            f"{len(reference.values)}. Give n_components as an integer."
        )
    raise ValueError(
        "estimator must give its last step the same features in every refit, got different ones. "
        "Select or encode the features of X first."
    )


def _flipped(full: Any, table: Any, reference: Floats, tick: Callable[[], None]) -> Floats:
    """Return the largest angle after each sign flip of what the last step is given."""
    given = final_input(full, table)
    points = np.array(given.toarray() if hasattr(given, "toarray") else given)
    if points.dtype.kind != "f":
        points = points.astype(np.float64)
    angles = np.empty(reference.shape[1])
    for j in range(len(angles)):
        points[:, j] *= -1
        rows = component_matrix(clone(final_step(full)).fit(points), "estimator").copy()
        points[:, j] *= -1
        rows[:, j] *= -1
        angles[j] = principal_angles(rows, reference)[-1]
        tick()
    return angles


def _aligned(components: Floats, reference: Floats) -> Floats:
    along = np.einsum("rmd,md->rm", components, reference)
    aligned: Floats = components * np.where(along < 0, -1.0, 1.0)[:, :, None]
    return aligned


def _alpha(model: Any) -> float | None:
    alpha = getattr(final_step(model), "alpha_", None)
    return float(alpha) if isinstance(alpha, Real) else None


def _counter(report: Callable[[int, int], object] | None, total: int) -> Callable[[], None]:
    """Return the function to call after each fit; the first fit is already counted."""
    done = 0

    def tick() -> None:
        nonlocal done
        done += 1
        if report is not None:
            report(done, total)

    tick()
    return tick
