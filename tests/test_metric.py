"""The distance of a curved covariance: its numbers, its use in scikit-learn, and when there is none."""

from __future__ import annotations

import pickle
import re

import nasty
import numpy as np
import pytest
from refusals import refuses
from scipy.spatial.distance import cdist
from shopca_rs import SHOPCA, ShapeOperatorEigenmaps
from shopca_rs.estimators.metric import CurvedMetric, largest_alpha
from shopca_rs.spectrum import covariance_scale
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors


def fitted(alpha=0.02, **options):
    return SHOPCA(alpha=alpha, **options).fit(nasty.continuous())


def test_distances_follow_the_formula():
    X, shopca = nasty.continuous(), fitted()
    form = (shopca.curved_covariance_ + shopca.curved_covariance_.T) / 2
    inverse = np.linalg.inv(form)
    expected = [[np.sqrt((x - y) @ inverse @ (x - y)) for y in X[:9]] for x in X[:7]]
    np.testing.assert_allclose(shopca.mahalanobis(X[:7], X[:9]), expected, atol=1e-10)


def test_alpha_zero_is_the_distance_of_mahalanobis():
    X = nasty.continuous()
    expected = cdist(X, X, "mahalanobis", VI=np.linalg.inv(np.cov(X, rowvar=False)))
    np.testing.assert_allclose(fitted(0).mahalanobis(X), expected, atol=1e-10)


def test_distances_to_oneself_are_symmetric_with_a_zero_diagonal():
    D = fitted().mahalanobis(nasty.continuous() + 1e6)
    np.testing.assert_array_equal(D, D.T)
    assert not np.diag(D).any()


def test_with_pca_in_front_its_scores_are_compared():
    X = nasty.continuous(d=30)
    shopca = SHOPCA(alpha=0.01, max_features=6).fit(X)
    # Scikit-learn's scores, because the shape operator depends on the signs of the columns.
    scores = PCA(6, svd_solver="full").fit_transform(X)
    inner = SHOPCA(alpha=0.01, max_features=None).fit(scores)
    np.testing.assert_allclose(shopca.mahalanobis(X), inner.mahalanobis(scores), atol=1e-8)


def test_the_metric_is_the_same_distance_for_two_points_and_survives_pickling():
    X, shopca = nasty.continuous(), fitted()
    metric = pickle.loads(pickle.dumps(shopca.metric()))
    assert isinstance(metric(X[0], X[1]), float)
    assert metric(X[0], X[1]) == pytest.approx(shopca.mahalanobis(X[:2])[0, 1])


@pytest.mark.parametrize("algorithm", ["brute", "ball_tree"])
def test_neighbour_estimators_take_the_metric(algorithm):
    X, shopca = nasty.continuous(), fitted()
    search = NearestNeighbors(n_neighbors=4, algorithm=algorithm, metric=shopca.metric()).fit(X)
    expected = np.sort(shopca.mahalanobis(X), axis=1)[:, :4]
    np.testing.assert_allclose(search.kneighbors(X)[0], expected, atol=1e-10)


def test_mapped_points_have_the_same_neighbours_in_the_euclidean_distance():
    X, y = load_iris(return_X_y=True)
    metric = SHOPCA(alpha=0.02).fit(X).metric()
    slow = KNeighborsClassifier(7, metric=metric).fit(X, y).predict_proba(X)
    points = X @ metric.map.T
    fast = KNeighborsClassifier(7).fit(points, y).predict_proba(points)
    np.testing.assert_array_equal(slow, fast)


@pytest.mark.parametrize("symmetric", [False, True])
def test_an_indefinite_form_is_refused_with_the_largest_alpha_that_works(symmetric):
    X = nasty.continuous()
    shopca = SHOPCA(alpha=5, symmetric=symmetric).fit(X)
    smallest = np.linalg.eigvalsh((shopca.curved_covariance_ + shopca.curved_covariance_.T) / 2)[0]
    with pytest.raises(ValueError, match="positive definite") as refusal:
        shopca.mahalanobis(X)
    text = str(refusal.value)
    assert f"smallest eigenvalue {smallest:.4g} at alpha = 5" in text
    advised = float(re.search(r"Refit with alpha=([\d.e-]+) or less", text)[1])
    assert np.isfinite(SHOPCA(alpha=advised, symmetric=symmetric).fit(X).mahalanobis(X)).all()


