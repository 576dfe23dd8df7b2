"""LPP on dask: the map that the data in memory have, whatever the chunks."""

from __future__ import annotations

import dask
import dask.array as da
import dask.dataframe as dd
import lpp_twin
import nasty
import numpy as np
import pandas as pd
import pytest
import reference
import shopca_rs
from scipy.linalg import subspace_angles
from shopca_rs.dask import LPP, SHOPCA, column_values
from shopca_rs.dask.chunks import as_chunks
from shopca_rs.dask.edges import edge_sums
from shopca_rs.dask.workers import Workers
from sklearn.base import clone
from sklearn.datasets import load_digits, load_wine
from sklearn.preprocessing import StandardScaler

both_modes = pytest.mark.parametrize("mode", ["replicated", "sharded"])
CREW = Workers(2, 1 << 30, 2)
CHUNKS = {
    "one chunk": (90,),
    "chunks smaller than k + 1": (5, 5, 5, 75),
    "chunks of very different sizes": (1, 80, 2, 7),
}
DATA = {
    "continuous": nasty.continuous(90, 5),
    "ties and duplicates": nasty.levels(90, 3),
    "two copies": nasty.two_copies(90, 4),
    "constant columns": nasty.constant_columns(90, 5),
    "far from zero": nasty.continuous(90, 4) + 1e6,
}


@pytest.fixture(autouse=True, scope="module")
def threads():
    with dask.config.set(scheduler="threads", num_workers=2):
        yield


def lazily(X, rows=40):
    return da.from_array(X, chunks=(rows, X.shape[1]))


def assert_same_fit(ours, expected, tolerance=1e-9):
    np.testing.assert_allclose(ours.mean_, expected.mean_, rtol=1e-12, atol=1e-12)
    for name in ("resolution_", "covariance_", "degree_covariance_", "local_scatter_", "eigenvalues_"):
        value = getattr(expected, name)
        atol = tolerance * np.abs(value).max()
        np.testing.assert_allclose(getattr(ours, name), value, rtol=0, atol=atol, err_msg=name)
    assert subspace_angles(ours.components_.T, expected.components_.T).max() < 1e-8
    np.testing.assert_allclose(
        ours.explained_variance_ratio_, expected.explained_variance_ratio_, rtol=0, atol=1e-8
    )
    assert (ours.n_neighbors_, ours.n_samples_) == (expected.n_neighbors_, expected.n_samples_)


@pytest.mark.parametrize("sizes", CHUNKS.values(), ids=CHUNKS)
@pytest.mark.parametrize("name", DATA)
@both_modes
def test_the_sums_over_the_edges_are_those_of_the_dense_graph(name, sizes, mode):
    X = DATA[name]
    A = lpp_twin.adjacency(reference.neighbors(X, 6))
    centre = X.mean(axis=0)
    Y, D = (X - centre) / 4, np.diag(A.sum(axis=1))
    chunks = as_chunks(da.from_array(X, chunks=(sizes, X.shape[1])))
    sums = edge_sums(chunks, 6, "auto", mode, CREW, centre, 2).compute()
    scale = np.abs(Y).max() ** 2 * D.sum()
    assert sums.total == D.sum()
    np.testing.assert_allclose(sums.first, np.diag(D) @ Y, rtol=0, atol=1e-12 * scale)
    np.testing.assert_allclose(sums.second, Y.T @ D @ Y, rtol=0, atol=1e-12 * scale)
    np.testing.assert_allclose(sums.scatter, Y.T @ (D - A) @ Y, rtol=0, atol=1e-12 * scale)


@pytest.mark.parametrize("name", [name for name in DATA if name != "far from zero"])
@both_modes
def test_a_fit_is_the_fit_in_memory(name, mode):
    X = DATA[name]
    assert_same_fit(LPP(mode=mode).fit(lazily(X, 31)), shopca_rs.LPP().fit(X))


@pytest.mark.parametrize(
    ("load", "options"),
    [
        (load_wine, {}),
        (load_wine, {"ridge": 0, "resolution": False, "n_neighbors": "log"}),
        (load_wine, {"n_components": 0.8, "max_features": 6}),
        (load_digits, {"n_components": 5}),
        (load_digits, {"n_components": None, "max_features": 10, "n_neighbors": 9}),
    ],
    ids=str,
)
@both_modes
def test_real_data_have_the_same_map_with_any_options(load, options, mode):
    X = StandardScaler().fit_transform(load().data[:600])
    ours = LPP(**options, mode=mode).fit(lazily(X, 170))
    assert_same_fit(ours, shopca_rs.LPP(**options).fit(X))


@pytest.mark.parametrize("power", [-400, 400])
def test_tiny_and_huge_numbers_have_the_same_map(power):
    X = np.ldexp(nasty.continuous(80, 4), power)
    ours, expected = LPP().fit(lazily(X)), shopca_rs.LPP().fit(X)
    np.testing.assert_allclose(ours.eigenvalues_, expected.eigenvalues_, rtol=1e-9)
    assert subspace_angles(ours.components_.T, expected.components_.T).max() < 1e-8


@pytest.mark.parametrize("memory", [1, 1 << 30], ids=["one column at a time", "all columns at once"])
def test_the_resolution_is_that_of_the_table_whatever_fits_into_memory(memory):
    X = np.column_stack([nasty.levels(90, 3), nasty.continuous(90, 2), np.full(90, 2.5), np.arange(90.0)])
    parts = column_values.delayed_resolution(as_chunks(lazily(X, 7)), Workers(2, memory, 1))
    assert len(parts) == (7 if memory == 1 else 1)
    ours = np.concatenate(dask.compute(*parts))
    np.testing.assert_allclose(ours, shopca_rs.resolution(X), rtol=1e-13)


