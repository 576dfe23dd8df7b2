"""Numbers of every size: scales, outliers, clusters far apart, and what is tiny beside the rest."""

import nasty
import numpy as np
import pytest
import reference
import shopca_rs
from reference import relative_error
from refusals import refuses

# One for each way to sum: few columns, more columns than neighbours, many columns, large frames.
SHAPES = [(120, 4, 9), (120, 20, 6), (200, 50, 10), (160, 45, 60)]
every_shape = pytest.mark.parametrize(("n", "d", "k"), SHAPES, ids=str)


def cloud(n, d):
    return np.random.default_rng(0).normal(size=(n, d))


def local_oracle(X, indices):
    """The averaged operators of some neighbourhoods, each computed at its own scale."""
    operators = np.empty((len(indices), X.shape[1], X.shape[1]))
    for operator, rows in zip(operators, indices, strict=True):
        P = X[rows] - X[rows[0]]
        exponent = np.frexp(np.abs(P).max())[1]
        operator[:] = np.ldexp(reference.averaged_operator(np.ldexp(P, -exponent)), 2 * exponent)
    return operators


def weighted_mean(operators, weights=None):
    """The mean of operators, computed where their sum neither overflows nor underflows."""
    exponent = np.frexp(np.abs(operators).max())[1]
    return np.ldexp(np.average(np.ldexp(operators, -exponent), axis=0, weights=weights), exponent)


def mean_oracle(X, k):
    return weighted_mean(local_oracle(X, shopca_rs.k_neighbors(X, k)[0]))


