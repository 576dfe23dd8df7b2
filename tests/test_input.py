import warnings

import nasty
import numpy as np
import pandas as pd
import polars as pl
import pytest
from shopca_rs import k_neighbors, local_shape_operators, mean_shape_operator, operator_curvatures

K = 7
X = nasty.continuous(60, 5)
WHOLE = np.round(4 * X).astype(np.int64)


def padded(table):
    """The table as every other column of a wider one."""
    wide = np.full((len(table), 2 * table.shape[1]), np.nan)
    wide[:, ::2] = table
    return wide[:, ::2]


def frozen(table):
    copy = table.copy()
    copy.flags.writeable = False
    return copy


def as_matrix(table):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PendingDeprecationWarning)
        return np.matrix(table)


class Arraylike:
    def __array__(self, dtype=None, copy=None):
        return X.astype(dtype or float)


SAME_NUMBERS = {
    "fortran_order": np.asfortranarray(X),
    "transposed": np.ascontiguousarray(X.T).T,
    "strided_rows": np.repeat(X, 2, axis=0)[::2],
    "strided_columns": padded(X),
    "negative_strides": X[::-1, ::-1].copy()[::-1, ::-1],
    "read_only": frozen(X),
    "big_endian": X.astype(">f8"),
    "long_double": X.astype(np.longdouble),
    "lists": X.tolist(),
    "list_of_arrays": list(X),
    "tuples": tuple(map(tuple, X)),
    "objects": X.astype(object),
    "matrix": as_matrix(X),
    "array_protocol": Arraylike(),
    "masked_without_masked_entries": np.ma.masked_array(X),
    "pandas": pd.DataFrame(X, columns=list("abcde"), index=np.arange(60)[::-1]),
    "pandas_nullable": pd.DataFrame(X).convert_dtypes(),
    "polars": pl.DataFrame(X),
}
SMALLER_TYPES = [
    "float32",
    "float16",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint64",
    ">f4",
    ">i2",
]


def results(table):
    """Everything the package computes from a table, as bytes."""
    arrays = [
        mean_shape_operator(table, K),
        local_shape_operators(table, K),
        *operator_curvatures(table, K),
        *k_neighbors(table, K),
        *k_neighbors(X, K, queries=table),
    ]
    return [array.tobytes() for array in arrays]


@pytest.mark.parametrize("kind", SAME_NUMBERS)
def test_the_same_numbers_in_another_wrapping_give_the_same_bits(kind):
    assert results(SAME_NUMBERS[kind]) == results(X)


@pytest.mark.parametrize("dtype", SMALLER_TYPES)
def test_smaller_types_are_computed_in_double_precision(dtype):
    table = (np.abs(WHOLE) if "u" in dtype else WHOLE).astype(dtype)
    assert results(table) == results(table.astype(np.float64))
    assert mean_shape_operator(table, K).dtype == np.float64


def test_single_precision_values_are_taken_as_they_are():
    rounded = X.astype(np.float32)
    assert results(rounded) == results(rounded.astype(np.float64))
    assert results(rounded) != results(X)


def test_truth_values_are_zeros_and_ones():
    table = (X - X.mean(axis=0)) > 0
    assert results(table) == results(table.astype(np.float64))


def test_frames_of_mixed_number_types_are_numbers():
    columns = {
        "whole": WHOLE[:, 0],
        "small": WHOLE[:, 1].astype(np.int8),
        "truth": X[:, 2] > 0,
        "real": X[:, 3],
    }
    expected = results(np.column_stack([column.astype(float) for column in columns.values()] + [X[:, 4]]))
    columns["last"] = X[:, 4]
    assert results(pd.DataFrame(columns)) == expected
    assert results(pl.DataFrame(columns)) == expected


@pytest.mark.parametrize("order", ["C", "F"])
def test_memory_maps_are_read_in_place(tmp_path, order):
    path = tmp_path / "points.npy"
    np.save(path, np.asarray(X, order=order))
    mapped = np.load(path, mmap_mode="r")
    assert isinstance(mapped, np.memmap)
    assert results(mapped) == results(X)


