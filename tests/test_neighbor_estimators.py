"""NearestNeighbors and KNeighborsTransformer beside `k_neighbors` and scikit-learn's own."""

from __future__ import annotations

import copy
import pickle

import nasty
import numpy as np
import pytest
from shopca_rs import LPP, SHOPCA, KNeighborsTransformer, NearestNeighbors, k_neighbors
from sklearn import neighbors as sk
from sklearn.base import clone
from sklearn.cluster import DBSCAN
from sklearn.manifold import TSNE, Isomap, SpectralEmbedding
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

X = nasty.continuous(220, 4, seed=3)
QUERIES = nasty.continuous(37, 4, seed=4)


@parametrize_with_checks([NearestNeighbors(n_neighbors=2), KNeighborsTransformer(n_neighbors=2)])
def test_the_estimators_follow_scikit_learn_s_rules(estimator, check):
    check(estimator)


@pytest.mark.parametrize("algorithm", ["auto", "kd_tree", "brute"])
def test_an_index_has_the_bits_of_one_search(nasty_points, algorithm):
    if algorithm == "kd_tree" and nasty_points.shape[1] > 32:
        pytest.skip("too many columns for a tree")
    index = NearestNeighbors(3, algorithm=algorithm).fit(nasty_points)
    indices, distances = k_neighbors(nasty_points, 3)
    apart, found = index.kneighbors()
    assert np.array_equal(found, indices)
    assert apart.tobytes() == distances.tobytes()
    for start in range(0, 12, 5):
        asked = nasty_points[start : start + 5] * 1.25
        indices, distances = k_neighbors(nasty_points, 3, queries=asked)
        apart, found = index.kneighbors(asked)
        assert np.array_equal(found, indices)
        assert apart.tobytes() == distances.tobytes()


@pytest.mark.parametrize("again", [copy.deepcopy, lambda index: pickle.loads(pickle.dumps(index))])
def test_a_copied_or_pickled_index_answers_as_before(again):
    index = NearestNeighbors(3, metric="mahalanobis").fit(X)
    expected, found = index.kneighbors(QUERIES), again(index).kneighbors(QUERIES)
    assert all(a.tobytes() == b.tobytes() for a, b in zip(expected, found, strict=True))


def test_an_index_does_not_see_what_happens_to_its_table_later():
    table = X.copy()
    index = NearestNeighbors(3).fit(table)
    expected = index.kneighbors(QUERIES)[0]
    table[:] = 0
    assert np.array_equal(index.kneighbors(QUERIES)[0], expected)


def test_one_neighbour_is_enough_for_an_index():
    assert NearestNeighbors(1).fit([[0.0], [1.0], [3.0]]).kneighbors()[1].tolist() == [[1], [0], [1]]


@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean", "cosine", "correlation", "mahalanobis"])
def test_every_metric_gives_scikit_learn_s_neighbours_and_distances(metric):
    given = {"metric_params": {"VI": np.linalg.inv(np.cov(X.T))}} if metric == "mahalanobis" else {}
    theirs = sk.NearestNeighbors(n_neighbors=6, metric=metric, algorithm="brute", **given).fit(X)
    for options in ({}, given):
        ours = NearestNeighbors(6, metric=metric, **options).fit(X)
        for asked in (None, QUERIES):
            apart, indices = ours.kneighbors(asked)
            expected_apart, expected = theirs.kneighbors(asked)
            assert np.array_equal(indices, expected)
            assert np.allclose(apart, expected_apart, rtol=1e-6, atol=1e-12)


def test_v_is_the_inverse_of_vi():
    V = np.cov(X.T) + np.eye(4)
    by_v = NearestNeighbors(4, metric="mahalanobis", metric_params={"V": V}).fit(X)
    by_vi = NearestNeighbors(4, metric="mahalanobis", metric_params={"VI": np.linalg.inv(V)}).fit(X)
    assert np.allclose(by_v.kneighbors()[0], by_vi.kneighbors()[0], rtol=1e-12)


@pytest.mark.parametrize("model", [SHOPCA(alpha=0.1), LPP()])
def test_the_metric_of_a_model_is_searched_by_its_map(model):
    metric = model.fit(X).metric()
    apart, indices = NearestNeighbors(4, metric=metric).fit(X).kneighbors(QUERIES)
    everything = metric.pairwise(QUERIES, X)
    assert np.array_equal(indices, np.argsort(everything, axis=1)[:, :4])
    assert np.allclose(apart, np.sort(everything, axis=1)[:, :4], rtol=1e-9)