def sample_oracle(operators, n, weights):
    """The weighted mean of a sample's operators and its standard error, by their definition."""
    m = len(operators)
    count = min(32, m)
    groups = np.split(np.arange(m), np.arange(1, count) * m // count)
    mean = np.average(operators, axis=0, weights=weights)
    means = [np.average(operators[group], axis=0, weights=weights[group]) for group in groups]
    squares = sum(weights[group].sum() * (own - mean) ** 2 for group, own in zip(groups, means, strict=True))
    return mean, np.sqrt((1 - m / n) / (weights.sum() * (count - 1)) * squares)


def worst_entry(got, expected):
    return np.abs(got - expected).max() / np.abs(expected).max()


@every_shape
@pytest.mark.parametrize("far", [1e6, 1e10, 1e14, 1e20, 1e75, 1e150])
def test_one_far_point_costs_the_mean_no_digits(n, d, k, far):
    X = cloud(n, d)
    X[0, 0] = far
    assert worst_entry(shopca_rs.mean_shape_operator(X, k), mean_oracle(X, k)) < 1e-12


# The scale of a cloud and that of an outlier, as far apart as the range allows.
FAR_APART = [(1e-150, 1e150), (1e-150, 1e120), (1e-120, 1e149), (1e-75, 1e150), (1.0, 1e150), (1e150, 1e150)]
far_apart = pytest.mark.parametrize(("scale", "far"), FAR_APART)


def cloud_and_outlier(n, d, scale, far):
    X = cloud(n, d) * scale
    X[n // 3, 0] = far
    return X


@every_shape
@far_apart
def test_a_cloud_and_its_outlier_may_be_as_far_apart_as_the_range_allows(n, d, k, scale, far):
    X = cloud_and_outlier(n, d, scale, far)
    indices = shopca_rs.k_neighbors(X, k)[0]
    operators = local_oracle(X, indices)
    expected = weighted_mean(operators)
    assert np.abs(expected).max() > np.finfo(float).smallest_normal
    for options in ({}, {"n_jobs": 1}, {"neighbors": indices}):
        assert worst_entry(shopca_rs.mean_shape_operator(X, k, **options), expected) < 1e-12
    own = np.concatenate([np.arange(n)[:, None], indices], axis=1)
    got = shopca_rs.mean_shape_operator(X, k, include_self=True)
    assert worst_entry(got, weighted_mean(local_oracle(X, own))) < 1e-12
    some = [1, 7, n - 1]
    got = shopca_rs.shape_sum(X, k, points=some)
    assert worst_entry(got, operators[some].sum(axis=0)) < 1e-12


@every_shape
@far_apart
def test_weights_may_leave_out_the_neighbourhoods_of_an_outlier(n, d, k, scale, far):
    X = cloud_and_outlier(n, d, scale, far)
    weights = np.random.default_rng(1).uniform(0.1, 1.0, n)
    indices = shopca_rs.k_neighbors(X, k)[0]
    indices[5, 0] = n // 3
    for weight in (0.3, 1e-300, 0.0):
        weights[5] = weight
        expected = weighted_mean(local_oracle(X, indices)[weights > 0], weights[weights > 0])
        got = shopca_rs.mean_shape_operator(X, k, neighbors=indices, sample_weight=weights)
        assert worst_entry(got, expected) < 1e-12


@every_shape
@far_apart
@pytest.mark.parametrize("weighted", [False, True])
def test_a_sample_of_a_cloud_with_an_outlier_has_its_standard_error(n, d, k, scale, far, weighted):
    m = n // 2
    X = cloud_and_outlier(n, d, scale, far)
    chosen = np.random.RandomState(0).permutation(n)[:m]
    weights = np.random.default_rng(1).uniform(0.1, 1.0, n) if weighted else np.ones(n)
    operators = local_oracle(X, shopca_rs.k_neighbors(X, k)[0][chosen])
    exponent = np.frexp(np.abs(operators).max())[1]
    own = (weights / weights.max())[chosen]
    expected = sample_oracle(np.ldexp(operators, -exponent), n, own)
    options = {"sample_weight": weights} if weighted else {}
    found = shopca_rs.mean_shape_operator(X, k, sample=m, return_error=True, **options)
    for got, wanted in zip(found, expected, strict=True):
        assert worst_entry(np.ldexp(got, -exponent), wanted) < 1e-12


@every_shape
@pytest.mark.parametrize("apart", [1e3, 1e6, 1e10])
def test_clusters_far_apart_cost_the_mean_no_digits_beyond_their_coordinates(n, d, k, apart):
    X = cloud(n, d)
    X[n // 2 :, ::2] += apart
    assert worst_entry(shopca_rs.mean_shape_operator(X, k), mean_oracle(X, k)) < 1e-12


@every_shape
@pytest.mark.parametrize("power", [-498, -300, 300, 498])
def test_scaling_the_data_scales_every_operator(n, d, k, power):
    X = cloud(n, d)
    scaled = np.ldexp(X, power)
    plain = shopca_rs.mean_shape_operator(X, k)
    half = np.ldexp(plain, power)  # the whole factor would not fit a double
    assert worst_entry(np.ldexp(shopca_rs.mean_shape_operator(scaled, k), -power), half) < 1e-14
    sampled = [shopca_rs.mean_shape_operator(Y, k, sample=n // 2, return_error=True) for Y in (X, scaled)]
    for before, after in zip(*sampled, strict=True):
        assert worst_entry(np.ldexp(after, -power), np.ldexp(before, power)) < 1e-14
    points = [0, 7, n - 1]
    local = [shopca_rs.local_shape_operators(Y, k, points=points) for Y in (X, scaled)]
    assert worst_entry(np.ldexp(local[1], -power), np.ldexp(local[0], power)) < 1e-14


@pytest.mark.parametrize("scale", [1e-150, 1e150])
@pytest.mark.parametrize("algorithm", ["kd_tree", "brute"])
def test_extreme_scales_change_no_neighbour(scale, algorithm):
    X = cloud(300, 5)
    expected, distances = shopca_rs.k_neighbors(X, 12)
    indices, scaled = shopca_rs.k_neighbors(X * scale, 12, algorithm=algorithm)
    np.testing.assert_array_equal(indices, expected)
    np.testing.assert_allclose(scaled / scale, distances, rtol=1e-13)


@pytest.mark.parametrize("value", [1e-300, 5e-324, 3e-310, 1e300, -1e308])
@pytest.mark.parametrize("algorithm", ["kd_tree", "brute"])
def test_equal_points_of_any_size_are_each_others_neighbours(value, algorithm):
    X = np.full((7, 4), value)
    indices, distances = shopca_rs.k_neighbors(X, 3, algorithm=algorithm)
    np.testing.assert_array_equal(indices, reference.neighbors(np.zeros((7, 4)), 3))
    assert not distances.any()
    assert not shopca_rs.mean_shape_operator(X, 3, algorithm=algorithm).any()
    assert not shopca_rs.operator_curvatures(X, 3).principal.any()


@pytest.mark.parametrize("tiny", [1e-100, 1e-150, 1e-155, 1e-158, 4e-162, 1e-200, 1e-300, 5e-324])
@pytest.mark.parametrize("d", [1, 3, 40])
def test_neighbours_do_not_depend_on_the_algorithm_where_squares_underflow(tiny, d):
    X = cloud(60, d)
    X[:30] *= tiny
    X[::7] = 0.0
    kinds = ["kd_tree", "brute"] if d <= 32 else ["brute"]
    for k in (2, 11, 40):
        expected = reference.neighbors(X, k)
        for algorithm in kinds:
            np.testing.assert_array_equal(shopca_rs.k_neighbors(X, k, algorithm=algorithm)[0], expected)


@pytest.mark.parametrize("tiny", [1e-100, 1e-140, 1e-155, 1e-158, 4e-162, 1e-200, 1e-300])
@pytest.mark.parametrize(("d", "k"), [(3, 8), (12, 8), (40, 8), (42, 60)])
def test_neighbourhoods_that_are_tiny_beside_the_others_have_their_own_operators(tiny, d, k):
    n = 2 * k + 6
    X = cloud(2 * n, d)
    X[:n] *= tiny
    near = np.array([[j for j in range(n) if j != i][:k] for i in range(n)])
    indices = np.concatenate([near, near + n])
    expected = local_oracle(X, indices)
    got = shopca_rs.local_shape_operators(X, k, neighbors=indices)
    # What does not fit a double with all its digits is rounded, once for each of k products.
    smallest = k * np.finfo(float).smallest_subnormal
    for part in (slice(n), slice(n, None)):
        gap = np.abs(got[part] - expected[part]).max()
        assert gap <= max(1e-12 * np.abs(expected[part]).max(), smallest)
    curvatures = shopca_rs.operator_curvatures(X, k, neighbors=indices)
    assert all(np.isfinite(values).all() for values in curvatures)
    traces = np.trace(expected, axis1=1, axis2=2)
    assert np.abs(curvatures.principal.sum(axis=1) - traces)[:n].max() <= max(
        1e-12 * np.abs(traces[:n]).max(), d * smallest
    )


@pytest.mark.parametrize(("d", "k"), [(3, 8), (12, 8), (40, 8)])
def test_a_mean_made_of_tiny_neighbourhoods_and_equal_points_is_that_of_the_tiny_ones(d, k):
    # Forty copies of a far point have operators of zero; what remains is 1e-280.
    X = np.concatenate([cloud(40, d) * 1e-140, np.ones((40, d))])
    assert worst_entry(shopca_rs.mean_shape_operator(X, k), mean_oracle(X, k)) < 1e-12
    sampled = shopca_rs.mean_shape_operator(X, k, sample=79)
    assert np.isfinite(sampled).all()
    assert sampled.any()


def test_gaussian_curvature_is_zero_by_rank_before_it_can_overflow():
    X = cloud(300, 200) * 100
    gaussian = shopca_rs.operator_curvatures(X, 199).gaussian
    np.testing.assert_array_equal(gaussian, 0.0)


@pytest.mark.parametrize("scale", [1e-100, 1e-30, 1.0, 1e30, 1e100])
def test_gaussian_curvature_is_the_product_of_the_principal_ones_where_that_fits(scale):
    found = shopca_rs.operator_curvatures(cloud(60, 5) * scale, 20)
    signs, logarithms = (np.sign(found.principal).prod(axis=1), np.log2(-found.principal).sum(axis=1))
    with np.errstate(over="ignore", under="ignore"):
        expected = signs * np.exp2(logarithms)
    np.testing.assert_allclose(found.gaussian, expected, rtol=1e-11)
    assert scale != 1e100 or np.isinf(found.gaussian).all()
    assert scale != 1e-100 or not found.gaussian.any()


def test_a_product_whose_partial_products_overflow_is_still_right():
    # Fifty eigenvalues around 1e7 and fifty around 1e-4.
    X = cloud(200, 100) * np.where(np.arange(100) < 50, 5e3, 5e-2)
    found = shopca_rs.operator_curvatures(X, 150)
    with np.errstate(over="ignore"):
        assert np.isinf(found.principal[:, :50].prod(axis=1)).all()
    expected = np.exp2(np.log2(-found.principal).sum(axis=1))
    np.testing.assert_allclose(found.gaussian, expected, rtol=1e-10)


def test_ranges_whose_squares_overflow_or_vanish_are_refused_in_a_sentence():
    X = cloud(30, 3)
    for function in (shopca_rs.mean_shape_operator, shopca_rs.k_neighbors, shopca_rs.operator_curvatures):
        refuses(ValueError, ["overflow", "Rescale"], function, X * 1e154, 5)
        refuses(ValueError, ["underflow", "Rescale"], function, X * 1e-160, 5)


def test_a_sum_that_overflows_is_refused_in_a_sentence():
    X = cloud(1000, 2) * 6e152
    assert np.isfinite(shopca_rs.mean_shape_operator(X, 900)).all()
    refuses(ValueError, ["overflow", "Rescale"], shopca_rs.shape_sum, X, 900)


def test_nasty_data_at_extreme_scales_have_the_operators_of_the_same_data(nasty_points):
    X = nasty_points
    k = nasty.neighbor_counts(X)[-1]
    plain = shopca_rs.mean_shape_operator(X, k)
    for power in (-460, 440):
        scaled = shopca_rs.mean_shape_operator(np.ldexp(X, power), k)
        assert relative_error(np.ldexp(np.ldexp(scaled, -power), -power), plain) < 1e-13


def test_tiny_entries_among_levels_turn_no_frame():
    # Covariances with entries around 1e-160: their squares have four digits.
    rng = np.random.default_rng(0)
    X = rng.choice([0.0, 2e-286, 1e-159, 0.66], size=(87, 6))
    indices = shopca_rs.k_neighbors(X, 10)[0]
    mean = shopca_rs.mean_shape_operator(X, 10, neighbors=indices)
    expected = shopca_rs.local_shape_operators(X, 10, neighbors=indices).mean(axis=0)
    assert worst_entry(mean, expected) < 1e-12


def test_lapack_frames_columns_of_sizes_far_apart():
    # LAPACK's iteration does not converge on one of these covariances as it is.
    t, sizes = np.linspace(0, 1, 40), 10.0 ** np.random.default_rng(389).uniform(-150, 150, size=60)
    X = np.sin(np.outer(t, np.arange(1, 61))) * sizes
    assert np.isfinite(shopca_rs.mean_shape_operator(X, 8, degenerate="lapack")).all()
