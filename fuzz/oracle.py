"""The oracle in extended precision, and how many digits a double can have there.

`tests/reference.py` forms covariances and calls LAPACK, which loses at large and small scales what is to be
judged. This one scales each neighbourhood by a power of two and orthogonalises the centred points themselves,
by one-sided Jacobi rotations in `np.longdouble`. The formula is that of `reference.averaged_operator`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

WIDE = np.longdouble
EPS = float(np.finfo(np.float64).eps)

# Eigenvalues closer than this, relative to the largest, count as equal; the package's rule.
SAME = 1e-12

# Errors of a backward stable solver are this many times eps · λ₁ / gap at most, in our experience.
AMPLIFICATION = 100.0


@dataclass(frozen=True)
class Operators:
    """Shape operators of some neighbourhoods, each divided by its own power of four.

    Attributes
    ----------
    scaled : ndarray of shape (b, d, d)
        The operators.
    exponent : ndarray of shape (b,)
        S = scaled · 4^exponent.
    slack : ndarray of shape (b,)
        Relative error that a stable computation in double precision may have; infinite where a decision
        (equal eigenvalues or not) hangs on rounding.
    simple : ndarray of shape (b,)
        Whether every eigenspace has one dimension, so that all solvers agree on its basis.
    values, directions : ndarray of shape (b, r), (b, r, d)
        Eigenvalues of the covariances, descending, and their unit vectors as rows; scaled too.
    """

    scaled: np.ndarray
    exponent: np.ndarray
    slack: np.ndarray
    simple: np.ndarray
    values: np.ndarray
    directions: np.ndarray

    def mean(self, rows=slice(None)):
        """Return the mean operator divided by 4^exponent, that exponent and its slack."""
        scaled, exponent, slack = self.scaled[rows], self.exponent[rows], self.slack[rows]
        top = int(exponent.max())
        weights = np.ldexp(WIDE(1), 2 * (exponent - top))
        mean = (scaled * weights[:, None, None]).sum(axis=0) / len(scaled)
        sizes = np.sqrt((scaled**2).sum(axis=(1, 2))) * weights
        with np.errstate(invalid="ignore"):
            error = np.where(sizes > 0, sizes * slack, 0).sum() / len(scaled)
        size = np.sqrt((mean**2).sum())
        return mean, top, float(error / size) if size > 0 else 0.0


def shape_operators(X, neighbors):
    """Return the averaged shape operator of each list of neighbours.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Doubles.
    neighbors : ndarray of shape (b, k)
        Row numbers.

    Returns
    -------
    operators : Operators
        One for each list.
    """
    d = X.shape[1]
    points = X.astype(WIDE)[neighbors]
    centred = points - points[:, :1]
    centred -= centred.mean(axis=1, keepdims=True)
    largest = np.abs(centred).max(axis=(1, 2))
    exponent = np.frexp(np.where(largest > 0, largest, 1))[1]
    centred = np.ldexp(centred, -exponent[:, None, None])
    values, directions = _frames(centred)
    scaled = np.empty((len(points), d, d), dtype=WIDE)
    slack, simple = np.empty(len(points)), np.empty(len(points), dtype=bool)
    for i, (own, W) in enumerate(zip(values, directions, strict=True)):
        average, slack[i], simple[i] = _average(own, W, d)
        scaled[i] = -((W.T + average @ W.T) * own) @ W / 2
    return Operators(scaled, exponent, slack, simple, values, directions)


def principal_curvatures(operators):
    """Return the eigenvalues of each operator, ascending, scaled as it is.

    S = −½ (I + A) C has the spectrum of the symmetric −½ C^½ (I + A) C^½.
    """
    b, d, _ = operators.scaled.shape
    principal = np.zeros((b, d))
    for i in range(b):
        keep = operators.values[i] > 0
        root = np.sqrt(operators.values[i][keep])
        W = operators.directions[i][keep]
        average, _, _ = _average(operators.values[i], operators.directions[i], d)
        M = -(np.diag(root**2) + root[:, None] * (W @ average @ W.T) * root) / 2
        own = np.linalg.eigvalsh(M.astype(np.float64)) if len(root) else np.zeros(0)
        principal[i] = np.sort(np.concatenate([np.minimum(own, 0), np.zeros(d - len(own))]))
    return principal


def squared_distances(X, queries):
    """Return all squared distances in extended precision, shape (q, n)."""
    A, B = queries.astype(WIDE), X.astype(WIDE)
    return ((A[:, None, :] - B[None, :, :]) ** 2).sum(axis=2)


def _average(values, W, d):
    """P Pᵀ averaged over the bases of every eigenspace, the slack, and whether all spaces are lines."""
    top = values[0] if len(values) else 0
    if top == 0:
        return np.eye(d, dtype=WIDE) * 2 / (d + 2) + WIDE(1) / (d + 2), 0.0, d == 1
    rank = int((values > SAME * top).sum())
    gaps = -np.diff(np.append(values, 0 if len(values) < d else [])) / top
    unsure = ((gaps > SAME / 10) & (gaps < SAME * 10)).any()
    small = values[rank:] / top
    unsure |= bool((small > SAME / 10).any()) or bool(values[rank - 1] / top < 10 * SAME)
    W, values = W[:rank], values[:rank]
    cuts = np.flatnonzero(-np.diff(values) > SAME * top) + 1
    spaces = np.split(W, cuts)
    P = np.concatenate([space for space in spaces if len(space) == 1] or [np.zeros((1, d))]) ** 2
    average = P.T @ P
    projectors = [(space.T @ space, len(space)) for space in spaces if len(space) > 1]
    if rank < d:
        projectors.append((np.eye(d, dtype=WIDE) - W.T @ W, d - rank))
    for N, q in projectors:
        n = np.diag(N)
        average += (np.outer(n, n) + 2 * N * N) / (q + 2)
    # Between spaces, and down to zero where there is a null space.
    lowest = 0 if rank < d else []
    between = -np.diff(np.append(values, lowest)) / top
    between = between[between > SAME]
    closest = float(between.min()) if len(between) else 1.0
    slack = np.inf if unsure else AMPLIFICATION * EPS / closest
    return average, slack, all(q == 1 for _, q in projectors)


def _frames(centred):
    """Eigenvalues, descending, and directions, as rows, of the covariances of centred points (b, k, d)."""
    _, k, d = centred.shape
    if k <= d:
        rotated, _ = _orthogonalised(centred)
        squares = (rotated**2).sum(axis=2)
        length = np.sqrt(np.where(squares > 0, squares, 1))
        directions = rotated / length[:, :, None]
    else:
        rotated, directions = _orthogonalised(centred.swapaxes(1, 2))
        squares = (rotated**2).sum(axis=2)
    order = np.argsort(-squares, axis=1)
    values = np.take_along_axis(squares, order, axis=1) / (k - 1)
    directions = np.take_along_axis(directions, order[:, :, None], axis=1)
    # Centring leaves at most k − 1 directions.
    most = min(k - 1, d)
    return values[:, :most], directions[:, :most]


def _orthogonalised(vectors):
    """Rotate the vectors (b, c, m) among each other until all are orthogonal; also return the rotations."""
    # LAPACK's answer is nearly one; a Newton step makes its basis orthogonal to all the digits there are.
    rotations = np.linalg.svd(vectors.astype(np.float64), full_matrices=False)[0].swapaxes(1, 2).astype(WIDE)
    rotations = 1.5 * rotations - 0.5 * (rotations @ rotations.swapaxes(1, 2)) @ rotations
    vectors = rotations @ vectors
    eps = np.finfo(WIDE).eps
    for _ in range(60):
        # Directions far below the rank threshold are rounding errors and never become orthogonal.
        negligible = (1e-30 * (vectors**2).sum(axis=2).max(axis=1, initial=0))[:, None]
        still = True
        for left, right in _rounds(vectors.shape[1]):
            p, q = vectors[:, left], vectors[:, right]
            pp, qq, pq = (p * p).sum(axis=2), (q * q).sum(axis=2), (p * q).sum(axis=2)
            turning = (np.abs(pq) > 16 * eps * np.sqrt(pp * qq)) & (np.minimum(pp, qq) > negligible)
            if not turning.any():
                continue
            still = False
            zeta = (qq - pp) / np.where(turning, 2 * pq, 1)
            sign = np.where(zeta < 0, -1, 1)
            t = np.where(turning, sign / (np.abs(zeta) + np.sqrt(1 + zeta * zeta)), 0)[:, :, None]
            cosine = 1 / np.sqrt(1 + t * t)
            sine = cosine * t
            vectors[:, left], vectors[:, right] = cosine * p - sine * q, sine * p + cosine * q
            p, q = rotations[:, left], rotations[:, right]
            rotations[:, left], rotations[:, right] = cosine * p - sine * q, sine * p + cosine * q
        if still:
            break
    return vectors, rotations


def _rounds(count):
    """Yield pairs of numbers below count, disjoint in each round, until all have met."""
    circle = list(range(count + count % 2))
    for _ in range(len(circle) - 1):
        half = len(circle) // 2
        pairs = list(zip(circle[:half], reversed(circle[half:]), strict=True))
        pairs = [(a, b) for a, b in pairs if max(a, b) < count]
        yield [a for a, _ in pairs], [b for _, b in pairs]
        circle = [circle[0], circle[-1], *circle[1:-1]]
