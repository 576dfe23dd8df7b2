"""Very large and very small numbers on dask: accepted and refused as in memory, whatever the chunks."""

from __future__ import annotations

import re

import dask
import dask.array as da
import nasty
import numpy as np
import pytest
import shopca_rs
from shopca_rs import _core, k_neighbors
from shopca_rs.dask import SHOPCA, blocks, mean_shape_operator
from shopca_rs.dask.ranges import Box, box_of, check_range

MODES = ("replicated", "sharded")
K = 6
X = nasty.continuous(120, 3)


@pytest.fixture(autouse=True, scope="module")
def threads():
    with dask.config.set(scheduler="threads", num_workers=2):
        yield


def lazy(X, rows=50):
    return da.from_array(X, chunks=(rows, X.shape[1]))


def sentence(function, *arguments, **options):
    with pytest.raises(ValueError, match=r"\.$") as caught:
        function(*arguments, **options)
    return str(caught.value)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("scale", [1e140, 1e80, 1, 1e-82, 1e-140])
def test_the_standard_error_is_that_in_memory_at_any_scale(mode, scale):
    ours = mean_shape_operator(lazy(scale * X), K, mode=mode, sample=70, return_error=True)
    expected = shopca_rs.mean_shape_operator(scale * X, K, sample=70, return_error=True)
    for computed, in_memory in zip(dask.compute(*ours), expected, strict=True):
        assert np.abs(in_memory).min() > 0
        np.testing.assert_allclose(computed, in_memory, rtol=1e-12)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("include_self", [False, True])
@pytest.mark.parametrize("d", [3, 40])
@pytest.mark.parametrize(("scale", "far"), [(1e-150, 1e150), (1e-75, 1e150), (1e150, 1e150)])
def test_a_tiny_cloud_beside_an_outlier_has_the_operator_of_the_function_in_memory(
    mode, include_self, d, scale, far
):
    table = scale * nasty.continuous(120, d)
    table[70, 0] = far
    for sample in (None, 70):
        options = {"sample": sample, "include_self": include_self, "return_error": True}
        ours = mean_shape_operator(lazy(table), K, mode=mode, **options)
        expected = shopca_rs.mean_shape_operator(table, K, **options)
        for computed, in_memory in zip(dask.compute(*ours), expected, strict=True):
            assert np.abs(computed - in_memory).max() <= 1e-12 * np.abs(in_memory).max()
        assert np.abs(expected[0]).max() > 0


@pytest.mark.parametrize("m", [2, 3, 31, 32, 33, 100])
def test_the_steps_of_the_standard_error_are_those_of_the_core_to_the_bit(m):
    rows = np.random.RandomState(0).permutation(len(X))[:m]
    found, _ = k_neighbors(X, K)
    sizes = np.diff(_core.group_cuts(m)).tolist()
    sums = blocks.sums_of_groups(X, found[rows], sizes, None, "average")
    expected = shopca_rs.mean_shape_operator(X, K, sample=m, return_error=True)
    np.testing.assert_array_equal(blocks.mean_and_error(sums, sizes, sizes, len(X)), expected)


def without_numbers(text):
    return re.sub(r"\d[\d.e-]*", "…", text)


BAD = {
    "too large": 1e200 * X,
    "too large between two chunks": X + 1e200 * (np.arange(120) >= 50)[:, None],
    "squares that overflow only in their sum": X + 5e153 * (np.arange(120) >= 50)[:, None],
    "too small": 1e-200 * X,
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("sample", [None, 40])
@pytest.mark.parametrize("table", BAD.values(), ids=BAD)
def test_a_table_is_refused_in_the_words_of_the_function_in_memory(table, mode, sample):
    expected = sentence(shopca_rs.mean_shape_operator, table, K)
    graph = mean_shape_operator(lazy(table), K, mode=mode, sample=sample)
    # The range may be that of the chunks seen so far.
    assert without_numbers(sentence(graph.compute)) == without_numbers(expected)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("sample", [None, 60])
@pytest.mark.parametrize("jitter", [0, 1e-170, 1e-160, 1e-155, 1e-153, 1e-150])
def test_a_chunk_whose_own_range_is_tiny_is_accepted_where_the_table_s_is_not(mode, sample, jitter):
    table = X.copy()
    table[50:100] = jitter * X[50:100]
    ours = mean_shape_operator(lazy(table), K, mode=mode, sample=sample, return_error=True)
    expected = shopca_rs.mean_shape_operator(table, K, sample=sample, return_error=True)
    for computed, in_memory in zip(dask.compute(*ours), expected, strict=True):
        np.testing.assert_allclose(computed, in_memory, rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("max_features", [2, 25], ids=["PCA first", "no PCA"])
def test_a_fit_to_numbers_whose_squares_overflow_is_refused_in_a_sentence(max_features):
    assert "Rescale" in sentence(SHOPCA(max_features=max_features).fit, lazy(1e200 * X))
    assert "Rescale" in sentence(
        SHOPCA(max_features=max_features).fit, lazy(BAD["too large between two chunks"])
    )


def test_a_box_grows_around_every_chunk():
    whole = Box.empty(3)
    for rows in np.array_split(X, 7):
        whole = whole.around(box_of(rows))
    np.testing.assert_array_equal(whole.low, X.min(axis=0))
    np.testing.assert_array_equal(whole.high, X.max(axis=0))
    assert whole.largest == np.abs(X).max()


@pytest.mark.parametrize("d", [1, 3, 2000])
def test_ordinary_and_constant_tables_have_a_range_that_is_accepted(d):
    for table in (nasty.continuous(5, d), np.ones((5, d))):
        check_range(box_of(table))
