"""LPP in plain NumPy and SciPy: dense matrices, the formulas to the letter."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import reference
import scipy.linalg


class Twin(NamedTuple):
    """The pencil Σ_D v = μ B v, its solution, and the graph it was made from."""

    eigenvalues: np.ndarray
    components: np.ndarray
    local_scatter: np.ndarray
    degree_covariance: np.ndarray
    graph: np.ndarray


def adjacency(indices):
    """A_ij = 1 if j is among the neighbours of i or i among those of j."""
    A = np.zeros((len(indices), len(indices)))
    A[np.arange(len(indices))[:, None], indices] = 1
    return np.maximum(A, A.T)


def resolution(X, weights):
    """min(variance, mean of the squared gaps / 12) of each column."""
    r = []
    for column in X.T:
        values = np.unique(column)
        gaps = np.abs(values[:, None] - values)
        gaps[gaps == 0] = np.inf
        nearest = gaps.min(axis=1)[np.searchsorted(values, column)] if len(values) > 1 else 0 * column
        variance = np.average((column - np.average(column, weights=weights)) ** 2, weights=weights)
        r.append(min(variance, np.average(nearest**2, weights=weights) / 12))
    return np.array(r)


def fit(X, m, k, *, ridge=0.003, resolved=True, limit=None, weights=None, graph=None):
    """Return the first m components of LPP; `graph` instead of that of the k nearest neighbours."""
    n, d = X.shape
    w = np.ones(n) if weights is None else weights
    r = resolution(X, w) if resolved else np.zeros(d)
    centred = X - np.average(X, axis=0, weights=w)
    P = np.eye(d)
    if limit is not None and limit < d:
        P = np.linalg.svd(np.sqrt(w)[:, None] * centred, full_matrices=False)[2][:limit].T
    Y = centred @ P
    if graph is None:
        graph = adjacency(reference.neighbors(Y if limit is not None and limit < d else X, k))
    A = graph * np.outer(w, w)
    D = np.diag(A.sum(axis=1))
    total = D.sum()
    G = Y.T @ (D - A) @ Y / total + P.T @ np.diag(r) @ P
    B = G + ridge * np.trace(G) * np.eye(len(G))
    deviations = Y - np.diag(D) @ Y / total
    of_degrees = deviations.T @ D @ deviations / total
    values, vectors = scipy.linalg.eigh(of_degrees, B)
    components = (P @ vectors[:, ::-1][:, :m]).T
    return Twin(values[::-1], components, B, of_degrees, graph)
