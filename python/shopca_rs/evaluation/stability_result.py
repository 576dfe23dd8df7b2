"""Result of `stability`: angles and loadings of the refits, and a summary in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..classes import short_name
from ..estimators.component_models import final_step
from ..estimators.loading_table import TOP_COMPONENTS, TOP_FEATURES, Loadings
from .subspaces import agreement

Floats = NDArray[np.float64]

# A subspace is stable if the median of the largest angle between a refit and the full fit is at most
# STABLE_ANGLE degrees, and no better than chance if the agreement of disjoint samples is at most
# CHANCE_AGREEMENT. On pure noise the agreement is 0 on average; its mean over ten pairs rarely exceeds this.
STABLE_ANGLE = 15.0
CHANCE_AGREEMENT = 0.25


@dataclass(frozen=True, eq=False, repr=False)
class Stability:
    """Result of `stability`: r refits with m components of d features, and the fit to all rows.

    Attributes
    ----------
    angles : ndarray of shape (r, m)
        Principal angles between the space of each refit and that of the fit to all rows: degrees, ascending.
    disjoint_angles : ndarray of shape (r // 2, m) or None
        The same between the two refits of each pair, which have no row in common. None where there are no
        such pairs: for a `fraction` above one half and for `bootstrap`.
    loadings : ndarray of shape (r, m, d)
        Components of the refits, each with the sign that is closer to that of the fit to all rows.
    reference : Loadings
        Components of the fit to all rows, with names.
    alpha : ndarray of shape (r,) or None
        The α of the refits, for estimators that have one.
    reference_alpha : float or None
        The α of the fit to all rows.
    sign_flip : ndarray of shape (d,) or None
        Largest principal angle, in degrees, after the sign of one column was changed (and changed back in
        the components); None if it was not requested.
    random_angle : float
        Median of the largest principal angle between two random spaces of dimension m in d dimensions.
    n_samples, n_drawn : int
        Number of rows, and of those in each refit.
    bootstrap : bool
        Whether they were drawn with replacement.
    estimator : estimator or Pipeline
        The clone that was fitted to all rows.
    """

    angles: Floats
    disjoint_angles: Floats | None
    loadings: Floats
    reference: Loadings
    alpha: Floats | None
    reference_alpha: float | None
    sign_flip: Floats | None
    random_angle: float
    n_samples: int
    n_drawn: int
    bootstrap: bool
    estimator: Any

    @property
    def median_angle(self) -> float:
        """Median over the refits of the largest angle to the fit to all rows, in degrees."""
        return float(np.median(self.angles[:, -1]))

    @property
    def agreement(self) -> float:
        """Mean overlap of the subspaces of two disjoint samples: 0 for random subspaces, 1 for equal ones.

        (mean cos² of the angles − m/d) / (1 − m/d); 1 for m = d. Where there are no disjoint samples, it is
        computed between the refits and the fit to all rows, which have rows in common: then it is above 0
        even for pure noise.
        """
        m, d = self.reference.values.shape
        if m == d:
            return 1.0
        angles = self.angles if self.disjoint_angles is None else self.disjoint_angles
        return float(agreement(angles, d).mean())

    @property
    def loadings_mean(self) -> Floats:
        """Mean of the loadings over the refits, of shape (m, d)."""
        mean: Floats = self.loadings.mean(axis=0)
        return mean

    @property
    def loadings_std(self) -> Floats:
        """Standard deviation of the loadings over the refits, divided by r − 1, of shape (m, d)."""
        deviation: Floats = self.loadings.std(axis=0, ddof=1)
        return deviation

    @property
    def verdict(self) -> str:
        """One of "stable", "partly stable", "no better than chance" and "whole space".

        "stable": `median_angle` is at most 15°. Otherwise "no better than chance" if `agreement` is at most
        0.25, else "partly stable". "whole space": there are as many components as features, which always
        span the whole space.
        """
        m, d = self.reference.values.shape
        if m == d:
            return "whole space"
        if self.median_angle <= STABLE_ANGLE:
            return "stable"
        return "no better than chance" if self.agreement <= CHANCE_AGREEMENT else "partly stable"

    def __repr__(self) -> str:
        r, m, d = self.loadings.shape
        return (
            f"Stability({type(final_step(self.estimator)).__name__}, {r} refits, m = {m}, d = {d}, "
            f"median angle = {self.median_angle:.3g}°, {self.verdict})"
        )

    def summary(self) -> str:
        """Describe the result in a few lines.

        Returns
        -------
        str
            The verdict, the angles compared with those of random subspaces, α, and the largest loadings of
            each component with their standard deviations.
        """
        return "\n".join(_lines(self))


def _lines(result: Stability) -> list[str]:
    r, m, d = result.loadings.shape
    largest = result.angles[:, -1]
    medians = np.median(result.angles, axis=0)
    listed = ", ".join(f"{angle:.1f}°" for angle in medians[:TOP_COMPONENTS])
    drawn = "with" if result.bootstrap else "without"
    within = int((medians <= STABLE_ANGLE).sum())
    partly = f": {within} of {m} directions within {STABLE_ANGLE:g}°"
    lines = [
        f"Stability of {type(final_step(result.estimator)).__name__}, {m} of {d} dimensions: {r} refits to "
        f"{result.n_drawn} of {result.n_samples} rows, drawn {drawn} replacement",
        f"  verdict          {result.verdict}{partly if result.verdict == 'partly stable' else ''}",
        f"  largest angle    {result.median_angle:.1f}° to the fit to all rows (median; "
        f"{largest.min():.1f}° to {largest.max():.1f}°)",
        f"  all angles       {listed}{', …' if m > TOP_COMPONENTS else ''} (medians)",
    ]
    if m < d:
        lines.append(_against_chance(result))
    if result.alpha is not None and result.alpha.min() < result.alpha.max():
        lines.append(
            f"  alpha            {result.reference_alpha:.4g}; in the refits {result.alpha.min():.4g} to "
            f"{result.alpha.max():.4g}, median {np.median(result.alpha):.4g}"
        )
    if result.sign_flip is not None:
        j = int(result.sign_flip.argmax())
        lines.append(
            f"  sign flips       {np.median(result.sign_flip):.1f}° (median over the features; largest "
            f"{result.sign_flip[j]:.1f}° for {short_name(result.reference.features[j])})"
        )
    return lines + _loading_lines(result)


def _against_chance(result: Stability) -> str:
    if result.disjoint_angles is None:
        return f"  by chance        {result.random_angle:.1f}° between random subspaces, which share no rows"
    return (
        f"  by chance        {result.random_angle:.1f}° between random subspaces, "
        f"{np.median(result.disjoint_angles[:, -1]):.1f}° between refits without a common row; "
        f"agreement {result.agreement:.2f} (0 chance, 1 equal)"
    )


def _loading_lines(result: Stability) -> list[str]:
    spread, table = result.loadings_std, result.reference
    lines = []
    for j in range(min(len(table), TOP_COMPONENTS)):
        order = np.argsort(-np.abs(table.values[j]), kind="stable")[:TOP_FEATURES]
        named = (
            f"{short_name(table.features[i])} {table.values[j, i]:+.3g} ± {spread[j, i]:.2g}" for i in order
        )
        lines.append(f"  {f'component {j + 1}':<16} {', '.join(named)}")
    return lines