def test_the_largest_alpha_is_where_the_form_becomes_singular():
    shopca = fitted()
    bound = largest_alpha(shopca.covariance_, shopca.mean_shape_operator_)
    fitted(0.9999 * bound).metric()
    with pytest.raises(ValueError, match="positive definite"):
        fitted(1.0001 * bound).metric()


def test_curvature_alone_gives_no_distance():
    with pytest.raises(ValueError, match=r"at alpha = inf.*Refit with alpha="):
        ShapeOperatorEigenmaps().fit(nasty.continuous()).metric()


@pytest.mark.parametrize(("maker", "rank"), [(nasty.constant_columns, 3), (nasty.collinear, 1)])
def test_a_singular_covariance_is_refused_with_the_rank_to_keep(maker, rank):
    X = maker()
    with pytest.raises(ValueError, match=f"along {rank} of .* no alpha helps.*max_features={rank}"):
        SHOPCA(1, alpha=0.01).fit(X).mahalanobis(X)
    D = SHOPCA(1, alpha=0.01, max_features=rank).fit(X).mahalanobis(X)
    assert np.isfinite(D).all()
    assert D.max() > 0


def test_columns_in_different_units_are_not_taken_for_singular():
    X = nasty.continuous()
    scaled = X * [1e9, 1.0, 1e-9, 1.0, 1.0]
    np.testing.assert_allclose(
        SHOPCA(alpha=0).fit(scaled).mahalanobis(scaled), fitted(0).mahalanobis(X), rtol=1e-6
    )


def test_points_with_other_columns_cannot_be_compared():
    with pytest.raises(ValueError, match="3 features, but SHOPCA is expecting 5"):
        fitted().mahalanobis(nasty.continuous(d=3))


def test_columns_of_very_different_sizes_have_the_largest_alpha_of_the_same_columns_scaled():
    X = nasty.continuous(60, 4)
    sizes = np.array([1e-120, 1.0, 1e60, 1e120])
    fitted = SHOPCA(alpha=0.5, max_features=None).fit(X)
    Sigma, S = fitted.covariance_, fitted.mean_shape_operator_
    scale = np.outer(sizes, sizes)
    bound = largest_alpha(Sigma, S)
    # The trace weighs the columns otherwise; λ does not.
    ratio = covariance_scale(Sigma, S) / covariance_scale(Sigma * scale, S * scale)
    np.testing.assert_allclose(largest_alpha(Sigma * scale, S * scale), bound * ratio, rtol=1e-10)


def test_a_form_far_larger_than_the_covariance_is_no_distance():
    X = np.random.default_rng(0).normal(size=(30, 3)) * [1e-120, 1e120, 1]
    X[:, 2] = 2 * X[:, 1]
    refuses(
        ValueError, ["A distance needs a positive definite"], ShapeOperatorEigenmaps(1).fit(X).mahalanobis, X
    )


def test_the_largest_alpha_is_found_where_curvature_in_units_of_the_deviations_overflows():
    Sigma, S = np.diag([1.0, 1e-160]), np.diag([-1e-160, -1e150])
    # The scale is 1e-150, and S̄ against Σ along the second axis −1e310.
    assert np.isclose(largest_alpha(Sigma, S), 1e-160, rtol=1e-12, atol=0)


def test_equal_points_of_any_size_are_at_distance_zero():
    np.testing.assert_array_equal(CurvedMetric(np.eye(3)).pairwise(np.full((8, 3), 1e308)), np.zeros((8, 8)))


def test_the_largest_alpha_needs_a_positive_definite_covariance():
    with pytest.raises(ValueError, match="covariance must be positive definite, got one that is not"):
        largest_alpha(np.diag([1.0, 0.0]), -np.eye(2))
