"""Each library on our neighbours beside the same library on its own. Skipped where it is not installed."""

from __future__ import annotations

import os
import sys
import tomllib
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest
from packaging.requirements import Requirement
from shopca_rs import KNeighborsTransformer
from shopca_rs.integrations.neighbors import hdbscan_graph, opentsne_neighbors, pacmap_pairs, umap_neighbors
from sklearn import neighbors as sk
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

X = make_blobs(300, 5, centers=4, cluster_std=2.0, random_state=0)[0]

pytestmark = pytest.mark.filterwarnings("ignore")

MODULES = {"array-api-strict": "array_api_strict", "umap-learn": "umap"}


@pytest.mark.skipif("SHOPCA_PLUGINS" not in os.environ, reason="only `make plugin-test` installs them all")
def test_every_library_of_the_group_is_there_in_its_range():
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8"))
    for requirement in map(Requirement, project["dependency-groups"]["plugins"]):
        assert any(bound.operator == "<" for bound in requirement.specifier), requirement
        assert version(requirement.name) in requirement.specifier
        import_module(MODULES.get(requirement.name, requirement.name))


def test_umap_gives_the_same_graph_on_our_neighbours():
    umap = pytest.importorskip("umap")
    options = {"n_neighbors": 12, "random_state": 0, "transform_mode": "graph"}
    # With so few rows UMAP's own search is exact.
    own = umap.UMAP(**options).fit(X)
    ours = umap.UMAP(**options, precomputed_knn=umap_neighbors(X, 12)).fit(X)
    assert abs(own.graph_ - ours.graph_).max() < 1e-4


def test_opentsne_gives_the_same_affinities_on_our_neighbours():
    openTSNE = pytest.importorskip("openTSNE")
    from openTSNE.affinity import PerplexityBasedNN

    own = PerplexityBasedNN(X, perplexity=10, method="exact")
    ours = PerplexityBasedNN(perplexity=10, knn_index=opentsne_neighbors(X, 30))
    assert abs(own.P - ours.P).max() < 1e-10
    Z = openTSNE.TSNE(n_iter=20, early_exaggeration_iter=20).fit(
        affinities=ours, initialization=X[:, :2] / 1e4
    )
    assert Z.shape == (300, 2)


def test_pacmap_takes_the_pairs_that_it_would_find():
    pacmap = pytest.importorskip("pacmap")
    from pacmap.pacmap import generate_pair

    table = X.astype(np.float32)
    own = generate_pair(table, 10, 5, 20, "euclidean", False)[0]
    ours = pacmap_pairs(table, 10)
    assert {tuple(pair) for pair in own} == {tuple(pair) for pair in ours}
    Z = pacmap.PaCMAP(n_neighbors=10, pair_neighbors=ours, num_iters=(10, 10, 10)).fit_transform(table)
    assert np.isfinite(Z).all()


def test_hdbscan_finds_the_same_clusters_on_our_graph():
    hdbscan = pytest.importorskip("hdbscan")
    own = hdbscan.HDBSCAN(min_cluster_size=15).fit(X)
    ours = hdbscan.HDBSCAN(min_cluster_size=15, metric="precomputed").fit(hdbscan_graph(X, 100))
    # The numbers of the clusters are arbitrary.
    assert adjusted_rand_score(own.labels_, ours.labels_) == 1
    assert own.labels_.max() > 0


def test_scikit_learn_s_hdbscan_finds_the_same_clusters_on_our_graph():
    from sklearn.cluster import HDBSCAN

    own = HDBSCAN(min_cluster_size=15, copy=True).fit(X)
    graph = hdbscan_graph(X, 100, include_self=True)
    ours = HDBSCAN(min_cluster_size=15, metric="precomputed", copy=True).fit(graph)
    # The numbers of the clusters are arbitrary.
    assert adjusted_rand_score(own.labels_, ours.labels_) == 1
    assert own.labels_.max() > 0


@pytest.mark.parametrize(
    ("method", "transformer"), [("umap", "sklearn"), ("gauss", sk.KNeighborsTransformer(n_neighbors=12))]
)
def test_scanpy_gives_the_same_graph_with_our_transformer(method, transformer):
    scanpy = pytest.importorskip("scanpy")
    from anndata import AnnData

    own, ours = AnnData(X.copy()), AnnData(X.copy())
    scanpy.pp.neighbors(own, n_neighbors=12, use_rep="X", method=method, transformer=transformer)
    scanpy.pp.neighbors(ours, use_rep="X", method=method, transformer=KNeighborsTransformer(12))
    assert abs(own.obsp["connectivities"] - ours.obsp["connectivities"]).max() < 1e-5


def test_without_opentsne_the_error_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "openTSNE.nearest_neighbors", None)
    with pytest.raises(ImportError, match="opentsne_neighbors needs openTSNE"):
        opentsne_neighbors(np.eye(4), 2)
