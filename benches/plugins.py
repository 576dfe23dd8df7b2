"""UMAP, openTSNE and Isomap on their own neighbours and on ours.

``python benches/plugins.py [--rows N] [--columns D] [--isomap-rows N]`` prints, for each library that is
installed, the time of its whole fit and of its own neighbour search, the same with `shopca_rs`, and the
recall of both: the share of the nearest neighbours by scikit-learn's brute force that were found. Processor
time is in brackets, and the ratio is that of processor times, which other programs disturb least. The data
are a curved sheet with noise. Isomap holds n² distances several times, 3.2 GB each for 20 000 rows.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from time import perf_counter, process_time
from typing import Any, NamedTuple

import numpy as np
from shopca_rs import KNeighborsTransformer
from shopca_rs.integrations.neighbors import opentsne_neighbors, umap_neighbors
from sklearn import neighbors as sk
from sklearn.manifold import Isomap
from sklearn.pipeline import make_pipeline


def sheet(n: int, d: int) -> np.ndarray:
    """Return points of a surface that waves through all columns, with noise."""
    rng = np.random.default_rng(0)
    flat = rng.uniform(-3, 3, size=(n, 3))
    waves = np.sin(flat @ rng.normal(size=(3, d)) + rng.uniform(0, 6, size=d))
    return waves + 0.1 * rng.normal(size=(n, d))


def brute_force(X: np.ndarray, k: int) -> np.ndarray:
    return sk.NearestNeighbors(n_neighbors=k, algorithm="brute").fit(X).kneighbors()[1]


def recall(found: np.ndarray, exact: np.ndarray) -> float:
    return float(
        np.mean([len(np.intersect1d(a, b)) for a, b in zip(found, exact, strict=True)]) / exact.shape[1]
    )


class Cost(NamedTuple):
    """Wall-clock and processor time in seconds."""

    wall: float
    processor: float

    def after(self, other: Cost) -> Cost:
        """Return the cost of both."""
        return Cost(self.wall + other.wall, self.processor + other.processor)

    def __str__(self) -> str:
        return f"{self.wall:.1f} s ({self.processor:.1f} s)"


def timed(call: Callable[[], Any]) -> tuple[Cost, Any]:
    wall, processor = perf_counter(), process_time()
    value = call()
    return Cost(perf_counter() - wall, process_time() - processor), value


class Found(NamedTuple):
    """The share of the exact neighbours that the library and we found."""

    own: float
    ours: float


def show(name: str, own: Cost, ours: Cost, own_search: Cost, our_search: Cost, found: Found) -> None:
    print(
        f"| {name} | {own} | {ours} | {ours.processor / own.processor:.2f} | {own_search} | {our_search} "
        f"| {found.own:.4f} | {found.ours:.4f} |",
        flush=True,
    )


def umap_row(X: np.ndarray, k: int = 15) -> None:
    import umap
    from umap.umap_ import nearest_neighbors

    # Each way is compiled at its first call, for its own types.
    for given in ((None, None, None), umap_neighbors(X[:5000], k)):
        umap.UMAP(n_neighbors=k, n_epochs=5, precomputed_knn=given).fit(X[:5000])
    exact = brute_force(X, k - 1)
    own_search, (found, *_) = timed(
        lambda: nearest_neighbors(X, k, "euclidean", {}, False, np.random.RandomState(0))
    )
    own, _ = timed(lambda: umap.UMAP(n_neighbors=k).fit(X))
    our_search, knn = timed(lambda: umap_neighbors(X, k))
    ours, _ = timed(lambda: umap.UMAP(n_neighbors=k, precomputed_knn=knn).fit(X))
    shares = Found(recall(found[:, 1:], exact), recall(knn[0][:, 1:], exact))
    name = f"UMAP, {len(X)} × {X.shape[1]}, k = {k}"
    show(name, own, ours.after(our_search), own_search, our_search, shares)


def opentsne_row(X: np.ndarray, perplexity: int = 30) -> None:
    from openTSNE import TSNE
    from openTSNE.affinity import PerplexityBasedNN

    k, start = 3 * perplexity, X[:, :2] / X[:, :2].std() * 1e-4
    exact = brute_force(X, k)
    embed = TSNE(n_jobs=-1, random_state=0)
    own_search, affinities = timed(
        lambda: PerplexityBasedNN(X, perplexity=perplexity, n_jobs=-1, random_state=0)
    )
    rest, _ = timed(lambda: embed.fit(affinities=affinities, initialization=start))
    our_search, knn = timed(
        lambda: PerplexityBasedNN(perplexity=perplexity, knn_index=opentsne_neighbors(X, k), n_jobs=-1)
    )
    our_rest, _ = timed(lambda: embed.fit(affinities=knn, initialization=start))
    name = f"openTSNE, {len(X)} × {X.shape[1]}, perplexity {perplexity} (search with affinities)"
    shares = Found(*(recall(made.knn_index.build()[0], exact) for made in (affinities, knn)))
    show(name, rest.after(own_search), our_rest.after(our_search), own_search, our_search, shares)


def isomap_row(X: np.ndarray, k: int = 15) -> None:
    exact = brute_force(X, k)
    own_search, found = timed(lambda: sk.NearestNeighbors(n_neighbors=k).fit(X).kneighbors()[1])
    # The fitted models hold n² distances: they are not kept.
    own = timed(lambda: Isomap(n_neighbors=k).fit(X))[0]
    our_search, graph = timed(lambda: KNeighborsTransformer(k).fit_transform(X))
    pipeline = make_pipeline(KNeighborsTransformer(k), Isomap(n_neighbors=k, metric="precomputed"))
    ours = timed(lambda: pipeline.fit(X))[0]
    # The graph begins each row with the point itself.
    shares = Found(recall(found, exact), recall(graph.indices.reshape(len(X), k + 1)[:, 1:], exact))
    show(f"Isomap, {len(X)} × {X.shape[1]}, k = {k}", own, ours, own_search, our_search, shares)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--columns", type=int, default=50)
    parser.add_argument("--isomap-rows", type=int, default=20_000)
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
