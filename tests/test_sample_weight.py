"""Weights of the rows: Σ and S̄ are weighted means, rows of weight 0 are absent."""

from __future__ import annotations

import nasty
import numpy as np
import pytest
import reference
from shopca_rs import SHOPCA, ShapeOperatorEigenmaps, k_neighbors, mean_shape_operator
from sklearn.decomposition import PCA

# Number of points, columns and neighbours: each takes another route through the mathematics.
ROUTES = {
    "eight at once, more points than columns": (121, 4, 9),
    "eight at once, fewer points than columns": (61, 30, 5),
    "scattered": (203, 40, 9),
    "one at a time": (90, 60, 45),
}
every_route = pytest.mark.parametrize("route", ROUTES)
every_estimator = pytest.mark.parametrize(
    "make", [SHOPCA, ShapeOperatorEigenmaps], ids=lambda make: make.__name__
)
FITTED = (
    "components_",
    "mean_",
    "covariance_",
    "mean_shape_operator_",
    "eigenvalues_",
    "explained_variance_",
)


def data(route):
    n, d, k = ROUTES[route]
    rng = np.random.default_rng(n)
    return nasty.continuous(n, d, seed=n + d), k, rng.uniform(0.1, 3, n)


@every_route
@pytest.mark.parametrize("include_self", [False, True])
def test_the_mean_is_weighted(route, include_self):
    X, k, weights = data(route)
    weights[::5] = 0
    ours = mean_shape_operator(X, k, sample_weight=weights, include_self=include_self)
    expected = reference.weighted_mean(X, k, weights, include_self)
    assert reference.relative_error(ours, expected) < 1e-12
    assert reference.relative_error(mean_shape_operator(X, k, include_self=include_self), expected) > 1e-3


def test_the_solver_s_own_basis_is_weighted_as_well():
    X, k, weights = data("eight at once, more points than columns")
    operators = [reference.shape_operator(X[rows]) for rows in reference.neighbors(X, k)]
    ours = mean_shape_operator(X, k, sample_weight=weights, degenerate="lapack")
    assert reference.relative_error(ours, np.average(operators, axis=0, weights=weights)) < 1e-12


@every_route
def test_the_bits_do_not_depend_on_threads_algorithm_or_the_size_of_the_weights(route):
    X, k, weights = data(route)

    def bits(factor=1.0, **options):
        return mean_shape_operator(X, k, sample_weight=factor * weights, **options).tobytes()

    expected = bits(n_jobs=1)
    assert bits(n_jobs=3) == expected
    assert bits(algorithm="brute", n_jobs=2) == expected
    assert bits(8.0) == expected


@every_route
def test_equal_weights_are_no_weights_to_the_bit(route):
    X, k, _ = data(route)
    for options in ({}, {"sample": 30}):
        ours = mean_shape_operator(X, k, sample_weight=np.full(len(X), 0.3), **options)
        assert ours.tobytes() == mean_shape_operator(X, k, **options).tobytes()


@every_route
@pytest.mark.parametrize("sample", [None, 25])
def test_a_weight_of_zero_is_absence_to_the_bit(route, sample):
    X, k, weights = data(route)
    weights[1::3] = 0
    kept = weights > 0
    options = {"sample": sample, "return_error": True}
    ours = mean_shape_operator(X, k, sample_weight=weights, **options)
    absent = mean_shape_operator(X[kept], k, sample_weight=weights[kept], **options)
    np.testing.assert_array_equal(ours, absent)


def test_given_neighbours_are_used_as_given_whatever_their_weights():
    X, k, weights = data("eight at once, more points than columns")
    weights[1::3] = 0
    given, _ = k_neighbors(X, k)
    operators = [reference.averaged_operator(X[rows]) for rows in given]
    ours = mean_shape_operator(X, k, neighbors=given, sample_weight=weights)
    assert reference.relative_error(ours, np.average(operators, axis=0, weights=weights)) < 1e-12


def test_a_weighted_sample_has_the_weighted_mean_and_error_of_its_rows():
    X, k, weights = data("eight at once, more points than columns")
    rows = np.random.RandomState(5).permutation(len(X))[:64]
    operators = np.array([reference.averaged_operator(X[list_]) for list_ in reference.neighbors(X, k)[rows]])
    w = weights[rows]
    mean, error = mean_shape_operator(
        X, k, sample_weight=weights, sample=64, random_state=5, return_error=True
    )
    expected = np.average(operators, axis=0, weights=w)
    assert reference.relative_error(mean, expected) < 1e-12
    squares = 0
    for start in range(0, 64, 2):
        group = slice(start, start + 2)
        own = np.average(operators[group], axis=0, weights=w[group])
        squares = squares + w[group].sum() * (own - expected) ** 2
    expected_error = np.sqrt((1 - 64 / len(X)) / (w.sum() * 31) * squares)
    assert reference.relative_error(error, expected_error) < 1e-9


def test_the_weighted_error_is_the_spread_of_weighted_samples():
    X = nasty.continuous(600, 3)
    weights = np.random.default_rng(0).exponential(size=600)
    full = mean_shape_operator(X, 6, sample_weight=weights)
    sampled = [
        mean_shape_operator(X, 6, sample_weight=weights, sample=200, random_state=seed, return_error=True)
        for seed in range(60)
    ]
    spread = np.sqrt(np.mean([(mean - full) ** 2 for mean, _ in sampled], axis=0))
    told = np.sqrt(np.mean([error**2 for _, error in sampled], axis=0))
    np.testing.assert_allclose(np.diag(told), np.diag(spread), rtol=0.3)


