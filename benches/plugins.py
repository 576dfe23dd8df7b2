"""UMAP, openTSNE and Isomap on their own neighbours and on ours.

``python benches/plugins.py [--rows N] [--columns D] [--isomap-rows N]`` prints, for each library that is
installed, the time of its whole fit and of its own neighbour search, the same with `shopca_rs`, and the
recall of both: the share of the exact nearest neighbours that were found. The data are a curved sheet with
noise. Isomap holds n² distances, so it has a number of rows of its own.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np
from shopca_rs import KNeighborsTransformer, NearestNeighbors
from shopca_rs.integrations.neighbors import opentsne_neighbors, umap_neighbors
from sklearn.pipeline import make_pipeline


def sheet(n: int, d: int) -> np.ndarray:
    """Return points of a surface that waves through all columns, with noise."""
    rng = np.random.default_rng(0)
    flat = rng.uniform(-3, 3, size=(n, 3))
    waves = np.sin(flat @ rng.normal(size=(3, d)) + rng.uniform(0, 6, size=d))
    return waves + 0.1 * rng.normal(size=(n, d))


def recall(found: np.ndarray, exact: np.ndarray) -> float:
    return float(
        np.mean([len(np.intersect1d(a, b)) for a, b in zip(found, exact, strict=True)]) / exact.shape[1]
    )


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    start = perf_counter()
    value = call()
    return perf_counter() - start, value


def show(name: str, own: float, ours: float, own_search: float, our_search: float, share: float) -> None:
    print(
        f"| {name} | {own:.1f} s | {ours:.1f} s | {ours / own:.2f} | {own_search:.2f} s | {our_search:.2f} s "
        f"| {share:.4f} | 1.0000 |",
        flush=True,
    )


def umap_row(X: np.ndarray, k: int = 15) -> None:
    import umap
    from umap.umap_ import nearest_neighbors

    umap.UMAP(n_neighbors=k, n_epochs=5).fit(X[:5000])  # compiles
    exact = NearestNeighbors(k - 1).fit(X).kneighbors()[1]
    own_search, (found, *_) = timed(
        lambda: nearest_neighbors(X, k, "euclidean", {}, False, np.random.RandomState(0))
    )
    own, _ = timed(lambda: umap.UMAP(n_neighbors=k).fit(X))
    our_search, knn = timed(lambda: umap_neighbors(X, k))
    ours, _ = timed(lambda: umap.UMAP(n_neighbors=k, precomputed_knn=knn).fit(X))
    show(
        f"UMAP, {len(X)} × {X.shape[1]}, k = {k}",
        own,
        our_search + ours,
        own_search,
        our_search,
        recall(found[:, 1:], exact),
    )


def opentsne_row(X: np.ndarray, perplexity: int = 30) -> None:
    from openTSNE import TSNE
    from openTSNE.affinity import PerplexityBasedNN

    k, start = 3 * perplexity, X[:, :2] / X[:, :2].std() * 1e-4
    exact = NearestNeighbors(k).fit(X).kneighbors()[1]
    embed = TSNE(n_jobs=-1, random_state=0)
    own_search, affinities = timed(
        lambda: PerplexityBasedNN(X, perplexity=perplexity, n_jobs=-1, random_state=0)
    )
    share = recall(affinities.knn_index.build()[0], exact)
    rest, _ = timed(lambda: embed.fit(affinities=affinities, initialization=start))
    our_search, knn = timed(
        lambda: PerplexityBasedNN(perplexity=perplexity, knn_index=opentsne_neighbors(X, k), n_jobs=-1)
    )
    our_rest, _ = timed(lambda: embed.fit(affinities=knn, initialization=start))
    name = f"openTSNE, {len(X)} × {X.shape[1]}, perplexity {perplexity} (search with affinities)"
    show(name, own_search + rest, our_search + our_rest, own_search, our_search, share)


def isomap_row(X: np.ndarray, k: int = 15) -> None:
    from sklearn.manifold import Isomap
    from sklearn.neighbors import NearestNeighbors as Theirs

    own_search, _ = timed(lambda: Theirs(n_neighbors=k).fit(X).kneighbors())
    own, _ = timed(lambda: Isomap(n_neighbors=k).fit(X))
    our_search, _ = timed(lambda: KNeighborsTransformer(k).fit_transform(X))
    pipeline = make_pipeline(KNeighborsTransformer(k), Isomap(n_neighbors=k, metric="precomputed"))
    ours, _ = timed(lambda: pipeline.fit(X))
    show(f"Isomap, {len(X)} × {X.shape[1]}, k = {k}", own, ours, own_search, our_search, 1.0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--columns", type=int, default=50)
    parser.add_argument("--isomap-rows", type=int, default=5_000)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    X = sheet(given.rows, given.columns)
    print("| | own | with shopca_rs | ratio | own search | our search | own recall | our recall |")
    print("|---|---|---|---|---|---|---|---|")
    for row, table in ((umap_row, X), (opentsne_row, X), (isomap_row, X[: given.isomap_rows])):
        try:
            row(table)
        except ImportError as missing:
            print(f"| {row.__name__.removesuffix('_row')}: not installed ({missing.name}) |")


if __name__ == "__main__":
    main()
