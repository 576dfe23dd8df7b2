"""The components of a fit at every α from 0 to ∞, matched from one α to the next."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import scipy.linalg  # type: ignore[import-untyped]
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment  # type: ignore[import-untyped]

from ..spectrum import Criterion, curved_covariance, eigengap, leading_directions, spectra

if TYPE_CHECKING:
    from ..estimators.curved_pca import CurvedPCA

Matrix = NDArray[np.float64]


class AlphaPath(NamedTuple):
    """Result of `alpha_path`.

    Attributes
    ----------
    alphas : ndarray of shape (a,)
        Ascending, from 0 to ∞, the fitted one among them.
    fitted : int
        Index of the fitted one.
    directions : list of ndarray of shape (d, m)
        For each α the components as columns, in the space where the neighbours were found.
    gaps : ndarray of shape (a,)
        Eigengaps.
    angles : ndarray of shape (a,)
        Largest principal angles to the subspace of PCA, in degrees.
    """

    alphas: Matrix
    fitted: int
    directions: list[Matrix]
    gaps: Matrix
    angles: Matrix


def alpha_path(estimator: CurvedPCA, n_steps: int) -> AlphaPath:
    """Return the components at 0, ∞, the fitted α and n_steps from 0.01 to 100.

    At the fitted α they are those of the estimator. From there to both sides the columns are matched in order
    and sign to those of the neighbouring α.
    """
    alphas = np.unique(np.concatenate([[0.0, estimator.alpha_, np.inf], np.geomspace(0.01, 100, n_steps)]))
    fitted = int(np.flatnonzero(alphas == estimator.alpha_)[0])
    Sigma, S, basis = estimator._operators()
    m = estimator.n_components_
    directions = [
        basis @ leading_directions(curved_covariance(Sigma, S, alpha), m).vectors for alpha in alphas
    ]
    angles = [_largest_angle(columns, directions[0]) for columns in directions]
    own = estimator.components_
    directions[fitted] = (own if estimator._basis is None else own @ estimator._basis.T).T
    for step in range(fitted + 1, len(alphas)):
        directions[step] = _like(directions[step], directions[step - 1])
    for step in reversed(range(fitted)):
        directions[step] = _like(directions[step], directions[step + 1])
    criterion: Criterion = getattr(estimator, "criterion", "mass")
    gaps = eigengap(spectra(Sigma, S, alphas), m, criterion)
    return AlphaPath(alphas, fitted, directions, gaps, np.array(angles))


def _like(columns: Matrix, others: Matrix) -> Matrix:
    """Reorder and flip unit columns so that each is as close as possible to its counterpart."""
    cosines = others.T @ columns
    order = linear_sum_assignment(-np.abs(cosines))[1]
    signs = np.where(cosines[np.arange(len(order)), order] < 0, -1.0, 1.0)
    matched: Matrix = columns[:, order] * signs
    return matched


def _largest_angle(columns: Matrix, others: Matrix) -> float:
    return float(np.degrees(scipy.linalg.subspace_angles(columns, others).max()))