@every_estimator
@pytest.mark.parametrize("options", [{}, {"max_features": 4}, {"sample": 30}], ids=str)
def test_an_estimator_drops_rows_of_weight_zero_and_takes_equal_weights_for_none(make, options):
    X, _, weights = data("eight at once, fewer points than columns")
    weights[::4] = 0
    kept = weights > 0
    ones = make(**options).fit(X[kept], sample_weight=np.ones(kept.sum()))
    for one, other in [
        (make(**options).fit(X, None, weights), make(**options).fit(X[kept], sample_weight=weights[kept])),
        (make(**options).fit(X, sample_weight=kept), make(**options).fit(X[kept])),
        (ones, make(**options).fit(X[kept])),
    ]:
        for name in FITTED:
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
        assert one.n_samples_ == kept.sum()


@every_estimator
@pytest.mark.parametrize("max_features", [None, 6])
def test_all_means_of_an_estimator_are_weighted(make, max_features):
    X, _, weights = data("eight at once, fewer points than columns")
    fitted = make(max_features=max_features).fit(X, sample_weight=weights)
    mean = np.average(X, axis=0, weights=weights)
    np.testing.assert_allclose(fitted.mean_, mean)
    points, Sigma = X, np.cov(X.T, aweights=weights, ddof=0) * len(X) / (len(X) - 1)
    np.testing.assert_allclose(
        fitted.explained_variance_ratio_,
        np.einsum("ij,jk,ik->i", fitted.components_, Sigma, fitted.components_) / np.trace(Sigma),
    )
    if max_features is not None:
        principal = np.linalg.eigh(Sigma)[1][:, ::-1][:, :max_features]
        # Signs as PCA has them, which S̄ depends on.
        principal *= np.sign(principal[np.abs(principal).argmax(axis=0), np.arange(max_features)])
        points, Sigma = (X - mean) @ principal, principal.T @ Sigma @ principal
    np.testing.assert_allclose(fitted.covariance_, Sigma, atol=1e-12 * np.trace(Sigma))
    S = reference.weighted_mean(points, fitted.n_neighbors_, weights)
    assert reference.relative_error(fitted.mean_shape_operator_, S) < 1e-9


def test_a_row_of_weight_two_is_two_rows_but_for_the_neighbours():
    X = nasty.continuous()
    counts = np.random.default_rng(1).integers(1, 3, len(X))
    copies = np.repeat(np.arange(len(X)), counts)
    weighted = SHOPCA(n_neighbors=7).fit(X, sample_weight=counts)
    repeated = SHOPCA(n_neighbors=7).fit(X[copies])
    # Σ is the same but for its divisor, n − 1 over n.
    n, more = len(X), len(copies)
    np.testing.assert_allclose(weighted.covariance_ * (n - 1) / n, repeated.covariance_ * (more - 1) / more)
    np.testing.assert_allclose(weighted.mean_, repeated.mean_)
    np.testing.assert_allclose(
        SHOPCA(alpha=0).fit(X, sample_weight=counts).components_, PCA(2).fit(X[copies]).components_
    )
    # S̄ is the one of the repeated rows, if copies find the neighbours that their row has without copies.
    operators = [reference.averaged_operator(X[rows]) for rows in reference.neighbors(X, 7)[copies]]
    np.testing.assert_allclose(weighted.mean_shape_operator_, np.mean(operators, axis=0))
    # A copy is its row's nearest neighbour and pushes another out: neighbourhoods shrink.
    ratio = np.trace(repeated.mean_shape_operator_) / np.trace(weighted.mean_shape_operator_)
    assert 0.5 < ratio < 0.9


def test_huge_and_tiny_weights_are_as_good_as_others():
    X, k, weights = data("scattered")
    expected = mean_shape_operator(X, k, sample_weight=weights)
    for power in (-1000, 1000):
        got = mean_shape_operator(X, k, sample_weight=np.ldexp(weights, power))
        np.testing.assert_array_equal(got, expected)
    one = np.full(len(X), 1e-300)
    one[3] = 1.0
    alone = reference.averaged_operator(X[reference.neighbors(X, k)[3]])
    assert reference.relative_error(mean_shape_operator(X, k, sample_weight=one), alone) < 1e-12


@every_estimator
def test_too_few_rows_with_a_weight_are_refused(make):
    X = nasty.continuous(10, 3)
    with pytest.raises(ValueError, match="sample_weight must give at least 3 rows a weight above 0, got 2"):
        make().fit(X, sample_weight=[1, 2] + 8 * [0])
    with pytest.raises(ValueError, match="some row a weight above 0, got zeros only"):
        make().fit(X, sample_weight=np.zeros(10))


@pytest.mark.parametrize("function", [mean_shape_operator], ids=["mean_shape_operator"])
@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.ones(9), "each of the 10 rows of X, got 9"),
        (-np.ones(10), "got -1 among them"),
        (np.full(10, np.nan), "finite numbers only"),
        (np.ones((10, 1)), "got 2-D of shape"),
        ("abc", "must be 1-D with a number"),
    ],
)
def test_what_are_no_weights_is_refused_in_a_sentence(function, weights, message):
    with pytest.raises((TypeError, ValueError), match=message):
        function(nasty.continuous(10, 3), 3, sample_weight=weights)
