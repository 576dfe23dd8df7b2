"""Weights of the rows of dask collections: S̄ and SHOPCA are those of the same weights in memory."""

from __future__ import annotations

import dask
import dask.array as da
import dask.dataframe as dd
import nasty
import numpy as np
import pandas as pd
import pytest
import reference
import shopca_rs
from shopca_rs.dask import SHOPCA, mean_shape_operator
from sklearn.datasets import load_digits

both_modes = pytest.mark.parametrize("mode", ["replicated", "sharded"])
both_samples = pytest.mark.parametrize("sample", [None, 40])
DATA = {
    "continuous": nasty.continuous(120, 5),
    "ties and duplicates": nasty.levels(120, 3),
    "two copies": nasty.two_copies(120, 4),
    "constant columns": nasty.constant_columns(120, 5),
    "far from zero": nasty.continuous(120, 4) + 1e4,
    "many columns": nasty.continuous(120, 40),
}
every_table = pytest.mark.parametrize("name", DATA)
FITTED = ("mean_", "covariance_", "mean_shape_operator_", "mean_shape_operator_error_", "eigenvalues_")
SIZES = (30, 30, 1, 40, 19)
K = 6


@pytest.fixture(autouse=True, scope="module")
def threads():
    with dask.config.set(scheduler="threads", num_workers=2):
        yield


def lazily(X, sizes=SIZES):
    return da.from_array(X, chunks=(sizes, X.shape[1]))


def weights_of(X):
    """Weights of many sizes: some rows have none, and a whole chunk of them."""
    rng = np.random.default_rng(len(X))
    weights = rng.uniform(0.1, 3, len(X)) * (rng.random(len(X)) < 0.8)
    weights[30:60] = 0
    return weights


def sizes_of(kept):
    """The chunks of the rows that are kept."""
    sizes = [int(part.sum()) for part in np.split(kept, np.cumsum(SIZES)[:-1])]
    return tuple(size for size in sizes if size)


def assert_same_fit(ours, expected, tolerance=1e-10):
    for name in (*FITTED, "explained_variance_", "explained_variance_ratio_", "curved_covariance_"):
        value = getattr(expected, name)
        atol = tolerance * np.abs(value).max()
        np.testing.assert_allclose(getattr(ours, name), value, rtol=0, atol=atol, err_msg=name)
    np.testing.assert_allclose(np.abs(ours.components_), np.abs(expected.components_), atol=1e-8)
    for name in ("alpha_", "n_neighbors_", "n_samples_", "sample_"):
        assert getattr(ours, name) == getattr(expected, name)


@every_table
@both_modes
@pytest.mark.parametrize("include_self", [False, True])
def test_the_mean_is_the_weighted_one_of_the_oracle(name, mode, include_self):
    X = DATA[name]
    weights = weights_of(X)
    lazy = mean_shape_operator(lazily(X), K, mode=mode, sample_weight=weights, include_self=include_self)
    expected = reference.weighted_mean(X, K, weights, include_self)
    assert isinstance(lazy, da.Array)
    assert reference.relative_error(lazy.compute(), expected) < 1e-10


def assert_same_mean_and_error(X, mode, **options):
    options |= {"sample_weight": weights_of(X), "return_error": True, "random_state": 3}
    expected = shopca_rs.mean_shape_operator(X, K, **options)
    ours = dask.compute(*mean_shape_operator(lazily(X), K, mode=mode, **options))
    for got, value in zip(ours, expected, strict=True):
        np.testing.assert_allclose(got, value, rtol=0, atol=1e-10 * np.abs(value).max())


@every_table
@both_modes
@both_samples
def test_mean_and_error_are_those_in_memory(name, mode, sample):
    assert_same_mean_and_error(DATA[name], mode, sample=sample)


@both_modes
@both_samples
def test_the_solver_s_own_basis_is_weighted_as_well(mode, sample):
    assert_same_mean_and_error(DATA["continuous"], mode, sample=sample, degenerate="lapack")


