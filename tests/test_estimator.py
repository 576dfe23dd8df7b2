"""SHOPCA and its eigenmaps against scikit-learn's PCA, against NumPy's eigenvectors, and at the edges."""

from __future__ import annotations

import warnings

import nasty
import numpy as np
import pytest
import scipy.linalg
from reference import algorithm_1, averaged_operator
from shopca_rs import SHOPCA, ShapeOperatorEigenmaps, mean_shape_operator
from shopca_rs.spectrum import leading_directions
from sklearn.datasets import load_digits, load_iris
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError

IRIS = load_iris().data
DIGITS = load_digits().data
# Three columns of DIGITS are constant and its small variances are close to each other: PCA's own solvers
# agree on the leading components only.
PCA_CASES = [(IRIS, 4), (nasty.continuous(d=12), 12), (DIGITS, 5), (nasty.wide(), 6), (nasty.one_column(), 1)]


def oracle(X, k, alpha, m):
    """Leading eigenvectors (rows, unit length) of Σ + λ S̄ by NumPy alone; their signs are arbitrary."""
    Sigma, S = np.cov(X, rowvar=False), algorithm_1(X, k, operator=averaged_operator)
    values, vectors = np.linalg.eig(
        S if np.isinf(alpha) else Sigma - alpha * np.trace(Sigma) / np.trace(S) * S
    )
    order = np.argsort(-values.real, kind="stable")[:m]
    assert not values[order].imag.any()
    return vectors[:, order].real.T


def cosines(A, B):
    return np.abs((A * B).sum(axis=1)) / np.linalg.norm(A, axis=1) / np.linalg.norm(B, axis=1)


@pytest.mark.parametrize(("X", "m"), PCA_CASES, ids=["iris", "continuous", "digits", "wide", "one column"])
@pytest.mark.parametrize("solver", ["full", "auto"])
def test_alpha_zero_is_scikit_learn_s_pca(X, m, solver):
    shopca, pca = SHOPCA(m, alpha=0).fit(X), PCA(m, svd_solver=solver).fit(X)
    np.testing.assert_allclose(shopca.components_, pca.components_, atol=1e-10)
    np.testing.assert_allclose(shopca.mean_, pca.mean_, atol=1e-10)
    np.testing.assert_allclose(shopca.transform(X), pca.transform(X), atol=1e-10 * np.abs(X).max())
    np.testing.assert_allclose(shopca.explained_variance_, pca.explained_variance_, rtol=1e-10)
    np.testing.assert_allclose(shopca.explained_variance_ratio_, pca.explained_variance_ratio_, rtol=1e-10)
    assert (shopca.alpha_, shopca.lambda_, shopca.bauer_fike_bound_) == (0, 0, 0)


@pytest.mark.parametrize("alpha", [0.3, 1.0, 20.0])
def test_components_are_numpy_s_leading_eigenvectors(alpha):
    X = nasty.continuous(n=80, d=4)
    shopca = SHOPCA(3, n_neighbors=9, alpha=alpha).fit(X)
    np.testing.assert_allclose(cosines(shopca.components_, oracle(X, 9, alpha, 3)), 1, atol=1e-10)
    np.testing.assert_allclose(np.linalg.norm(shopca.components_, axis=1), 1)
    np.testing.assert_allclose(shopca.transform(X), (X - X.mean(0)) @ shopca.components_.T, atol=1e-12)


@pytest.mark.parametrize("make", [ShapeOperatorEigenmaps, lambda *a, **o: SHOPCA(*a, alpha=np.inf, **o)])
def test_alpha_infinity_is_the_leading_eigenvectors_of_the_mean_shape_operator(make):
    X = nasty.continuous(n=80, d=4)
    maps = make(2, n_neighbors=9).fit(X)
    np.testing.assert_allclose(cosines(maps.components_, oracle(X, 9, np.inf, 2)), 1, atol=1e-10)
    np.testing.assert_array_equal(maps.curved_covariance_, maps.mean_shape_operator_)
    assert np.isinf([maps.alpha_, maps.lambda_, maps.bauer_fike_bound_]).all()


def test_the_eigenmaps_are_the_limit_of_large_alphas():
    X = nasty.continuous(n=80, d=4)
    limit, near = ShapeOperatorEigenmaps().fit(X), SHOPCA(alpha=1e9).fit(X)
    np.testing.assert_allclose(near.components_, limit.components_, atol=1e-6)


def test_the_attributes_fit_together():
    X = nasty.continuous()
    shopca = SHOPCA(3).fit(X)
    np.testing.assert_allclose(shopca.covariance_, np.cov(X, rowvar=False), rtol=1e-12)
    np.testing.assert_array_equal(shopca.mean_shape_operator_, mean_shape_operator(X, 7))
    assert shopca.n_neighbors_ == 7
    assert shopca.lambda_ == shopca.alpha_ * shopca.scale_
    np.testing.assert_allclose(
        shopca.curved_covariance_, shopca.covariance_ + shopca.lambda_ * shopca.mean_shape_operator_
    )
    assert shopca.alpha_grid_.shape == shopca.eigengaps_.shape == (50,)
    assert shopca.alpha_ == shopca.alpha_grid_[np.argmax(shopca.eigengaps_)]
    assert len(shopca.eigenvalues_) == 5
    np.testing.assert_allclose(shopca.explained_variance_, shopca.transform(X).var(axis=0, ddof=1))
    total = X.var(axis=0, ddof=1).sum()
    np.testing.assert_allclose(shopca.explained_variance_ratio_, shopca.explained_variance_ / total)


