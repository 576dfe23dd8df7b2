"""How well an embedding keeps the classes: clusterings scored against them, and nearest neighbours."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

CLUSTERINGS = ("ward", "kmeans")
INDICES = ("ari", "nmi", "fm", "v_measure")
ACCURACY = "knn_accuracy"
AVERAGE = "avg4"
AVERAGED = ("ward_ari", "ward_v_measure", "kmeans_ari", ACCURACY)
AVERAGE_OF_ALL = "avg4_of_all_rows"
TRUSTWORTHINESS, CONTINUITY = "trustworthiness", "continuity"

_NEIGHBORS, _FOLDS = 7, 5


def cluster_scores(Z: NDArray[np.float64], y: NDArray[np.int64], clustering: str) -> dict[str, float]:
    """Cluster an embedding into as many clusters as there are classes and compare them.

    Parameters
    ----------
    Z : ndarray of shape (n, m)
        The embedding.
    y : ndarray of int, shape (n,)
        The classes.
    clustering : {"ward", "kmeans", "complete"}
        Ward's or complete linkage, or k-means (ten starts, seeded).

    Returns
    -------
    dict
        Adjusted Rand index, normalised mutual information, Fowlkes-Mallows index and V-measure by the names
        in `INDICES`. The second and the last are the same number: both are the mutual information divided by
        the arithmetic mean of the entropies.

    Examples
    --------
    >>> import numpy as np
    >>> cluster_scores(np.array([[0.0], [0.1], [5.0], [5.1]]), np.array([0, 0, 1, 1]), "ward")["ari"]
    1.0
    """
    from sklearn.cluster import AgglomerativeClustering, KMeans  # type: ignore[import-untyped]
    from sklearn.metrics import (  # type: ignore[import-untyped]
        adjusted_rand_score,
        fowlkes_mallows_score,
        normalized_mutual_info_score,
        v_measure_score,
    )

    count = len(np.unique(y))
    if clustering == "kmeans":
        clusters = KMeans(count, n_init=10, random_state=0)
    else:
        clusters = AgglomerativeClustering(count, linkage=clustering)
    found = clusters.fit_predict(Z)
    measures = (adjusted_rand_score, normalized_mutual_info_score, fowlkes_mallows_score, v_measure_score)
    return {index: float(measure(y, found)) for index, measure in zip(INDICES, measures, strict=True)}


def neighbor_accuracy(Z: NDArray[np.float64], y: NDArray[np.int64]) -> float:
    """Accuracy of the 7 nearest neighbours in an embedding, over five stratified folds.

    Parameters
    ----------
    Z : ndarray of shape (n, m)
        The embedding.
    y : ndarray of int, shape (n,)
        The classes.

    Returns
    -------
    float
        Mean over the folds.
    """
    from sklearn.model_selection import StratifiedKFold, cross_val_score  # type: ignore[import-untyped]
    from sklearn.neighbors import KNeighborsClassifier  # type: ignore[import-untyped]

    folds = StratifiedKFold(_FOLDS, shuffle=True, random_state=0)
    with warnings.catch_warnings():
        # Classes of fewer than five points are in fewer folds; several data sets have them.
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)
        return float(cross_val_score(KNeighborsClassifier(_NEIGHBORS), Z, y, cv=folds).mean())


def class_scores(
    Z: NDArray[np.float64], y: NDArray[np.int64], clusterings: Sequence[str], accuracy: bool = True
) -> dict[str, float]:
    """Score how well an embedding keeps the classes in every way that is asked for.

    Parameters
    ----------
    Z : ndarray of shape (n, m)
        The embedding.
    y : ndarray of int, shape (n,)
        The classes.
    clusterings : sequence of str
        As in `cluster_scores`.
    accuracy : bool, default=True
        Whether to add the accuracy of the nearest neighbours, and AVG4, the mean of `AVERAGED`.

    Returns
    -------
    dict
        Scores by name: "ward_ari", "knn_accuracy", "avg4" and so on.
    """
    found = {
        f"{clustering}_{index}": value
        for clustering in clusterings
        for index, value in cluster_scores(Z, y, clustering).items()
    }
    if accuracy:
        found[ACCURACY] = neighbor_accuracy(Z, y)
        found[AVERAGE] = float(np.mean([found[name] for name in AVERAGED]))
    return found


def neighborhood_scores(X: NDArray[np.float64], Z: NDArray[np.float64]) -> dict[str, float]:
    """Measure how well an embedding keeps the five nearest neighbours, without classes.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        The prepared data.
    Z : ndarray of shape (n, m)
        The embedding.

    Returns
    -------
    dict
        Trustworthiness and continuity by name.
    """
    from ..evaluation import embedding_quality

    return {
        TRUSTWORTHINESS: embedding_quality.trustworthiness(X, Z, n_jobs=1),
        CONTINUITY: embedding_quality.continuity(X, Z, n_jobs=1),
    }
