"""SHOPCA on dask: the same numbers as in memory, whatever the chunks."""

from __future__ import annotations

import subprocess
import sys

import dask
import dask.array as da
import dask.dataframe as dd
import nasty
import numpy as np
import pandas as pd
import pytest
import shopca_rs
from shopca_rs.dask import SHOPCA, blocks, candidates, from_npy, mean_shape_operator, operators
from shopca_rs.dask.chunks import as_chunks
from shopca_rs.dask.workers import Workers
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris

MODES = ("replicated", "sharded")
K = 6


@pytest.fixture(autouse=True, scope="module")
def threads():
    with dask.config.set(scheduler="threads", num_workers=2):
        yield


def tied(n=90):
    """Points on a grid, a third of them twice: neighbours at equal distances everywhere."""
    rng = np.random.default_rng(7)
    X = rng.integers(0, 4, size=(n, 3)).astype(float)
    X[: n // 3] = X[n // 3 : 2 * (n // 3)]
    return X


def worst(ours, expected):
    return np.abs(ours - expected).max() / np.abs(expected).max()


CHUNKS = {
    "one chunk": (90,),
    "an uneven last chunk": (40, 40, 10),
    "chunks smaller than k + 1": (5,) * 18,
    "one row per chunk": (1,) * 90,
    "chunks of very different sizes": (1, 80, 2, 7),
}


@pytest.mark.parametrize("sizes", CHUNKS.values(), ids=CHUNKS)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("X", [tied(), nasty.continuous(90, 5)], ids=["ties and duplicates", "continuous"])
def test_the_operator_is_that_of_the_data_in_memory_for_every_chunking(X, sizes, mode):
    lazy = da.from_array(X, chunks=(sizes, X.shape[1]))
    ours = mean_shape_operator(lazy, K, mode=mode).compute()
    assert worst(ours, shopca_rs.mean_shape_operator(X, K)) < 1e-12


@pytest.mark.parametrize("sizes", CHUNKS.values(), ids=CHUNKS)
@pytest.mark.parametrize("algorithm", ["brute", "kd_tree"])
@pytest.mark.parametrize("order", range(3))
def test_the_neighbours_found_chunk_by_chunk_in_any_order_are_those_of_one_search_to_the_bit(
    sizes, algorithm, order
):
    X = tied()
    rows = np.arange(len(X))
    firsts = np.cumsum([0, *sizes])
    found = candidates.none(*X.shape)
    for number in np.random.default_rng(order).permutation(len(sizes)):
        first = firsts[number]
        chunk = X[first : first + sizes[number]]
        found = candidates.extended(found, X, rows, chunk, first, K, algorithm)
    indices, distances = shopca_rs.k_neighbors(X, K)
    np.testing.assert_array_equal(found.rows, indices)
    np.testing.assert_array_equal(np.sqrt(found.squared), distances)
    np.testing.assert_array_equal(found.points, X[indices])


def test_candidates_stay_as_they_are_when_a_chunk_is_added():
    X = tied()
    one = candidates.extended(candidates.none(90, 3), X, np.arange(90), X[:30], 0, K, "auto")
    kept = [array.copy() for array in (one.squared, one.rows, one.points)]
    candidates.extended(one, X, np.arange(90), X[30:], 30, K, "auto")
    for array, copy in zip((one.squared, one.rows, one.points), kept, strict=True):
        np.testing.assert_array_equal(array, copy)


@pytest.mark.parametrize("mode", MODES)
def test_the_bits_are_the_same_on_every_run_and_for_every_number_of_threads(mode):
    X = da.from_array(nasty.continuous(300, 4), chunks=(70, 4))
    with dask.config.set(num_workers=2):
        graph = mean_shape_operator(X, K, mode=mode)
        first = graph.compute()
    with dask.config.set(num_workers=1):
        np.testing.assert_array_equal(graph.compute(scheduler="synchronous"), first)
        np.testing.assert_array_equal(graph.compute(), first)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("degenerate", ["average", "lapack"])
def test_both_kinds_of_bases_are_passed_on(mode, degenerate):
    X = nasty.continuous(60, 8)
    ours = mean_shape_operator(
        da.from_array(X, chunks=(25, 8)), K, mode=mode, degenerate=degenerate
    ).compute()
    assert worst(ours, shopca_rs.mean_shape_operator(X, K, degenerate=degenerate)) < 1e-12


@pytest.mark.parametrize("mode", MODES)
def test_many_columns_are_summed_as_exactly(mode):
    X = nasty.continuous(80, 70)
    ours = mean_shape_operator(da.from_array(X, chunks=(33, 40)), K, mode=mode).compute()
    assert worst(ours, shopca_rs.mean_shape_operator(X, K)) < 1e-12


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("sample", [2, 40, 250])
def test_a_sample_and_its_error_are_those_in_memory(mode, sample):
    X = nasty.continuous(300, 4)
    lazy = da.from_array(X, chunks=(70, 4))
    ours = mean_shape_operator(lazy, K, mode=mode, sample=sample, random_state=3, return_error=True)
    expected = shopca_rs.mean_shape_operator(X, K, sample=sample, random_state=3, return_error=True)
    for lazy_one, in_memory in zip(ours, expected, strict=True):
        assert worst(lazy_one.compute(), in_memory) < 1e-12


@pytest.mark.parametrize("mode", MODES)
def test_without_a_sample_the_error_is_zero(mode):
    X = da.from_array(nasty.continuous(50, 3), chunks=(20, 3))
    assert not mean_shape_operator(X, K, mode=mode, return_error=True)[1].compute().any()


def test_single_precision_is_computed_in_double():
    X = nasty.continuous(120, 4).astype(np.float32)
    ours = mean_shape_operator(da.from_array(X, chunks=(50, 4)), K, mode="sharded").compute()
    assert worst(ours, shopca_rs.mean_shape_operator(X, K)) < 1e-12


def test_blocks_of_queries_larger_than_their_candidates_may_be_are_cut(monkeypatch):
    monkeypatch.setattr(blocks, "_LIST_BYTES", 4000)
    X = nasty.continuous(120, 4)
    cut = blocks.blocks_of_all(
        as_chunks(da.from_array(X, chunks=(50, 4))), K, "sharded", Workers(1, 1 << 30, 1)
    )
    assert len(cut) > 3
    assert [row for (rows,) in cut for row in rows] == list(range(120))
    ours = mean_shape_operator(da.from_array(X, chunks=(50, 4)), K, mode="sharded").compute()
    assert worst(ours, shopca_rs.mean_shape_operator(X, K)) < 1e-12


@pytest.mark.parametrize(("memory", "mode"), [(1 << 30, "replicated"), (1 << 12, "sharded")])
def test_auto_replicates_where_the_rows_fit_into_the_smallest_worker(monkeypatch, memory, mode):
    monkeypatch.setattr(operators, "workers", lambda: Workers(2, memory, 2))
    graph = mean_shape_operator(da.from_array(nasty.continuous(100, 3), chunks=(30, 3)), K).__dask_graph__()
    assert any("walk-" in str(key) for key in graph) == (mode == "sharded")


@pytest.fixture
def frame():
    iris = load_iris(as_frame=True).data
    return iris, dd.from_pandas(iris, npartitions=4)


@pytest.mark.parametrize("mode", MODES)
def test_a_fit_has_the_attributes_of_the_fit_in_memory(frame, mode):
    in_memory, lazy = frame
    ours, expected = SHOPCA(mode=mode).fit(lazy), shopca_rs.SHOPCA().fit(in_memory)
    assert (ours.alpha_, ours.n_neighbors_, ours.n_components_) == (expected.alpha_, expected.n_neighbors_, 2)
    assert list(ours.feature_names_in_) == list(in_memory.columns)
    for name in (
        *(
            "components_",
            "mean_",
            "covariance_",
            "mean_shape_operator_",
            "curved_covariance_",
            "eigenvalues_",
        ),
        *(
            "eigengaps_",
            "explained_variance_",
            "explained_variance_ratio_",
            "scale_",
            "lambda_",
            "skew_ratio_",
        ),
    ):
        np.testing.assert_allclose(
            getattr(ours, name), getattr(expected, name), rtol=1e-9, atol=1e-11, err_msg=name
        )


def test_pca_comes_first_with_more_features_than_max_features():
    X = load_digits().data[:400]
    ours, expected = SHOPCA().fit(da.from_array(X, chunks=(150, 20))), shopca_rs.SHOPCA().fit(X)
    assert ours.mean_shape_operator_.shape == (25, 25)
    np.testing.assert_allclose(ours.components_, expected.components_, atol=1e-8)
    np.testing.assert_allclose(ours.explained_variance_ratio_, expected.explained_variance_ratio_, rtol=1e-9)


@pytest.mark.parametrize("n_components", [0.8, None, 3])
def test_components_are_counted_as_in_memory(n_components):
    X = nasty.continuous(100, 6) * [5, 3, 1, 1, 0.5, 0.1]
    ours = SHOPCA(n_components).fit(da.from_array(X, chunks=(30, 6)))
    assert ours.n_components_ == shopca_rs.SHOPCA(n_components).fit(X).n_components_


def test_a_constant_column_far_from_zero_has_no_variance():
    X = np.c_[nasty.continuous(90, 3), np.full(90, 1e9 + 0.1)]
    ours = SHOPCA().fit(da.from_array(X, chunks=(7, 4)))
    assert ours.covariance_[3].tolist() == [0, 0, 0, 0]


def test_an_offset_costs_no_digits():
    X = nasty.continuous(90, 3)
    plain = SHOPCA().fit(da.from_array(X, chunks=(20, 3)))
    moved = SHOPCA().fit(da.from_array(X + 2.0**20, chunks=(20, 3)))
    np.testing.assert_allclose(moved.covariance_, plain.covariance_, rtol=1e-8)


def test_transform_stays_lazy_and_gives_what_the_plain_model_gives(frame):
    in_memory, lazy = frame
    model = SHOPCA().fit(lazy)
    embedded = model.transform(lazy)
    assert isinstance(embedded, da.Array)
    assert embedded.chunks[1] == (2,)
    np.testing.assert_allclose(embedded.compute(), model.to_plain().transform(in_memory), atol=1e-12)
    np.testing.assert_allclose(model.fit_transform(lazy).compute(), embedded.compute())
    assert model.transform(in_memory[:5]).shape == (5, 2)
    bare = SHOPCA().fit(lazy.to_dask_array(lengths=True))
    single = bare.transform(da.from_array(in_memory.to_numpy(dtype=np.float32), chunks=(50, 4)))
    assert single.dtype == single.compute().dtype == np.float32


def test_a_model_goes_to_the_plain_one_and_back(frame):
    in_memory, lazy = frame
    model = SHOPCA(n_neighbors=9, alpha=1.5, sample=50, mode="sharded").fit(lazy)
    plain = model.to_plain()
    assert type(plain) is shopca_rs.SHOPCA
    assert (plain.n_neighbors, plain.alpha, plain.sample) == (9, 1.5, 50)
    back = SHOPCA.from_plain(plain, mode="sharded")
    assert back.get_params() == model.get_params()
    np.testing.assert_array_equal(back.transform(lazy).compute(), model.transform(lazy).compute())
    np.testing.assert_array_equal(plain.inverse_transform(plain.transform(in_memory)).shape, in_memory.shape)
    assert plain.summary() == model.summary()
    assert clone(model).get_params() == model.get_params()


def test_a_sample_larger_than_the_data_is_all_of_it(frame):
    assert SHOPCA(sample=10_000).fit(frame[1]).sample_ == 150


def test_partitions_of_unknown_length_are_counted(frame):
    in_memory, lazy = frame
    column = in_memory.columns[0]
    model = SHOPCA().fit(lazy[lazy[column] > 5])
    np.testing.assert_allclose(model.mean_, in_memory[in_memory[column] > 5].mean(), rtol=1e-12)
    unknown = lazy.to_dask_array()
    assert (
        worst(mean_shape_operator(unknown, K).compute(), shopca_rs.mean_shape_operator(in_memory, K)) < 1e-12
    )


def array(X, sizes=None):
    X = np.asarray(X, dtype=float)
    return da.from_array(X, chunks=(sizes or len(X), X.shape[1]))


def test_k_larger_than_the_rows_is_refused_before_anything_is_computed():
    with pytest.raises(ValueError, match=r"k must be at most n − 1 = 9 .*got 10"):
        mean_shape_operator(array(np.eye(10), 4), 10)
    with pytest.raises(ValueError, match="n_neighbors must be at most n_samples - 1 = 9"):
        SHOPCA(n_neighbors=10).fit(array(np.eye(10), 4))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_number_that_is_none_is_named_with_its_chunk_and_row(mode, bad):
    X = nasty.continuous(50, 3)
    X[33, 1] = bad
    with pytest.raises(ValueError, match=rf"got {bad} in chunk 2 of X \(from row 30\), row 33, column 1"):
        mean_shape_operator(array(X, 15), K, mode=mode).compute()
    with pytest.raises(ValueError, match="chunk 2"):
        SHOPCA(mode=mode).fit(array(X, 15))


def test_chunks_with_different_columns_are_refused():
    parts = [dask.delayed(np.ones)((10, width)) for width in (3, 4)]
    X = da.concatenate([da.from_delayed(part, (10, 3), float) for part in parts])
    with pytest.raises(
        ValueError, match=r"must have 3 columns, chunk 1 of X \(from row 10\) has shape \(10, 4\)"
    ):
        mean_shape_operator(X, K).compute()


def test_chunks_that_are_not_as_long_as_announced_are_refused():
    X = da.from_delayed(dask.delayed(np.ones)((12, 3)), (10, 3), float)
    with pytest.raises(ValueError, match="must have 10 rows as announced, got 12"):
        mean_shape_operator(X, K).compute()


def test_an_empty_partition_is_refused_by_its_number(frame):
    lazy = frame[1]
    column = lazy.columns[0]
    X = dd.concat([lazy, lazy[lazy[column] > 100]])
    with pytest.raises(ValueError, match="chunk 4 has none"):
        SHOPCA().fit(X)


@pytest.mark.parametrize(
    ("X", "kind", "sentence"),
    [
        (np.eye(10), TypeError, "must be a dask array or a dask dataframe, got ndarray"),
        (da.ones(10), ValueError, "must be 2-D"),
        (da.from_array(np.array([["a"] * 3] * 9)), TypeError, "must hold real numbers"),
        (da.ones((2, 3)), ValueError, "at least 3 rows, got 2"),
    ],
)
def test_what_is_no_table_of_numbers_is_refused(X, kind, sentence):
    with pytest.raises(kind, match=sentence):
        SHOPCA().fit(X)


@pytest.mark.parametrize(
    "arguments",
    [{"mode": "both"}, {"degenerate": "none"}, {"algorithm": "ball"}, {"sample": 1}, {"sample": 11}],
)
def test_bad_arguments_are_refused(arguments):
    with pytest.raises(ValueError, match=next(iter(arguments))):
        mean_shape_operator(array(np.eye(10)), 3, **arguments)


def test_transform_of_other_columns_is_refused(frame):
    with pytest.raises(ValueError, match="3 features, but SHOPCA is expecting 4"):
        SHOPCA().fit(frame[1].to_dask_array(lengths=True)).transform(da.ones((10, 3)))


def test_constant_data_fall_back_to_pca_with_a_warning():
    with pytest.warns(UserWarning, match="mean shape operator is zero"):
        assert SHOPCA().fit(da.ones((30, 3), chunks=(10, 3))).alpha_ == 0


def test_a_npy_file_is_read_by_the_tasks(tmp_path):
    X = nasty.continuous(200, 4).astype(np.float32)
    np.save(tmp_path / "points.npy", X)
    lazy = from_npy(tmp_path / "points.npy", rows_per_chunk=64)
    assert lazy.chunks == ((64, 64, 64, 8), (4,))
    np.testing.assert_array_equal(lazy.compute(), X)
    assert worst(mean_shape_operator(lazy, K).compute(), shopca_rs.mean_shape_operator(X, K)) < 1e-12


def test_what_is_no_npy_file_of_a_table_is_refused(tmp_path):
    (tmp_path / "text.npy").write_text("1,2,3")
    np.save(tmp_path / "line.npy", np.zeros(5))
    np.savez(tmp_path / "several.npz", a=np.zeros(5))
    for name in ("text.npy", "line.npy", "several.npz"):
        with pytest.raises(ValueError, match="must"):
            from_npy(tmp_path / name)


def test_a_zarr_array_goes_through_the_same_door(tmp_path):
    zarr = pytest.importorskip("zarr")
    X = nasty.continuous(150, 3)
    stored = zarr.create_array(str(tmp_path / "points.zarr"), shape=X.shape, chunks=(40, 3), dtype=X.dtype)
    stored[:] = X
    lazy = da.from_zarr(str(tmp_path / "points.zarr"))
    assert worst(mean_shape_operator(lazy, K).compute(), shopca_rs.mean_shape_operator(X, K)) < 1e-12


def test_dask_is_imported_on_demand_only():
    code = "import sys, shopca_rs; shopca_rs.SHOPCA; sys.exit('dask' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_table_of_pandas_is_asked_for_in_dask():
    with pytest.raises(TypeError, match="from_array"):
        mean_shape_operator(pd.DataFrame(np.eye(5)), 2)