def test_pca_in_front_is_folded_into_the_components():
    X = DIGITS[:300]
    shopca = SHOPCA(3, max_features=10).fit(X)
    scores = PCA(10, svd_solver="full").fit_transform(X)
    inner = SHOPCA(3, max_features=None).fit(scores)
    assert shopca.components_.shape == (3, 64)
    assert shopca.covariance_.shape == (10, 10)
    assert shopca.alpha_ == pytest.approx(inner.alpha_)
    for ours, theirs in zip(shopca.transform(X).T, inner.transform(scores).T, strict=True):
        assert min(abs(ours - theirs).max(), abs(ours + theirs).max()) < 1e-8
    assert shopca.explained_variance_ratio_.sum() < inner.explained_variance_ratio_.sum()


@pytest.mark.parametrize("alpha", [1, np.inf])
@pytest.mark.parametrize("max_features", [20, None])
def test_the_largest_entry_of_every_component_is_positive(alpha, max_features):
    rows = SHOPCA(15, alpha=alpha, max_features=max_features).fit(DIGITS[:300]).components_
    assert (rows.max(axis=1) > -rows.min(axis=1)).all()


def test_pca_in_front_keeps_no_rounding_errors():
    X = nasty.continuous(d=3) @ np.random.default_rng(0).normal(size=(3, 40))
    assert SHOPCA(alpha=1).fit(X).covariance_.shape == (3, 3)


def test_more_components_than_max_features_widen_it():
    assert SHOPCA(30, alpha=1).fit(DIGITS).covariance_.shape == (30, 30)


def test_the_symmetric_variant_has_orthogonal_components_and_a_real_spectrum():
    shopca = SHOPCA(3, symmetric=True, alpha=2.0).fit(nasty.continuous())
    np.testing.assert_allclose(shopca.components_ @ shopca.components_.T, np.eye(3), atol=1e-12)
    np.testing.assert_array_equal(shopca.curved_covariance_, shopca.curved_covariance_.T)
    assert shopca.imaginary_ratio_ == 0
    assert shopca.skew_ratio_ > 0


@pytest.mark.parametrize("name", ["skew_ratio_", "imaginary_ratio_", "bauer_fike_bound_", "eigenvalues_"])
def test_what_is_computed_when_read_asks_for_a_fit_first(name):
    with pytest.raises(NotFittedError, match="not fitted"):
        getattr(SHOPCA(), name)


@pytest.mark.parametrize("m", [1, 2, 3, 4])
def test_a_complex_pair_leaves_the_components_independent(m, monkeypatch):
    X = nasty.continuous(d=4)
    turning = -scipy.linalg.block_diag(0.1, [[0.2, -3.0], [3.0, 0.2]], 5.0)
    monkeypatch.setattr(
        "shopca_rs.estimators.curved_pca.mean_shape_operator", lambda *_, **__: (turning, 0 * turning)
    )
    shopca = SHOPCA(m, alpha=np.inf).fit(X)
    assert shopca.components_.dtype == np.float64
    assert np.linalg.matrix_rank(shopca.components_) == m
    assert shopca.imaginary_ratio_ == pytest.approx(3 / 5)
    np.testing.assert_array_equal(shopca.components_, leading_directions(turning, m).vectors.T)


def test_as_many_components_as_features_lose_nothing():
    X = nasty.continuous()
    shopca = SHOPCA(5).fit(X)
    np.testing.assert_allclose(shopca.inverse_transform(shopca.transform(X)), X, atol=1e-9)
    assert np.isfinite(shopca.eigengaps_).all()


def test_one_feature_is_its_own_component():
    X = nasty.one_column()
    shopca = SHOPCA(1).fit(X)
    assert shopca.components_.tolist() == [[1.0]]
    np.testing.assert_allclose(shopca.transform(X), X - X.mean())
    assert shopca.alpha_ == 0.1


@pytest.mark.parametrize("alpha", [0, 1, np.inf])
def test_inverse_transform_is_the_nearest_preimage(alpha):
    X = nasty.continuous()
    shopca = SHOPCA(2, alpha=alpha).fit(X)
    Z = shopca.transform(X)
    back = shopca.inverse_transform(Z)
    np.testing.assert_allclose(shopca.transform(back), Z, atol=1e-12)
    expected = np.linalg.lstsq(shopca.components_, Z.T, rcond=None)[0].T + shopca.mean_
    np.testing.assert_allclose(back, expected, atol=1e-12)


