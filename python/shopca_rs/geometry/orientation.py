"""Orientation of a hypersurface: signs that make the normals of neighbours agree."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array  # type: ignore[import-untyped]
from scipy.sparse.csgraph import (  # type: ignore[import-untyped]
    breadth_first_order,
    connected_components,
    minimum_spanning_tree,
)

from .. import _core
from ..neighbors import Algorithm

NEIGHBORS = 10
# A weight of zero would mean no edge.
LEAST_WEIGHT = 1e-9


def consistent_signs(
    cloud: NDArray[np.float64],
    normals: NDArray[np.float64],
    valid: NDArray[np.bool_],
    algorithm: Algorithm,
    threads: int,
) -> NDArray[np.float64]:
    """Return ±1 for each point, so that sign · normal points to one side of each connected part.

    The signs spread along the minimum spanning tree of the neighbour graph whose edges weigh 1 − |⟨ν_i,
    ν_j⟩| (Hoppe and others, 1992). In each part most normals keep their sign, which is usually that of the
    mean curvature vector.
    """
    signs = np.ones(len(cloud))
    places = np.flatnonzero(valid)
    if len(places) < 4:
        return signs
    points, directions = cloud[places], normals[places]
    k = min(NEIGHBORS, len(points) - 1)
    near, _ = _core.k_neighbors(
        x=points, k=k, queries=None, points=None, algorithm=algorithm, n_jobs=threads, progress=None
    )
    # Before version 1.12, SciPy's graph functions take 32-bit indices only.
    start, end = np.repeat(np.arange(len(points), dtype=np.int32), k), near.ravel().astype(np.int32)
    weights = 1 - np.abs(np.einsum("ed,ed->e", directions[start], directions[end]))
    graph = csr_array((np.maximum(weights, LEAST_WEIGHT), (start, end)), shape=(len(points),) * 2)
    tree = minimum_spanning_tree(graph.maximum(graph.T))
    flips = _flips(tree, directions)
    parts, part = connected_components(tree, directed=False)
    kept = np.bincount(part, weights=flips, minlength=parts)
    signs[places] = flips * np.where(kept < 0, -1.0, 1.0)[part]
    return signs


def _flips(tree: csr_array, directions: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the product of the signs of ⟨ν_i, ν_j⟩ on the path from each point to the root of its part."""
    n = len(directions)
    parents = np.arange(n)
    seen = np.zeros(n, dtype=bool)
    for root in range(n):
        if not seen[root]:
            order, before = breadth_first_order(tree, root, directed=False)
            seen[order] = True
            parents[order[1:]] = before[order[1:]]
    flips = np.where(np.einsum("nd,nd->n", directions, directions[parents]) < 0, -1.0, 1.0)
    # Each round doubles the length of the path that is already multiplied.
    while (parents[parents] != parents).any():
        flips = np.where(parents == np.arange(n), 1.0, flips * flips[parents])
        parents = parents[parents]
    return flips
