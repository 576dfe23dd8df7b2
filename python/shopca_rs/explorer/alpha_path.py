"""The components of a fit at every α from 0 to ∞."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..spectrum import Criterion, curved_covariance, eigengap, leading_directions, spectra
from .component_path import Axis, ComponentPath, End, Line, largest_angle, matched

if TYPE_CHECKING:
    from ..estimators.curved_pca import CurvedPCA

Matrix = NDArray[np.float64]


def alpha_path(estimator: CurvedPCA, n_steps: int) -> ComponentPath:
    """Return the components at 0, ∞, the fitted α and n_steps from 0.01 to 100.

    At the fitted α they are those of the estimator.
    """
    alphas = np.unique(np.concatenate([[0.0, estimator.alpha_, np.inf], np.geomspace(0.01, 100, n_steps)]))
    fitted = int(np.flatnonzero(alphas == estimator.alpha_)[0])
    Sigma, S, basis = estimator._operators()
    m = estimator.n_components_
    directions = [
        basis @ leading_directions(curved_covariance(Sigma, S, alpha), m).vectors for alpha in alphas
    ]
    angles = [largest_angle(columns, directions[0]) for columns in directions]
    own = estimator.components_
    directions[fitted] = (own if estimator._basis is None else own @ estimator._basis.T).T
    criterion: Criterion = getattr(estimator, "criterion", "mass")
    gaps = eigengap(spectra(Sigma, S, alphas), m, criterion)
    own_point = ", and the point itself" if estimator.include_self else ""
    return ComponentPath(
        subject="from PCA to Shape Operator Eigenmaps",
        note=f"k = {estimator.n_neighbors_}{own_point}.",
        axis=_axis(alphas),
        fitted=fitted,
        directions=matched(directions, fitted, np.eye(len(basis))),
        angles=np.array(angles),
        spectrum=f"Eigengap ({criterion})",
        measure="eigengap",
        lines=[Line("gap", gaps.tolist())],
    )


def _axis(alphas: Matrix) -> Axis:
    low, high = np.log10(alphas[1]), np.log10(alphas[-2])
    decades = np.arange(np.ceil(low), np.floor(high) + 1)
    return Axis(
        symbol="α",
        title="α",
        slider="α, from PCA to eigenmaps",
        # JSON has no infinity.
        values=[None if np.isinf(alpha) else float(alpha) for alpha in alphas],
        names=["∞" if np.isinf(alpha) else f"{alpha:.3g}" for alpha in alphas],
        ends=(
            End("PCA", "α = 0: variance alone", "PCA"),
            End("Eigenmaps", "α = ∞: curvature alone", "eigenmaps"),
        ),
        # 0 and ∞ are placed beside the finite values.
        places=[low - 0.5, *np.log10(alphas[1:-1]).tolist(), high + 0.5],
        ticks=(
            [low - 0.5, *decades.tolist(), high + 0.5],
            ["0", *[f"{10**decade:g}" for decade in decades], "∞"],
        ),
    )