def test_float32_in_gives_float32_out_with_the_numbers_of_float64():
    X = nasty.continuous().astype(np.float32) + np.float32(1e4)
    single, double = SHOPCA().fit(X), SHOPCA().fit(X.astype(np.float64))
    np.testing.assert_array_equal(single.components_, double.components_)
    Z = single.transform(X)
    assert Z.dtype == single.inverse_transform(Z).dtype == np.float32
    np.testing.assert_allclose(Z, double.transform(X.astype(np.float64)), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("fraction", [0.3, 0.75, 0.9, 0.999])
@pytest.mark.parametrize("X", [IRIS, DIGITS], ids=["iris", "digits"])
def test_a_fraction_takes_as_many_components_as_pca(X, fraction):
    m = PCA(fraction, svd_solver="full").fit(X).n_components_
    shopca = SHOPCA(fraction, alpha=0.5).fit(X)
    assert shopca.n_components_ == len(shopca.components_) == m


def test_none_takes_all_components_up_to_max_features():
    assert SHOPCA(None).fit(IRIS).n_components_ == 4
    assert SHOPCA(None).fit(DIGITS).n_components_ == 25
    assert SHOPCA(None, max_features=None, alpha=1).fit(nasty.wide(20, 30)).n_components_ == 20


@pytest.mark.parametrize(
    ("rule", "n", "k"), [("log2", 150, 7), ("log", 150, 5), ("log", 4, 2), ("log2", 3, 2)]
)
def test_rules_for_the_neighbours_are_rounded_and_kept_in_range(rule, n, k):
    assert SHOPCA(1, n_neighbors=rule, alpha=1).fit(nasty.continuous(n)).n_neighbors_ == k


@pytest.mark.parametrize("maker", [nasty.all_same, nasty.many_copies], ids=lambda maker: maker.__name__)
@pytest.mark.parametrize("estimator", [SHOPCA(), ShapeOperatorEigenmaps()], ids=["shopca", "eigenmaps"])
@pytest.mark.parametrize("shift", [0.0, 1e6 / 3])
def test_without_curvature_it_is_pca_and_says_so(maker, estimator, shift):
    X = maker() + shift
    with pytest.warns(UserWarning, match="mean shape operator is zero.*Fitting PCA instead") as caught:
        fitted = estimator.fit(X)
    assert caught[0].filename == __file__
    assert (fitted.alpha_, fitted.lambda_, fitted.scale_) == (0, 0, 0)
    with np.errstate(invalid="ignore"):
        expected = PCA(2, svd_solver="full").fit_transform(X)
    np.testing.assert_allclose(
        abs(np.linalg.svd(fitted.transform(X))[1]), np.linalg.svd(expected)[1], atol=1e-6
    )
    assert "no curvature was found" in fitted.summary()


@pytest.mark.parametrize("m", [1, 2])
@pytest.mark.parametrize("alpha", ["auto", 0, 1, 50, np.inf])
def test_any_nasty_data_give_finite_unit_components(nasty_points, m, alpha):
    m = min(m, nasty_points.shape[1])
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The mean shape operator is zero")
        shopca = SHOPCA(m, alpha=alpha).fit(nasty_points)
    np.testing.assert_allclose(np.linalg.norm(shopca.components_, axis=1), 1)
    assert np.linalg.matrix_rank(shopca.components_) == m
    assert np.isfinite(shopca.transform(nasty_points)).all()
    assert np.isfinite(shopca.eigengaps_).all()
    assert shopca.summary()


@pytest.mark.parametrize("alpha", ["auto", 1, 50, np.inf])
def test_a_constant_column_changes_nothing(alpha):
    X = nasty.continuous()
    more = np.insert(X, 2, 7.1, axis=1)
    plain, padded = SHOPCA(alpha=alpha).fit(X), SHOPCA(alpha=alpha).fit(more)
    np.testing.assert_allclose(np.delete(padded.components_, 2, axis=1), plain.components_, atol=1e-9)
    np.testing.assert_allclose(padded.components_[:, 2], 0, atol=1e-9)
    assert padded.alpha_ == plain.alpha_


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"n_neighbors": 120}, "n_neighbors must be at most n_samples - 1 = 119 .* got 120"),
        ({"n_components": 6}, "n_components must be at most min.* = 5, got 6"),
        ({"n_jobs": 0}, "n_jobs must not be 0"),
        ({"alpha_grid": []}, "alpha_grid must be 1-D with at least one number"),
        ({"alpha_grid": [1.0, -2.0]}, "alpha_grid must hold numbers from 0 to inf, got -2"),
        ({"alpha": 1.7e308}, "Use alpha=inf"),
    ],
)
def test_a_parameter_out_of_range_is_named_in_a_sentence(options, text):
    with pytest.raises(ValueError, match=text):
        SHOPCA(**options).fit(nasty.continuous())


def test_squares_that_overflow_are_refused():
    with pytest.raises(ValueError, match=r"squares that fit in float64.*Rescale"):
        SHOPCA().fit(nasty.continuous() * 1e200)


def test_the_wrong_number_of_columns_cannot_be_mapped_back():
    with pytest.raises(ValueError, match="must have 2 columns, one for each component, got 3"):
        SHOPCA().fit(IRIS).inverse_transform(IRIS[:, :3])
