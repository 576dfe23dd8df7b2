"""The parts of an experiment: preparing data, embedding them, scoring the embedding."""

from __future__ import annotations

import os
import sys
import types
from pathlib import Path

import nasty
import numpy as np
import pytest
import reference
from shopca_rs import SHOPCA
from shopca_rs.experiments import methods, numpy_bases
from shopca_rs.experiments.protocols import PROTOCOLS, as_published, as_written
from shopca_rs.experiments.scores import CLUSTERINGS, INDICES, cluster_scores, neighbor_accuracy
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.decomposition import PCA

DATA = Path(os.environ.get("SHOPCA_DATA", Path(__file__).parents[2] / "shared" / "data"))
BASES = ("numpy", "lapack", "average")
METHODS = {
    f"{protocol.name}-{method.name}": method
    for protocol in PROTOCOLS.values()
    for method in protocol.methods
    if method.name != "umap"
}

every_clustering = pytest.mark.parametrize("clustering", CLUSTERINGS)
every_basis = pytest.mark.parametrize("bases", BASES)
every_method = pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)


def stored(name):
    if not (DATA / f"{name}.npz").exists():
        pytest.skip(f"{name}.npz is not in {DATA}; set SHOPCA_DATA to the folder that has it")
    with np.load(DATA / f"{name}.npz") as file:
        return file["X"].astype(np.float64), np.unique(file["y"], return_inverse=True)[1]


def as_printed(Z, y):
    """ARI, Fowlkes-Mallows and V-measure of complete linkage, rounded as in the tables."""
    found = cluster_scores(Z, y, "complete")
    return [round(found[index], 4) for index in ("ari", "fm", "v_measure")]


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return as_published(X), y


@pytest.fixture(scope="module")
def digits():
    return load_digits().data


@every_clustering
def test_the_normalised_mutual_information_is_the_v_measure(clustering, iris):
    Z, y = iris
    found = cluster_scores(Z[:, 2:], y, clustering)
    assert tuple(found) == INDICES
    assert 0.5 < found["v_measure"] < 1
    assert found["nmi"] == pytest.approx(found["v_measure"], abs=1e-14)


@every_clustering
def test_a_clustering_that_differs_in_one_point_has_the_scores_of_the_formulas(clustering):
    # The third point sits with the other class: 4 of the 15 pairs are together in both, 7 in the clusters, 6
    # in the classes. A k-means start, and any linkage, must find two clusters as far apart as these.
    Z = np.array([[0.0], [0.1], [9.0], [9.1], [9.2], [9.3]])
    found = cluster_scores(Z, np.array([0, 0, 0, 1, 1, 1]), clustering)
    chance = 7 * 6 / 15
    assert found["ari"] == pytest.approx((4 - chance) / ((7 + 6) / 2 - chance))
    assert found["fm"] == pytest.approx(4 / np.sqrt(7 * 6))


@every_clustering
def test_there_are_as_many_clusters_as_classes_however_these_are_numbered(clustering):
    groups = np.repeat([[0.0], [5.0], [11.0]], 4, axis=0) + np.tile([[0.0], [0.1], [0.8], [0.9]], (3, 1))
    assert cluster_scores(groups, np.repeat([7, 2, 40], 4), clustering)["ari"] == 1
    assert cluster_scores(groups, np.repeat([0, 0, 1], 4), clustering)["ari"] == 1
    assert cluster_scores(groups, np.repeat([0, 1, 2, 3, 4, 5], 2), clustering)["ari"] == 1


def test_k_means_scores_do_not_depend_on_what_was_drawn_before():
    rng = np.random.default_rng(0)
    Z, y = rng.normal(size=(300, 2)), rng.integers(6, size=300)
    np.random.seed(1)  # noqa: NPY002 - the generator that an unseeded k-means would use
    first = cluster_scores(Z, y, "kmeans")
    np.random.seed(2)  # noqa: NPY002
    assert cluster_scores(Z, y, "kmeans") == first


def test_the_neighbour_accuracy_is_1_for_classes_apart_and_chance_for_labels_at_random():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 200)
    Z = rng.normal(size=(400, 2)) + 20 * y[:, None]
    assert neighbor_accuracy(Z, y) == 1
    assert neighbor_accuracy(Z, rng.permutation(y)) == pytest.approx(0.5, abs=0.1)


