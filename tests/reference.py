"""The oracle: the paper's two algorithms in plain NumPy, and the closed form where they are ill-posed.

Nothing here is shared with the package. `algorithm_1` follows the paper to the letter; `algorithm_2` is its
batched twin; `averaged_operator` is the average over all bases of each eigenspace, made of projectors.
"""

from __future__ import annotations

import numpy as np


def nearest(X, query, k, own=None):
    """Row numbers of the k rows nearest to the query by (squared distance, index), row `own` left out."""
    squared = ((X - query) ** 2).sum(axis=1)
    order = np.lexsort((np.arange(len(X)), squared))
    return order[order != own][:k]


def neighbors(X, k):
    """Row numbers of the k nearest other rows by (squared distance, index)."""
    return np.array([nearest(X, query, k, own) for own, query in enumerate(X)])


def patches(X, k, include_self):
    """Row numbers of the points whose covariance is taken: the neighbours, and the point itself if wanted."""
    others = neighbors(X, k)
    return np.column_stack([others, np.arange(len(X))]) if include_self else others


def frame(C):
    """Eigenvectors of a covariance, as columns."""
    return np.linalg.eigh(C)[1]


def second_form_columns(W):
    """H: the d squared columns of W and the d(d−1)/2 products of two different ones."""
    d = W.shape[1]
    squares = [W[:, j] * W[:, j] for j in range(d)]
    products = [W[:, j] * W[:, m] for j in range(d) for m in range(j + 1, d)]
    return np.column_stack(squares + products)


def covariance(P):
    return np.atleast_2d(np.cov(P, rowvar=False))


def shape_operator(P, basis=frame):
    """S = −H Hᵀ C for the neighbours P."""
    C = covariance(P)
    H = second_form_columns(basis(C))
    return -(H @ H.T) @ C


def algorithm_1(X, k, indices=None, operator=shape_operator):
    """The paper's Algorithm 1: one neighbourhood at a time."""
    indices = neighbors(X, k) if indices is None else indices
    total = np.zeros((X.shape[1], X.shape[1]))
    for i in range(len(X)):
        total += operator(X[indices[i]])
    return total / len(X)


def algorithm_2(X, k, batch, indices):
    """The paper's Algorithm 2: the same in batches of stacked matrices."""
    n, d = X.shape
    upper = np.triu_indices(d, 1)
    total = np.zeros((d, d))
    for start in range(0, n, batch):
        P = X[indices[start : start + batch]]
        centred = P - P.mean(axis=1, keepdims=True)
        C = centred.transpose(0, 2, 1) @ centred / (k - 1)
        W = np.linalg.eigh(C)[1]
        H = np.concatenate([W**2, W[:, :, upper[0]] * W[:, :, upper[1]]], axis=2)
        total -= (H @ H.transpose(0, 2, 1) @ C).sum(axis=0)
    return total / n


def eigenspaces(C, tolerance=1e-9):
    """Orthonormal bases (columns) of the eigenspaces of C."""
    values, W = np.linalg.eigh(C)
    cuts = np.flatnonzero(np.diff(values) > tolerance * max(values[-1], 1e-300)) + 1
    return np.split(W, cuts, axis=1)


def averaged_operator(P):
    """S with P Pᵀ replaced, in every eigenspace, by its average over all orthonormal bases."""
    C = covariance(P)
    A = np.zeros_like(C)
    for basis in eigenspaces(C):
        N = basis @ basis.T
        n = np.diag(N)
        A += (np.outer(n, n) + 2 * N * N) / (basis.shape[1] + 2)
    return -(np.eye(len(C)) + A) @ C / 2


def random_basis(rng):
    """A frame of C with every eigenspace turned at random: what a solver might as well return."""

    def basis(C):
        turned = []
        for space in eigenspaces(C):
            Q, R = np.linalg.qr(rng.normal(size=(space.shape[1], space.shape[1])))
            turned.append(space @ (Q * np.sign(np.diag(R))))
        return np.concatenate(turned, axis=1)

    return basis


def weighted_mean(X, k, weights, include_self=False):
    """Σ w S / Σ w over the rows of weight above 0, with neighbours among these alone."""
    kept = weights > 0
    X, weights = X[kept], weights[kept]
    operators = [averaged_operator(X[patch]) for patch in patches(X, k, include_self)]
    return np.average(operators, axis=0, weights=weights)


def relative_error(got, expected):
    """‖got − expected‖ / ‖expected‖ in the Frobenius norm; the plain error where expected is zero."""
    scale = np.linalg.norm(expected)
    return np.linalg.norm(got - expected) / (scale if scale > 0 else 1.0)


def eigengaps(Sigma, S, alphas, m, criterion):
    """The eigengap at every α from whole spectra; α = ∞ stands for S̄ alone."""
    scale = np.trace(Sigma) / abs(np.trace(S))
    gaps = []
    for alpha in alphas:
        values = np.linalg.eigvals(S if np.isinf(alpha) else Sigma + alpha * scale * S)
        values = values[np.argsort(-values.real, kind="stable")]
        following = values[m].real if m < len(values) else 0.0
        divisor = np.abs(values).sum() if criterion == "mass" else np.abs(values[m - 1])
        gaps.append((values[m - 1].real - following) / divisor)
    return np.array(gaps)