def test_transform_and_its_inverse_stay_lazy_and_have_the_numbers_of_the_model_in_memory():
    X = DATA["continuous"]
    lazy = lazily(X)
    model = LPP()
    Z = model.fit_transform(lazy)
    plain = model.to_plain()
    assert type(plain) is shopca_rs.LPP
    assert (type(Z), Z.chunks) == (da.Array, ((40, 40, 10), (2,)))
    np.testing.assert_allclose(Z.compute(), plain.transform(X))
    np.testing.assert_allclose(model.inverse_transform(Z).compute(), plain.inverse_transform(Z.compute()))
    np.testing.assert_allclose(model.mahalanobis(lazy), plain.mahalanobis(X))
    assert model.summary() == plain.summary()
    again = LPP.from_plain(plain, mode="sharded")
    assert again.mode == "sharded"
    np.testing.assert_allclose(again.transform(lazy).compute(), Z.compute())


def test_models_of_another_kind_are_refused():
    plain = shopca_rs.SHOPCA().fit(DATA["continuous"])
    with pytest.raises(TypeError, match=r"must be a fitted shopca_rs\.LPP, got SHOPCA"):
        LPP.from_plain(plain)
    with pytest.raises(TypeError, match=r"must be a fitted shopca_rs\.SHOPCA, got LPP"):
        SHOPCA.from_plain(shopca_rs.LPP().fit(DATA["continuous"]))


def test_a_dataframe_gives_its_names():
    frame = pd.DataFrame(DATA["continuous"], columns=list("abcde"))
    model = LPP().fit(dd.from_pandas(frame, npartitions=3))
    assert model.feature_names_in_.tolist() == list("abcde")
    assert_same_fit(model, shopca_rs.LPP().fit(frame))
    with pytest.raises(ValueError, match="feature names should match"):
        model.transform(dd.from_pandas(frame[list("edcba")], npartitions=3))


def test_parameters_are_those_in_memory_with_a_mode_for_the_threads():
    own, plain = LPP().get_params(), shopca_rs.LPP().get_params()
    assert set(plain) - set(own) == {"n_jobs", "verbose"}
    assert set(own) - set(plain) == {"mode"}
    assert all(own[name] == plain[name] for name in own if name != "mode")
    assert clone(LPP(3, ridge=0.1, mode="sharded")).get_params()["ridge"] == 0.1


@both_modes
def test_data_without_local_scatter_become_pca_with_a_warning_where_fit_was_called(mode):
    X = nasty.many_copies()
    with pytest.warns(UserWarning, match="local scatter is zero") as caught:
        model = LPP(resolution=False, mode=mode).fit(lazily(X))
    assert caught[0].filename == __file__
    with pytest.warns(UserWarning, match="local scatter is zero"):
        expected = shopca_rs.LPP(resolution=False).fit(X)
    np.testing.assert_allclose(model.eigenvalues_, expected.eigenvalues_, atol=1e-12)


def weights_of(X, chunk):
    """Weights of many sizes: some rows have none, and a whole chunk of them."""
    rng = np.random.default_rng(len(X))
    weights = rng.uniform(0.1, 3, len(X)) * (rng.random(len(X)) < 0.7)
    weights[chunk : 2 * chunk] = 0
    return weights


@pytest.mark.parametrize("name", [name for name in DATA if name != "far from zero"])
@both_modes
def test_a_weighted_fit_is_the_one_in_memory(name, mode):
    X = DATA[name]
    weights = weights_of(X, 25)
    expected = shopca_rs.LPP().fit(X, sample_weight=weights)
    assert_same_fit(LPP(mode=mode).fit(lazily(X, 25), sample_weight=weights), expected)


@both_modes
def test_weights_may_be_lazy_and_pca_may_come_first(mode):
    X = StandardScaler().fit_transform(load_wine().data)
    weights = weights_of(X, 50)
    expected = shopca_rs.LPP(3, max_features=6).fit(X, sample_weight=weights)
    ours = LPP(3, max_features=6, mode=mode)
    ours.fit_transform(lazily(X, 50), sample_weight=da.from_array(weights, chunks=30))
    assert_same_fit(ours, expected)
    lazy = dd.from_pandas(pd.DataFrame({"w": weights}), npartitions=4)["w"]
    assert_same_fit(LPP(3, max_features=6, mode=mode).fit(lazily(X, 50), sample_weight=lazy), expected)


@both_modes
def test_equal_weights_are_no_weights_and_zero_weights_are_absence(mode):
    X = DATA["ties and duplicates"]
    kept = weights_of(X, 25) > 0
    plain, expected = LPP(mode=mode).fit(lazily(X, 25)), LPP(mode=mode).fit(lazily(X[kept], 25))
    same = LPP(mode=mode).fit(lazily(X, 25), sample_weight=np.full(90, 0.3))
    np.testing.assert_array_equal(same.components_, plain.components_)
    assert_same_fit(LPP(mode=mode).fit(lazily(X, 25), sample_weight=kept), expected, 1e-12)


def test_what_are_no_weights_is_refused_as_in_memory():
    lazy = lazily(DATA["continuous"])
    for weights, message in [
        (np.ones(89), "each of the 90 rows of X, got 89"),
        (-np.ones(90), "got -1 among them"),
        ([1, 2] + 88 * [0], "at least 3 rows a weight above 0, got 2"),
    ]:
        with pytest.raises(ValueError, match=message):
            LPP().fit(lazy, sample_weight=weights)


def test_data_in_memory_are_refused():
    with pytest.raises(TypeError, match="X must be a dask array or a dask dataframe"):
        LPP().fit(DATA["continuous"])
