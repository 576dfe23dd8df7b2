"""The mean over a random sample: which points it takes, how far it is off, and that it says so rightly."""

from __future__ import annotations

import nasty
import numpy as np
import pytest
from reference import averaged_operator, nearest, relative_error
from refusals import cases, refuses
from scipy.linalg import subspace_angles
from shopca_rs import (
    SHOPCA,
    ShapeOperatorEigenmaps,
    _core,
    k_neighbors,
    local_shape_operators,
    mean_shape_operator,
    shape_sum,
)
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_param_validation, parametrize_with_checks
from test_sklearn_contract import expected_failures

X = nasty.continuous(600, 4)
K = 7
BOTH = [SHOPCA, ShapeOperatorEigenmaps]
both = pytest.mark.parametrize("make", BOTH, ids=lambda make: make.__name__)


def rows(n, sample, seed=0):
    return np.random.RandomState(seed).permutation(n)[:sample]


def sampled(X, k, sample, **options):
    return mean_shape_operator(X, k, sample=sample, return_error=True, **options)


def error_by_definition(operators, n):
    """SE of the mean of operators in random order, from the formula in the documentation."""
    m = len(operators)
    groups = np.array_split(np.arange(m), np.arange(1, min(32, m)) * m // min(32, m))
    mean = operators.mean(axis=0)
    squares = sum(len(group) * (operators[group].mean(axis=0) - mean) ** 2 for group in groups)
    return np.sqrt((1 - m / n) / (m * (len(groups) - 1)) * squares)


def test_the_stream_of_random_numbers_is_the_frozen_one():
    assert rows(10, 10).tolist() == [2, 8, 4, 9, 1, 6, 7, 3, 0, 5]


@pytest.mark.parametrize("m", [2, 3, 5, 31, 32, 33, 100, 599])
@pytest.mark.parametrize("seed", [0, 7, 2**32 - 1])
def test_it_is_the_mean_of_the_sample_s_operators(m, seed):
    S, error = sampled(X, K, m, random_state=seed)
    operators = local_shape_operators(X, K, points=rows(len(X), m, seed))
    assert relative_error(S, operators.mean(axis=0)) < 1e-14
    assert relative_error(error, error_by_definition(operators, len(X))) < 1e-12


def test_the_neighbours_are_searched_among_all_rows():
    chosen = rows(len(X), 50)
    expected = np.mean([averaged_operator(X[nearest(X, X[i], K, own=i)]) for i in chosen], axis=0)
    assert relative_error(mean_shape_operator(X, K, sample=50), expected) < 1e-12


# The mean over all points is scattered in 64 columns and more; k = 50 is beyond the lanes.
@pytest.mark.parametrize(
    ("n", "d", "k", "m"), [(300, 64, 9, 40), (300, 100, 12, 290), (200, 130, 3, 100), (200, 70, 50, 35)]
)
def test_a_sample_in_many_columns_agrees_with_the_oracle(n, d, k, m):
    X = nasty.continuous(n, d)
    S, error = sampled(X, k, m)
    operators = np.array([averaged_operator(X[nearest(X, X[i], k, own=i)]) for i in rows(n, m)])
    assert relative_error(S, operators.mean(axis=0)) < 1e-12
    assert relative_error(error, error_by_definition(operators, n)) < 1e-12


@pytest.mark.parametrize("degenerate", ["average", "lapack"])
@pytest.mark.parametrize(("d", "k"), [(2, 9), (6, 12), (12, 6), (30, 8)])
def test_the_bits_depend_on_the_seed_alone(d, k, degenerate):
    X = nasty.continuous(2000, d)
    X[:200] = X[200:400]
    expected = sampled(X, k, 700, n_jobs=1, degenerate=degenerate)
    for n_jobs in (1, 2, 3, None):
        for algorithm in ("auto", "brute", "kd_tree"):
            got = sampled(X, k, 700, n_jobs=n_jobs, algorithm=algorithm, degenerate=degenerate)
            np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("m", [2, 40, 300])
def test_asking_for_the_error_does_not_change_the_mean(m):
    np.testing.assert_array_equal(mean_shape_operator(X, K, sample=m), sampled(X, K, m)[0])


def test_another_seed_is_another_sample():
    first, second = (mean_shape_operator(X, K, sample=100, random_state=seed) for seed in (0, 1))
    assert relative_error(first, second) > 1e-3


@pytest.mark.parametrize("sample", [None, len(X)])
def test_all_rows_give_the_full_mean_without_an_error(sample):
    S, error = sampled(X, K, sample, random_state=5)
    np.testing.assert_array_equal(S, mean_shape_operator(X, K))
    np.testing.assert_array_equal(error, np.zeros((4, 4)))


def test_given_neighbours_are_used_for_the_sample():
    found, _ = k_neighbors(X, K)
    np.testing.assert_array_equal(sampled(X, K, 90, neighbors=found), sampled(X, K, 90))
    others = found[::-1]
    operators = local_shape_operators(X, K, points=rows(len(X), 90), neighbors=others)
    assert relative_error(sampled(X, K, 90, neighbors=others)[0], operators.mean(axis=0)) < 1e-14


def test_a_given_neighbour_out_of_range_is_refused_outside_the_sample_too():
    found, _ = k_neighbors(X, K)
    outside = int(rows(len(X), len(X))[-1])
    found[outside, 3] = len(X)
    refuses(ValueError, ["neighbors", f"in row {outside}"], sampled, X, K, 90, neighbors=found)


@pytest.mark.parametrize("sample", [2, 17, 35])
def test_any_nasty_data_give_a_finite_mean_and_error(nasty_points, sample):
    for k in nasty.neighbor_counts(nasty_points):
        S, error = sampled(nasty_points, k, sample)
        operators = local_shape_operators(nasty_points, k, points=rows(len(nasty_points), sample))
        expected = operators.mean(axis=0)
        assert np.isfinite(S).all()
        assert (error >= 0).all()
        assert relative_error(S, expected) < 1e-12
        # An entry's error cannot be more certain than the sums it comes from.
        by_definition = error_by_definition(operators, len(nasty_points))
        np.testing.assert_allclose(error, by_definition, rtol=1e-9, atol=1e-12 * abs(expected).max())


def test_constant_data_have_no_curvature_and_no_error():
    np.testing.assert_array_equal(sampled(nasty.all_same(), 5, 20), np.zeros((2, 3, 3)))


@pytest.mark.parametrize("scale", [2.0**480, 2.0**-470])
def test_the_error_of_huge_and_of_tiny_data_does_not_overflow_or_vanish(scale):
    expected = np.multiply(sampled(X, K, 60), scale) * scale
    np.testing.assert_allclose(sampled(X * scale, K, 60), expected, rtol=1e-12)


@pytest.mark.parametrize("m", [20, 150, 450])
def test_the_error_is_the_spread_over_seeds(m):
    found, _ = k_neighbors(X, K)
    full = mean_shape_operator(X, K, neighbors=found)
    trials = [sampled(X, K, m, random_state=seed, neighbors=found, n_jobs=1) for seed in range(400)]
    means, errors = map(np.array, zip(*trials, strict=True))
    spread = np.sqrt(((means - full) ** 2).mean(axis=0))
    typical = np.sqrt((errors**2).mean(axis=0))
    np.testing.assert_allclose(typical, spread, rtol=0.1)
    # And the spread that theory knows, which has no noise of its own.
    variance = local_shape_operators(X, K, neighbors=found).var(axis=0, ddof=1)
    np.testing.assert_allclose(typical, np.sqrt((1 - m / len(X)) * variance / m), rtol=0.05)
    # 95 % of Student's t with 31 degrees of freedom; a few fewer in a sample of 20.
    covered = (abs(means - full) <= 2.04 * errors).mean()
    assert 0.92 < covered < 0.97


def test_the_error_itself_is_known_to_an_eighth():
    found, _ = k_neighbors(X, K)
    errors = np.array(
        [sampled(X, K, 320, random_state=seed, neighbors=found, n_jobs=1)[1] for seed in range(200)]
    )
    scatter = errors.std(axis=0) / errors.mean(axis=0)
    assert 0.10 < scatter.mean() < 0.16


def test_four_times_the_sample_halves_the_error():
    big = nasty.continuous(20_000, 3)
    (_, few), (_, many) = (sampled(big, 6, m) for m in (500, 2000))
    assert np.linalg.norm(few) / np.linalg.norm(many) == pytest.approx(2, rel=0.35)


SAMPLES = {
    "one": (1, ValueError, ["sample must be at least 2", "got 1"]),
    "zero": (0, ValueError, ["sample must be at least 2", "got 0"]),
    "negative": (-1, ValueError, ["sample must be at least 2", "got -1"]),
    "float": (2.5, TypeError, ["sample must be an integer", "got 2.5 (float)"]),
    "whole_float": (20.0, TypeError, ["sample must be an integer", "got 20.0 (float)"]),
    "bool": (True, TypeError, ["sample must be an integer", "got True (bool)"]),
    "text": ("all", TypeError, ["sample must be an integer", "got 'all' (str)"]),
    "too_many": (601, ValueError, ["sample must be at most n = 600", "got 601", "None for all"]),
    "huge": (10**30, ValueError, ["sample must be at most", "got 1000000"]),
}


@cases(SAMPLES)
def test_a_bad_sample_is_refused_in_a_sentence(value, exception, parts):
    refuses(exception, parts, mean_shape_operator, X, K, sample=value)


SEEDS = {
    "negative": (-1, ValueError, ["random_state must be at least 0", "got -1"]),
    "too_large": (2**32, ValueError, ["random_state must be at most 2**32 - 1", "got 4294967296"]),
    "text": ("1", TypeError, ["random_state must be an integer", "RandomState or None", "got '1' (str)"]),
    "new_generator": (np.random.default_rng(0), TypeError, ["random_state must be", "(Generator)"]),
    "float": (1.0, TypeError, ["random_state must be an integer", "got 1.0 (float)"]),
    "bool": (False, TypeError, ["random_state must be an integer", "got False (bool)"]),
}


@pytest.mark.parametrize("sample", [None, 50])
@cases(SEEDS)
def test_a_bad_seed_is_refused_in_a_sentence_with_a_sample_or_without(sample, value, exception, parts):
    refuses(exception, parts, mean_shape_operator, X, K, sample=sample, random_state=value)


@pytest.mark.parametrize("value", [1, "yes", None])
def test_a_bad_return_error_is_refused_in_a_sentence(value):
    parts = ["return_error must be True or False", f"got {value!r}"]
    refuses(TypeError, parts, mean_shape_operator, X, K, return_error=value)


def test_integers_of_numpy_are_integers():
    expected = mean_shape_operator(X, K, sample=50, random_state=3)
    got = mean_shape_operator(X, K, sample=np.int32(50), random_state=np.uint8(3), return_error=np.False_)
    np.testing.assert_array_equal(got, expected)


def test_too_many_neighbours_are_refused_with_a_sample_as_without():
    refuses(ValueError, ["k must be at most n − 1 = 599"], mean_shape_operator, X, 600, sample=50)


@pytest.mark.parametrize(("neighbors", "stages"), [(None, 2), (k_neighbors(X, K)[0], 1)])
def test_progress_counts_the_sample_only(neighbors, stages):
    reports = []
    sampled(X, K, 250, neighbors=neighbors, progress=lambda *report: reports.append(report))
    assert reports[-1] == (stages * 250, stages * 250)


@both
def test_the_estimator_s_operator_and_error_are_those_of_the_function(make):
    fitted = make(n_neighbors=K, sample=200, random_state=4).fit(X)
    S, error = sampled(X, K, 200, random_state=4)
    np.testing.assert_array_equal(fitted.mean_shape_operator_, S)
    np.testing.assert_array_equal(fitted.mean_shape_operator_error_, error)
    assert (fitted.sample_, fitted.n_samples_) == (200, 600)


@both
def test_the_sample_is_of_the_scores_where_pca_comes_first(make):
    fitted = make(sample=50, max_features=6).fit(nasty.continuous(200, 12))
    assert fitted.mean_shape_operator_error_.shape == fitted.mean_shape_operator_.shape == (6, 6)
    assert (fitted.mean_shape_operator_error_ > 0).all()


@both
def test_covariance_mean_and_neighbours_come_from_all_rows(make):
    full, some = make().fit(X), make(sample=100).fit(X)
    np.testing.assert_array_equal(some.covariance_, full.covariance_)
    np.testing.assert_array_equal(some.mean_, full.mean_)
    assert some.n_neighbors_ == full.n_neighbors_


@both
@pytest.mark.parametrize("sample", [len(X), 20_000])
def test_an_estimator_with_fewer_rows_than_its_sample_takes_them_all(make, sample):
    full, all_rows = make().fit(X), make(sample=sample, random_state=9).fit(X)
    np.testing.assert_array_equal(all_rows.components_, full.components_)
    np.testing.assert_array_equal(all_rows.mean_shape_operator_error_, np.zeros((4, 4)))
    assert all_rows.sample_ == len(X)
    assert all_rows.summary() == full.summary()


@pytest.mark.parametrize("m", [1, 2])
def test_a_sampled_fit_is_the_full_one_within_its_error(m):
    rng = np.random.default_rng(0)
    t = rng.uniform(-1, 1, size=(8000, 2))
    curved = np.c_[t, 2 * t[:, 0] ** 2, t[:, 0] * t[:, 1], rng.normal(size=(8000, 1)) / 3]
    full, some = (SHOPCA(m, alpha=1, sample=sample).fit(curved) for sample in (None, 2000))
    gap = abs(some.mean_shape_operator_ - full.mean_shape_operator_)
    assert (gap < 4 * some.mean_shape_operator_error_).all()
    # A perturbation turns a subspace by about its size over the gap to the rest of the spectrum.
    size = full.lambda_ * np.linalg.norm(some.mean_shape_operator_error_)
    allowed = size / (full.eigenvalues_[m - 1] - full.eigenvalues_[m])
    assert 0 < subspace_angles(full.components_.T, some.components_.T).max() < allowed < 0.6


@both
def test_the_summary_tells_the_sample_and_its_error(make):
    fitted = make(sample=200).fit(X)
    S, error = fitted.mean_shape_operator_, fitted.mean_shape_operator_error_
    share = f"{np.linalg.norm(error) / np.linalg.norm(S):.2g}"
    line = next(line for line in fitted.summary().splitlines() if "sample" in line)
    assert line.endswith(f"200 of 600 points, relative error of the shape operator about {share}")
    assert 0.01 < float(share) < 0.2


@both
def test_a_fit_is_repeated_by_its_seed(make):
    first, again, other = (make(sample=60, random_state=seed).fit(X) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.components_, again.components_)
    assert not np.array_equal(first.components_, other.components_)
    assert clone(first).get_params() == first.get_params()
    assert not first.__sklearn_tags__().non_deterministic


@both
@pytest.mark.parametrize(
    "options", [{"sample": value} for value in (1, 0, -1, 2.5, True, "all")] + [{"random_state": -1}]
)
def test_a_bad_sample_of_an_estimator_is_refused_by_its_name(make, options):
    with pytest.raises(ValueError, match=f"The '{next(iter(options))}' parameter of {make.__name__} must be"):
        make(**options).fit(X)


def test_a_sample_of_duplicates_only_is_pca_and_says_what_was_seen():
    X = np.concatenate([np.zeros((2000, 3)), nasty.continuous(40, 3)])
    assert rows(len(X), 5).max() < 2000
    with pytest.warns(UserWarning, match="each of the 5 sampled points has as many duplicates as neighbours"):
        fitted = SHOPCA(sample=5).fit(X)
    assert fitted.alpha_ == 0
    assert "5 of 2040 points" in fitted.summary()


@parametrize_with_checks(
    [make(sample=20, random_state=3) for make in BOTH], expected_failed_checks=expected_failures
)
def test_scikit_learn_s_own_check_passes_with_a_sample(estimator, check):
    check(estimator)


@both
def test_every_parameter_is_validated_with_a_sample_as_without(make):
    check_param_validation(make.__name__, make(sample=20))


@pytest.mark.parametrize("degenerate", ["average", "lapack"])
def test_sums_over_disjoint_points_add_up_to_the_mean(nasty_points, degenerate):
    n, k = len(nasty_points), 5
    parts = np.array_split(np.random.RandomState(1).permutation(n), 4)
    total = sum(shape_sum(nasty_points, k, points=part, degenerate=degenerate) for part in parts)
    expected = mean_shape_operator(nasty_points, k, degenerate=degenerate)
    scale = max(np.abs(expected).max(), np.finfo(float).tiny)
    assert np.abs(total / n - expected).max() <= 1e-12 * scale
    whole = shape_sum(nasty_points, k, degenerate=degenerate, n_jobs=1) / n
    assert np.abs(whole - expected).max() <= 1e-12 * scale


@pytest.mark.parametrize("k", [0, 1])
def test_the_core_refuses_neighbourhoods_that_have_no_covariance(k):
    neighbors = np.zeros((5, k), dtype=np.int64)
    with pytest.raises(ValueError, match="k must be at least 2"):
        _core.shape_sum(x=X, neighbors=neighbors, degenerate="lapack", n_jobs=1, progress=None)


def test_a_generator_draws_the_sample_that_its_seed_would_and_goes_on():
    generator = np.random.RandomState(3)
    first, second = (mean_shape_operator(X, K, sample=50, random_state=generator) for _ in range(2))
    np.testing.assert_array_equal(first, mean_shape_operator(X, K, sample=50, random_state=3))
    assert relative_error(first, second) > 1e-3


@pytest.fixture
def global_generator():
    """NumPy's own, put back as it was."""
    before = np.random.get_state()  # noqa: NPY002
    yield np.random.mtrand._rand
    np.random.set_state(before)  # noqa: NPY002


@pytest.mark.parametrize("none", [None, np.random], ids=["None", "the module"])
def test_none_draws_from_numpy_s_global_generator(global_generator, none):
    global_generator.seed(3)
    expected = mean_shape_operator(X, K, sample=50, random_state=3)
    np.testing.assert_array_equal(mean_shape_operator(X, K, sample=50, random_state=none), expected)
    assert relative_error(mean_shape_operator(X, K, sample=50, random_state=none), expected) > 1e-3


@pytest.mark.parametrize("sample", [None, len(X)])
def test_nothing_is_drawn_for_all_rows(sample):
    generator = np.random.RandomState(3)
    mean_shape_operator(X, K, sample=sample, random_state=generator)
    SHOPCA(sample=sample, random_state=generator).fit(X)
    assert generator.randint(1 << 30) == np.random.RandomState(3).randint(1 << 30)


@both
def test_an_estimator_takes_none_and_a_generator_as_scikit_learn_s_do(make, global_generator):
    expected = make(sample=60, random_state=5).fit(X).mean_shape_operator_
    with_generator = make(sample=60, random_state=np.random.RandomState(5))
    copy = clone(with_generator)
    np.testing.assert_array_equal(with_generator.fit(X).mean_shape_operator_, expected)
    np.testing.assert_array_equal(copy.fit(X).mean_shape_operator_, expected)
    global_generator.seed(5)
    unseeded = make(sample=60, random_state=None).fit(X)
    np.testing.assert_array_equal(unseeded.mean_shape_operator_, expected)
    assert unseeded.random_state is None
