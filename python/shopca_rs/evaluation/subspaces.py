"""Subspaces spanned by components: principal angles between two of them, and between random ones."""

from __future__ import annotations

import numpy as np
import scipy.linalg  # type: ignore[import-untyped]
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# Number of random subspaces, and the limit on multiplications that reduces it if m is large.
_DRAWS = 1000
_WORK = 10**9


def principal_angles(first: Floats, second: Floats) -> Floats:
    """Principal angles between the spaces that the rows of two matrices span.

    Parameters
    ----------
    first, second : ndarray of shape (m, d)
        Rows of any length; they need not be orthogonal.

    Returns
    -------
    ndarray of shape (m,)
        Degrees, ascending. Where rows are linearly dependent, a direction that only one of the spaces has
        counts as 90°, and one that both lack as 0°.

    Examples
    --------
    >>> principal_angles(np.eye(3)[:2], np.eye(3)[1:]).round(6).tolist()
    [0.0, 90.0]
    """
    bases = [scipy.linalg.orth(_unit_rows(rows).T) for rows in (first, second)]
    fewer, more = sorted(basis.shape[1] for basis in bases)
    angles = np.zeros(len(first))
    angles[:more] = 90.0
    if fewer > 0:
        angles[:fewer] = np.degrees(scipy.linalg.subspace_angles(*bases))
    return np.sort(angles)


def agreement(angles: Floats, d: int) -> Floats:
    """Overlap of two subspaces, corrected for chance: 1 if they are equal, 0 on average for random ones.

    The mean of cos² over the m angles is m/d on average for random spaces. This is
    (mean cos² − m/d) / (1 − m/d).

    Parameters
    ----------
    angles : ndarray of shape (..., m)
        Principal angles in degrees.
    d : int
        Dimension of the ambient space, above m.

    Returns
    -------
    ndarray of shape (...)
        At most 1; negative if the spaces coincide less than random ones do.

    Examples
    --------
    >>> agreement(np.array([[0.0, 0.0], [0.0, 90.0]]), 4).tolist()
    [1.0, 0.0]
    """
    chance = angles.shape[-1] / d
    overlap = (np.cos(np.radians(angles)) ** 2).mean(axis=-1)
    return np.asarray((overlap - chance) / (1 - chance))


def random_angle(m: int, d: int) -> float:
    """Median of the largest principal angle between two random spaces of dimension m in d dimensions.

    Estimated from seeded random draws: deterministic, accurate to about one degree.

    Parameters
    ----------
    m, d : int
        Dimensions of the subspaces, and of the ambient space.

    Returns
    -------
    float
        Degrees; 0 for m = d.

    Examples
    --------
    >>> random_angle(3, 3), 58 < random_angle(1, 3) < 62
    (0.0, True)
    """
    # The orthogonal complements of two subspaces have the same angles, except for zeros.
    m = min(m, d - m)
    if m == 0:
        return 0.0
    random = np.random.RandomState(0)
    draws = max(min(_DRAWS, _WORK // m**3), 25)
    # Columns [G; H] of normal numbers span a random space; its angles to the first m axes are the
    # arctangents of the singular values of H G⁻¹. HᵀH = L Lᵀ is a Wishart matrix, whose factor L has normal
    # numbers below its diagonal and roots of χ² on it (Bartlett).
    G = random.normal(size=(draws, m, m))
    L = np.tril(random.normal(size=(draws, m, m)), -1)
    L[:, range(m), range(m)] = np.sqrt(random.chisquare(d - m - np.arange(m), size=(draws, m)))
    cotangents = np.linalg.svd(np.linalg.solve(L, G.transpose(0, 2, 1)), compute_uv=False)
    return float(np.median(np.degrees(np.arctan2(1.0, cotangents[:, -1]))))


def _unit_rows(rows: Floats) -> Floats:
    largest = np.abs(rows).max(axis=1, keepdims=True)
    scaled = rows / np.where(largest > 0, largest, 1.0)
    lengths = np.linalg.norm(scaled, axis=1, keepdims=True)
    units: Floats = scaled / np.where(lengths > 0, lengths, 1.0)
    return units
