"""The components of LPP for every number of neighbours, from few to many."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..blas_threads import one_blas_thread
from ..neighbors import k_neighbors
from ..spectrum import leading_directions
from .component_path import Axis, ComponentPath, End, Line, largest_angle, matched

if TYPE_CHECKING:
    from ..estimators.lpp import LPP

Matrix = NDArray[np.float64]

# k ends at a quarter of the rows, at this many neighbours of a row and at this many of all rows together.
_FEWEST = 3
_MOST = 200
_MOST_TOGETHER = 8_000_000
# Eigenvalues that are shown.
_RATIOS = 3


def neighbor_path(estimator: LPP, points: Matrix, deviations: Matrix, n_steps: int) -> ComponentPath:
    """Return the components at the fitted k and up to n_steps others.

    At the fitted k they are those of the estimator, at others those of a fit to the same rows.

    Parameters
    ----------
    estimator : LPP
        Fitted.
    points, deviations : ndarray of shape (n, d)
        Its training data in the space where the neighbours were found, and the same about their mean.
    n_steps : int
        How many k.
    """
    _check_training_data(estimator, deviations)
    counts = _counts(estimator.n_neighbors_, len(points), n_steps)
    neighbors, _ = k_neighbors(points, counts[-1], algorithm=estimator.algorithm, n_jobs=estimator.n_jobs)
    # Dozens of small products and spectra, for which more BLAS threads cost more than they gain.
    with one_blas_thread():
        fits = dict(zip(counts, estimator._refits(deviations, neighbors, counts), strict=True))
    fits[estimator.n_neighbors_] = estimator
    found = {k: fit for k, fit in fits.items() if fit is not None}
    counts = list(found)
    fitted = counts.index(estimator.n_neighbors_)
    basis, Sigma = estimator._basis, estimator.covariance_
    directions = [
        (fit.components_ if basis is None else fit.components_ @ basis.T).T for fit in found.values()
    ]
    ratios = min(_RATIOS, len(Sigma))
    principal = leading_directions(Sigma, estimator.n_components_).vectors
    return ComponentPath(
        subject=f"from {counts[0]} to {counts[-1]} neighbours",
        note=f"Every k is a fit to {len(points)} rows.",
        axis=_axis(counts),
        fitted=fitted,
        directions=matched(directions, fitted, Sigma / (np.abs(Sigma).max() or 1.0)),
        angles=np.array([largest_angle(columns, principal) for columns in directions]),
        spectrum=f"{'Ratio' if ratios == 1 else f'{ratios} largest ratios'} of global to local variance",
        measure="ratios",
        lines=[
            Line(f"ratio {place + 1}", [_ratio(fit, place) for fit in found.values()])
            for place in range(ratios)
        ],
    )


def _check_training_data(estimator: LPP, deviations: Matrix) -> None:
    """Refuse rows that the estimator was not fitted to."""
    n = len(deviations)
    size = np.abs(deviations).max() or 1.0
    scaled = deviations / size
    same = n == estimator.n_samples_
    if same:
        Sigma = scaled.T @ scaled / (n - 1)
        same = np.allclose(scaled.mean(axis=0), 0, atol=1e-9) and np.allclose(
            Sigma, estimator.covariance_ / size / size, rtol=0, atol=1e-9 * np.abs(Sigma).max()
        )
    if not same:
        raise ValueError(
            "X must be the rows that the LPP was fitted to, without weights: other k are fitted to them. "
            "Give the training data, or an LPP that is not fitted. max_points limits the points shown."
        )


def _counts(fitted: int, n: int, n_steps: int) -> list[int]:
    """Return the k, ascending: geometric steps, and the fitted one."""
    least = min(_FEWEST, fitted)
    most = min(n // 4, _MOST, _MOST_TOGETHER // n)
    steps = np.geomspace(least, max(most, fitted, min(_FEWEST, n - 1)), n_steps).round()
    return [int(k) for k in np.unique([*steps, fitted])]


def _ratio(fit: LPP, place: int) -> float | None:
    # Without local scatter the fit is PCA, which has variances instead.
    return None if fit._is_pca else float(f"{fit.eigenvalues_[place]:.6g}")


def _axis(counts: list[int]) -> Axis:
    wanted = [count for decade in (1, 10, 100) for count in (2 * decade, 3 * decade, 5 * decade, 10 * decade)]
    ticks = [count for count in wanted if counts[0] <= count <= counts[-1]] or [counts[0]]
    return Axis(
        symbol="k",
        title="k neighbours",
        slider="k, the number of neighbours",
        values=[float(k) for k in counts],
        names=[str(k) for k in counts],
        ends=(
            End(f"k = {counts[0]}", "the fewest neighbours"),
            End(f"k = {counts[-1]}", "the most neighbours"),
        ),
        places=np.log10(counts).tolist(),
        ticks=(np.log10(ticks).tolist(), [str(k) for k in ticks]),
    )