@both_modes
@both_samples
def test_equal_weights_are_no_weights_and_zero_weights_are_absence_to_the_bit(mode, sample):
    X = DATA["ties and duplicates"]
    weights = weights_of(X)
    kept = weights > 0
    options = {"mode": mode, "sample": sample, "return_error": True}

    def computed(X, sizes, weights=None):
        return dask.compute(*mean_shape_operator(lazily(X, sizes), K, sample_weight=weights, **options))

    for one, other in [
        (computed(X, SIZES, np.full(120, 0.3)), computed(X, SIZES)),
        (computed(X, SIZES, weights), computed(X[kept], sizes_of(kept), weights[kept])),
        (computed(X, SIZES, kept), computed(X[kept], sizes_of(kept))),
        (computed(X, SIZES, 8 * weights), computed(X, SIZES, weights)),
    ]:
        np.testing.assert_array_equal(one, other)


@every_table
@both_modes
@pytest.mark.parametrize("options", [{}, {"alpha": np.inf}, {"sample": 40, "include_self": True}], ids=str)
def test_a_weighted_fit_is_the_one_in_memory(name, mode, options):
    X = DATA[name]
    weights = weights_of(X)
    expected = shopca_rs.SHOPCA(n_neighbors=K, **options).fit(X, sample_weight=weights)
    ours = SHOPCA(n_neighbors=K, mode=mode, **options).fit(lazily(X), sample_weight=weights)
    assert_same_fit(ours, expected)


@both_modes
def test_weights_may_be_lazy_and_pca_may_come_first(mode):
    X = load_digits().data[:600]
    weights = np.tile(weights_of(X[:120]), 5)
    expected = shopca_rs.SHOPCA(3, max_features=8).fit(X, sample_weight=weights)
    for lazy in (
        da.from_array(weights, chunks=70),
        dd.from_pandas(pd.DataFrame({"w": weights}), npartitions=4)["w"],
    ):
        ours = SHOPCA(3, max_features=8, mode=mode)
        ours.fit_transform(lazily(X, 170), sample_weight=lazy)
        assert_same_fit(ours, expected, 1e-9)


@both_modes
def test_an_estimator_takes_equal_weights_for_none_and_ignores_rows_of_weight_zero(mode):
    X = DATA["continuous"]
    kept = weights_of(X) > 0
    same = SHOPCA(mode=mode).fit(lazily(X), sample_weight=np.full(120, 0.3))
    np.testing.assert_array_equal(same.components_, SHOPCA(mode=mode).fit(lazily(X)).components_)
    ours = SHOPCA(mode=mode).fit(lazily(X), sample_weight=kept)
    expected = SHOPCA(mode=mode).fit(lazily(X[kept], sizes_of(kept)))
    for name in FITTED:
        np.testing.assert_array_equal(getattr(ours, name), getattr(expected, name))


@pytest.mark.parametrize(
    "call", [SHOPCA().fit, SHOPCA().fit_transform, lambda X, **w: mean_shape_operator(X, 3, **w)]
)
@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.ones(119), "each of the 120 rows of X, got 119"),
        (-np.ones(120), "got -1 among them"),
        (da.full(120, np.nan), "finite numbers only"),
        (np.zeros(120), "some row a weight above 0, got zeros only"),
        ("abc", "must be 1-D with a number"),
    ],
)
def test_what_are_no_weights_is_refused_as_in_memory(call, weights, message):
    with pytest.raises((TypeError, ValueError), match=message):
        call(lazily(DATA["continuous"]), sample_weight=weights)


def test_too_few_rows_with_a_weight_are_refused():
    lazy, weights = lazily(DATA["continuous"]), [1, 2] + 118 * [0]
    with pytest.raises(ValueError, match="at least 3 rows a weight above 0, got 2"):
        SHOPCA().fit(lazy, sample_weight=weights)
    with pytest.raises(ValueError, match="k must be at most n − 1 = 1"):
        mean_shape_operator(lazy, 3, sample_weight=weights)