@pytest.mark.parametrize(
    "kind", [kind for kind, table in SAME_NUMBERS.items() if isinstance(table, np.ndarray)]
)
def test_the_input_is_never_modified(kind):
    table = SAME_NUMBERS[kind]
    before = table.copy()
    results(table)
    assert np.array_equal(table, before)
    assert table.flags.writeable == (kind != "read_only")


def test_results_belong_to_the_caller():
    for array in (mean_shape_operator(X, K), *operator_curvatures(X, K), *k_neighbors(X, K)):
        assert array.flags.writeable
        assert not np.shares_memory(array, X)


def test_given_neighbours_are_used_as_given():
    own_and_repeated = np.tile([0, 0, 3, 5, 5, 8], (60, 1))
    expected = np.cov(X[own_and_repeated[0]], rowvar=False).sum(axis=0)
    S = mean_shape_operator(X, 6, neighbors=own_and_repeated)
    assert np.allclose(S.sum(axis=0), -expected, rtol=1e-12)
    local = local_shape_operators(X, 6, neighbors=own_and_repeated)
    assert (local == local[0]).all()
    curved = operator_curvatures(X, 6, neighbors=own_and_repeated)
    assert (curved.principal == curved.principal[0]).all()


def test_given_neighbours_replace_the_search():
    others = np.random.default_rng(0).integers(0, 60, size=(60, K))
    assert not np.allclose(mean_shape_operator(X, K, neighbors=others), mean_shape_operator(X, K))
    found, _ = k_neighbors(X, K)
    assert np.array_equal(mean_shape_operator(X, K, neighbors=found), mean_shape_operator(X, K))
    assert np.array_equal(
        operator_curvatures(X, K, neighbors=found).principal, operator_curvatures(X, K).principal
    )


@pytest.mark.parametrize("dtype", ["int8", "int32", "uint32", "int64", "uint64", ">i4"])
def test_given_neighbours_may_be_any_integers(dtype):
    found, _ = k_neighbors(X, K)
    expected = mean_shape_operator(X, K)
    assert np.array_equal(mean_shape_operator(X, K, neighbors=found.astype(dtype)), expected)
    assert np.array_equal(
        mean_shape_operator(X, K, neighbors=np.asfortranarray(found.astype(dtype))), expected
    )


def test_given_neighbours_may_be_lists_or_frames():
    found, _ = k_neighbors(X, K)
    for given in (found.tolist(), pd.DataFrame(found), pl.DataFrame(found)):
        assert np.array_equal(mean_shape_operator(X, K, neighbors=given), mean_shape_operator(X, K))


@pytest.mark.parametrize("given", [True, False], ids=["given_neighbours", "searched"])
@pytest.mark.parametrize(
    "points",
    [
        [3],
        [59, 0, 17],
        [4, 4, 2, 4],
        np.array([1, 2], dtype=np.uint8),
        range(10, 20),
        np.arange(60)[::-2],
        [],
    ],
    ids=["one", "any_order", "repeated", "small_type", "range", "negative_stride", "none"],
)
def test_points_choose_the_operators(points, given):
    neighbors = k_neighbors(X, K)[0] if given else None
    chosen = local_shape_operators(X, K, points=points, neighbors=neighbors)
    assert chosen.shape == (len(points), 5, 5)
    assert np.array_equal(chosen, local_shape_operators(X, K)[np.asarray(points, dtype=int)])


@pytest.mark.parametrize(
    "k", [np.int32(7), np.uint8(7), np.array(7)], ids=["int32", "uint8", "zero_dimensional"]
)
def test_k_may_be_any_integer(k):
    assert np.array_equal(mean_shape_operator(X, k), mean_shape_operator(X, 7))


def test_two_neighbours_among_three_points_are_enough():
    S = mean_shape_operator([[0.0], [1.0], [3.0]], 2)
    # One column: W = 1, II = 1, S = −C, and the variances are 2, 4.5 and 0.5.
    assert S[0, 0] == pytest.approx(-7 / 3, rel=1e-15)
