"""The average over the bases of a null space, sampled and in closed form, divided by q + 2 or by q.

``python benches/null_space.py`` draws one neighbourhood of k points in d > k columns, so that its
covariance C has a null space of q = d − k + 1 dimensions. It turns the basis of that space at random many
times, and prints the mean of −tr S with its standard error beside two closed forms, in which the null space
contributes (n nᵀ + 2 N∘N) / (q + 2) and the same / q to P Pᵀ.
"""

from __future__ import annotations

import argparse

import numpy as np


def neighborhood(d: int, k: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return C of k random points, its eigenvectors that are determined, and a basis of its null space."""
    C = np.cov(np.random.default_rng(seed).normal(size=(k, d)), rowvar=False)
    vectors = np.linalg.eigh(C)[1]
    return C, vectors[:, d - k + 1 :], vectors[:, : d - k + 1]


def trace(C: np.ndarray, squares: np.ndarray) -> float:
    """Return −tr S = ½ tr(C + P Pᵀ C)."""
    return float((np.trace(C) + np.sum(squares * C)) / 2)


def sampled(C: np.ndarray, W: np.ndarray, null: np.ndarray, n_bases: int, seed: int) -> tuple[float, float]:
    """Return the mean of −tr S over random bases of the null space, and its standard error."""
    rng = np.random.default_rng(seed)
    q = null.shape[1]
    values = np.empty(n_bases)
    for number in range(n_bases):
        # The Q of a normal matrix is uniform up to the signs of its columns, which squares do not see.
        P = np.c_[W, null @ np.linalg.qr(rng.normal(size=(q, q)))[0]] ** 2
        values[number] = trace(C, P @ P.T)
    return float(values.mean()), float(values.std(ddof=1) / np.sqrt(n_bases))


def closed_form(C: np.ndarray, W: np.ndarray, null: np.ndarray, divisor: float) -> float:
    """Return −tr S where the null space contributes (n nᵀ + 2 N∘N) / divisor."""
    N = null @ null.T
    n = np.diag(N)
    return trace(C, W**2 @ (W**2).T + (np.outer(n, n) + 2 * N * N) / divisor)


def main() -> None:
    """Print the comparison for one neighbourhood."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-d", type=int, default=30, help="columns")
    parser.add_argument("-k", type=int, default=12, help="neighbours, fewer than columns")
    parser.add_argument("--bases", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    parts = neighborhood(arguments.d, arguments.k, arguments.seed)
    mean, error = sampled(*parts, arguments.bases, arguments.seed + 1)
    q = parts[2].shape[1]
    print(f"d = {arguments.d}, k = {arguments.k}, q = {q}, {arguments.bases} random bases")
    print(f"  sampled        {mean:.4f} ± {error:.4f}")
    for name, divisor in (("by q + 2", q + 2), ("by q", q)):
        value = closed_form(*parts, divisor)
        print(f"  {name:14} {value:.4f}, {abs(value - mean) / error:.1f} standard errors off")


if __name__ == "__main__":
    main()