@pytest.mark.parametrize("mode", ["distance", "connectivity"])
def test_graphs_are_scikit_learn_s(mode):
    ours = KNeighborsTransformer(5, mode=mode)
    theirs = sk.KNeighborsTransformer(n_neighbors=5, mode=mode)
    for graph, expected in (
        (ours.fit_transform(X), theirs.fit_transform(X)),
        (ours.transform(QUERIES), theirs.transform(QUERIES)),
        (ours.kneighbors_graph(mode=mode), theirs.kneighbors_graph(mode=mode)),
    ):
        assert graph.format == "csr"
        assert np.array_equal(graph.indptr, expected.indptr)
        assert np.array_equal(graph.indices, expected.indices)
        assert np.allclose(graph.data, expected.data, rtol=1e-7, atol=1e-12)
    assert ours.get_feature_names_out().shape == (len(X),)


def test_each_row_is_its_own_first_neighbour_even_among_copies():
    copies = np.repeat(X[:3], 9, axis=0)
    graph = KNeighborsTransformer(4).fit_transform(copies)
    assert np.array_equal(graph.indices.reshape(27, 5)[:, 0], np.arange(27))
    assert (graph.data.reshape(27, 5)[:, 0] == 0).all()


@pytest.mark.parametrize(
    ("estimator", "k", "mode"),
    [
        (Isomap(n_neighbors=8, metric="precomputed", eigen_solver="dense"), 8, "distance"),
        (
            SpectralEmbedding(affinity="precomputed_nearest_neighbors", n_neighbors=8, random_state=0),
            9,
            "distance",
        ),
        (
            TSNE(metric="precomputed", init="random", perplexity=8, max_iter=260, random_state=0),
            25,
            "distance",
        ),
    ],
    ids=["Isomap", "SpectralEmbedding", "TSNE"],
)
def test_manifold_learners_give_the_same_on_our_graph(estimator, k, mode):
    ours = make_pipeline(KNeighborsTransformer(k, mode=mode), clone(estimator)).fit_transform(X)
    theirs = make_pipeline(
        sk.KNeighborsTransformer(n_neighbors=k, mode=mode), clone(estimator)
    ).fit_transform(X)
    # t-SNE amplifies the last bits of the distances; the others do not.
    assert np.allclose(ours, theirs, rtol=1e-3 if isinstance(estimator, TSNE) else 1e-8, atol=1e-8)


def test_dbscan_and_a_classifier_give_the_same_on_our_graph():
    y = (X[:, 0] > 0).astype(int)
    eps = float(np.median(k_neighbors(X, 5)[1][:, -1]))
    for k, estimator in (
        (30, DBSCAN(eps=eps, metric="precomputed")),
        (7, KNeighborsClassifier(7, metric="precomputed")),
    ):
        ours = make_pipeline(KNeighborsTransformer(k), clone(estimator)).fit(X, y)
        theirs = make_pipeline(sk.KNeighborsTransformer(n_neighbors=k), clone(estimator)).fit(X, y)
        if isinstance(estimator, DBSCAN):
            assert np.array_equal(ours[-1].labels_, theirs[-1].labels_)
            assert len(set(ours[-1].labels_)) > 1
        else:
            assert np.array_equal(ours.predict(QUERIES), theirs.predict(QUERIES))


@pytest.mark.parametrize(
    ("options", "table", "error", "words"),
    [
        (
            {"metric": "cosine"},
            np.vstack([X, np.zeros(4)]),
            ValueError,
            "row with zeros only is undefined, got row 220",
        ),
        (
            {"metric": "correlation"},
            np.vstack([X, np.ones(4)]),
            ValueError,
            "equal numbers only is undefined",
        ),
        ({"metric": "mahalanobis"}, np.c_[X, X[:, 0]], ValueError, "Drop constant and dependent columns"),
        ({"metric": "manhattan"}, X, ValueError, "metric"),
        ({"metric_params": {"V": np.eye(4)}}, X, ValueError, "metric_params must be None with 'euclidean'"),
        (
            {"metric": "mahalanobis", "metric_params": {"V": np.eye(3)}},
            X,
            ValueError,
            "4 columns of X, got 3",
        ),
        (
            {"metric": "mahalanobis", "metric_params": {"VI": -np.eye(4)}},
            X,
            ValueError,
            "VI must be positive",
        ),
        ({"n_neighbors": True}, X, TypeError, "n_neighbors must be a number"),
        ({"algorithm": "kd_tree"}, np.ones((5, 40)), ValueError, "32"),
    ],
)
def test_what_cannot_be_searched_is_refused_in_a_sentence(options, table, error, words):
    with pytest.raises(error, match=words):
        NearestNeighbors(**options).fit(table)


def test_more_neighbours_than_rows_are_refused_with_both_numbers():
    index = NearestNeighbors(3).fit(X[:3])
    assert index.kneighbors(QUERIES, 3)[1].shape == (37, 3)
    with pytest.raises(ValueError, match="n_neighbors <= 2, n_samples_fit = 3 less one for the row itself"):
        index.kneighbors()
    with pytest.raises(ValueError, match="n_neighbors <= 3, n_samples_fit = 3, but got n_neighbors = 4"):
        index.kneighbors(QUERIES, 4)