def test_the_folds_are_shuffled_so_that_sorted_rows_score_like_any_others():
    # Each class drifts along its rows, the second two units ahead of the first. Folds of consecutive rows
    # would leave out a stretch of a class exactly where the other one is, and score 0.34.
    y = np.repeat([0, 1], 100)
    drift = np.linspace(0, 10, 100)
    Z = np.column_stack([np.concatenate([drift, drift + 2]), 0.5 * y])
    assert neighbor_accuracy(Z, y) > 0.95


def test_a_class_with_fewer_points_than_folds_is_scored_without_a_warning():
    rng = np.random.default_rng(0)
    y = np.array([0] * 40 + [1] * 40 + [2] * 3)
    assert 0.9 < neighbor_accuracy(rng.normal(size=(83, 2)) + 9 * y[:, None], y) < 1


# 600 points are more than two blocks and not a whole number of them.
@pytest.mark.parametrize(("d", "k"), [(2, 6), (4, 9), (7, 8)])
def test_with_numpy_s_bases_the_operator_is_that_of_algorithm_1(d, k):
    X = nasty.continuous(600, d)
    neighbors = reference.neighbors(X, k)
    found = numpy_bases.mean_shape_operator(X, neighbors)
    assert reference.relative_error(found, reference.algorithm_1(X, k, neighbors)) < 1e-12


def test_with_numpy_s_bases_that_holds_even_where_rounding_errors_choose_the_eigenvectors():
    # 5 neighbours in 13 dimensions. The oracle asks NumPy too, one matrix at a time: were the covariances
    # different in the last bit, the eigenvectors of the null space would have nothing in common.
    X = as_published(load_wine().data)
    neighbors = reference.neighbors(X, 5)
    expected = reference.algorithm_1(X, 5, neighbors)
    assert reference.relative_error(numpy_bases.mean_shape_operator(X, neighbors), expected) < 1e-12
    averaged = reference.algorithm_1(X, 5, neighbors, operator=reference.averaged_operator)
    assert reference.relative_error(averaged, expected) > 1e-3


@every_basis
def test_iris_has_the_published_lambda_and_scores_with_all_bases(bases, iris):
    X, y = iris
    found = methods.shopca_of_the_tables(bases)(X, 0)
    assert found.details["lambda"] == pytest.approx(55.19, abs=0.005)
    assert as_printed(found.Z, y) == [0.7312, 0.8222, 0.7701]
    # Three rows have two points at the distance of their fifth neighbour.
    assert (found.details["k"], found.details["rank"], found.details["tied_rows"]) == (5, 4, 3)


@every_basis
def test_prnn_synth_whose_two_features_leave_no_eigenvalue_behind_the_second_is_as_published(bases):
    X, y = stored("prnn_synth")
    found = methods.shopca_of_the_tables(bases)(as_published(X), 0)
    assert found.details["lambda"] == pytest.approx(53.30, abs=0.006)
    assert as_printed(found.Z, y) == [0.4178, 0.7199, 0.3970]


def test_ionosphere_has_the_published_scores_with_the_average_over_bases():
    # NumPy's bases give these scores too, but another build of NumPy's LAPACK might not: 6 neighbours in 25
    # dimensions leave most of every basis to rounding errors.
    X, y = stored("ionosphere")
    found = methods.shopca_of_the_tables("average")(as_published(X), 0)
    assert as_printed(found.Z, y) == [0.0374, 0.7293, 0.0626]


@every_basis
def test_the_bases_change_lambda_by_a_few_percent_at_most_where_they_are_not_determined(bases):
    X, _ = stored("ionosphere")
    found = methods.shopca_of_the_tables(bases)(as_published(X), 0)
    assert found.details["lambda"] == pytest.approx(40.82, rel=0.05)
    assert (found.details["k"], found.details["rank"]) == (6, 25)


def test_pca_is_the_projection_on_the_leading_eigenvectors_of_the_covariance(iris):
    X, _ = iris
    vectors = np.linalg.eigh(np.cov(X, rowvar=False)).eigenvectors[:, :-3:-1]
    expected = (X - X.mean(axis=0)) @ vectors
    np.testing.assert_allclose(np.abs(methods.pca(X, 0).Z), np.abs(expected), atol=1e-12)


def test_shopca_of_the_fair_comparison_is_the_estimator_with_these_parameters(iris):
    X, _ = iris
    fitted = SHOPCA(alpha=1.0).fit(X)
    found = PROTOCOLS["fair"].method("shopca-alpha-1").embed(X, 0)
    np.testing.assert_array_equal(found.Z, fitted.transform(X))
    assert found.details == {"k": fitted.n_neighbors_, "alpha": 1.0, "lambda": fitted.lambda_}


