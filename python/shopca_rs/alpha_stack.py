"""The α with the largest eigengap for small matrices, whose symmetric spectra cost next to nothing."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .spectrum import Criterion, choose_alpha, covariance_scale, eigengap, spectra, symmetric_part

Matrix = NDArray[np.float64]

_ROUNDING = 1e-10


class Choice(NamedTuple):
    """Result of `best_alpha` in `alpha_search`.

    Attributes
    ----------
    alpha : float
        The first α whose eigengap is the largest.
    gaps : ndarray of shape (a,) or None
        All eigengaps; None if some were not computed.
    spectrum : ndarray of shape (d,) or None
        Eigenvalues at that α by real part, descending; None if they were not computed.
    leading : ndarray of shape (m,) or None
        Approximations of the leading eigenvalues; None for a small matrix, many components or a single α.
    above : float
        With `leading`: exactly m eigenvalues have a real part above this number; NaN if none is known.
    """

    alpha: float
    gaps: Matrix | None
    spectrum: NDArray[Any] | None = None
    leading: NDArray[Any] | None = None
    above: float = float("nan")


def choose_from_stack(Sigma: Matrix, S: Matrix, alphas: Matrix, m: int, criterion: Criterion) -> Choice:
    """Choose α from all symmetric spectra and those general ones whose gap may be the largest."""
    h = spectra(Sigma, symmetric_part(S), alphas)
    infinite = np.isinf(alphas)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        weights = np.where(infinite, 1.0, alphas * covariance_scale(Sigma, S))
        skew = weights * (np.linalg.norm(S - S.T) / 2)
        # Kahan: the real parts differ from h by no more than `skew`, as vectors.
        most = h[:, m - 1] - h[:, m] + np.sqrt(2) * skew
        if criterion == "mass":
            least = np.maximum(np.abs(h.sum(axis=1)), np.abs(h).sum(axis=1) - np.sqrt(len(S)) * skew)
        else:
            least = np.abs(h[:, m - 1]) - skew
        upper = np.where(least > 0, (most + _ROUNDING * np.abs(h).max(axis=1)) / least, np.inf)
    upper[np.isnan(upper)] = np.inf
    # The highest bounds first; then those that are not below the largest gap found.
    order = np.argsort(-upper, kind="stable")
    gaps = np.full(len(alphas), -np.inf)
    some = order[: max(len(alphas) // 8, 1)]
    while len(some):
        gaps[some] = eigengap(spectra(Sigma, S, alphas[some]), m, criterion)
        some = np.flatnonzero(np.isneginf(gaps) & (upper >= gaps.max() * (1 - _ROUNDING)))
    known = np.flatnonzero(np.isfinite(gaps))
    return Choice(choose_alpha(alphas[known], gaps[known]), gaps if len(known) == len(alphas) else None)