@every_method
def test_a_method_returns_two_columns_and_leaves_the_data_for_the_next(method, iris):
    # The data of a run are prepared once and handed to all its methods.
    X = iris[0].copy()
    X.flags.writeable = False
    found = method.embed(X, 0)
    assert found.Z.shape == (150, 2)
    assert found.Z.dtype == np.float64
    np.testing.assert_array_equal(X, iris[0])


@every_method
def test_only_methods_that_say_so_depend_on_the_seed(method, iris):
    embedded = []
    for seed in (0, 1):
        np.random.seed(0)  # noqa: NPY002 - as the runner does
        embedded.append(method.embed(iris[0], seed).Z)
    assert not method.seeded
    np.testing.assert_array_equal(*embedded)


def test_umap_gets_its_seed_and_one_thread(monkeypatch, iris):
    # The real one takes ten seconds to import.
    class UMAP:
        def __init__(self, **settings):
            self.settings = settings

        def fit_transform(self, X):
            assert self.settings == {"n_components": 2, "random_state": 5, "n_jobs": 1}
            return X[:, :2].astype(np.float32)

    monkeypatch.setitem(sys.modules, "umap", types.SimpleNamespace(UMAP=UMAP))
    found = methods.umap(iris[0], 5)
    assert found.Z.dtype == np.float64
    np.testing.assert_array_equal(found.Z, iris[0][:, :2].astype(np.float32))
    assert PROTOCOLS["published"].method("umap").seeded


@pytest.mark.parametrize("protocol", PROTOCOLS.values(), ids=PROTOCOLS)
def test_the_methods_of_a_protocol_have_different_names_and_are_found_by_them(protocol):
    names = [method.name for method in protocol.methods]
    assert len(set(names)) == len(names)
    assert [protocol.method(name) for name in names] == list(protocol.methods)


def test_after_the_published_preparation_of_many_features_the_covariance_is_the_identity(digits):
    X = as_published(digits)
    n = len(X)
    assert X.shape == (n, 25)
    np.testing.assert_allclose(np.cov(X, rowvar=False), np.eye(25) * n / (n - 1), atol=1e-12)
    # So its principal components are any: no direction has more variance than another.
    np.testing.assert_allclose(PCA().fit(X).explained_variance_ratio_, 1 / 25, rtol=1e-10)


def test_after_the_written_preparation_of_many_features_the_components_keep_their_variances(digits):
    X = as_written(digits)
    variances = X.var(axis=0)
    assert X.shape == (len(digits), 25)
    assert (np.diff(variances) < 0).all()
    assert variances[0] > 5 * variances[-1]


@pytest.mark.parametrize("prepare", [as_published, as_written])
def test_few_features_are_standardised(prepare):
    X = prepare(load_wine().data)
    np.testing.assert_allclose(X.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(X.var(axis=0), 1)
    assert X.shape == (178, 13)


def test_units_matter_to_the_published_preparation_of_many_features_and_not_to_the_written_one(digits):
    # A factor of 100 on one of 64 columns: standardising first undoes it, PCA first makes a component of it.
    scaled = digits * np.where(np.arange(64) == 20, 100.0, 1.0)
    np.testing.assert_allclose(np.abs(as_written(scaled)), np.abs(as_written(digits)), atol=1e-6)
    own = (digits[:, 20] - digits[:, 20].mean()) / digits[:, 20].std()
    assert abs(as_published(scaled)[:, 0] @ own) / len(own) > 0.99
    assert abs(as_published(digits)[:, 0] @ own) / len(own) < 0.9


def test_missing_values_are_zeros_in_the_published_preparation():
    X = load_iris().data.copy()
    X[::7, 1] = np.nan
    zeros = np.where(np.isnan(X), 0.0, X)
    np.testing.assert_array_equal(as_published(X), as_published(zeros))
    assert np.isnan(X[0, 1])


def test_missing_values_are_the_mean_of_the_others_in_the_written_preparation():
    X = load_iris().data.copy()
    X[::7, 1] = np.nan
    prepared = as_written(X)
    present = X[~np.isnan(X[:, 1]), 1]
    np.testing.assert_array_equal(prepared[::7, 1], 0)
    expected = (present - present.mean()) / present.std()
    np.testing.assert_allclose(prepared[~np.isnan(X[:, 1]), 1], expected, rtol=1e-10, atol=1e-12)
    assert np.isnan(X[0, 1])
