import datetime

import nasty
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from refusals import cases, refuses
from shopca_rs import k_neighbors, local_shape_operators, mean_shape_operator, operator_curvatures

X = nasty.continuous(50, 3)
FUNCTIONS = [mean_shape_operator, local_shape_operators, operator_curvatures, k_neighbors]

every_function = pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)


def with_entry(value, row, column):
    table = X.copy()
    table[row, column] = value
    return table


NAN = with_entry(np.nan, 7, 2)
DATES = pd.date_range("2020-01-01", periods=4)
TEXT_COLUMN = {"a": [1.0, 2.0, 3.0], "b": ["x", "y", "z"]}
REAL = "must hold real numbers, got"
ENCODE = "Encode or drop such columns first"
FINITE = "must hold finite numbers only, got"
FLAT = "must be 2-D with points as rows, got"
SHAPED = "must have at least one row and one column, got shape"

KINDS = {
    "sparse_matrix": (scipy.sparse.csr_matrix(X), TypeError, ["must be a dense table", ".toarray()"]),
    "sparse_array": (scipy.sparse.coo_array(X), TypeError, ["must be a dense table", ".toarray()"]),
    "complex": (X + 1j, TypeError, [REAL, "complex128", ENCODE]),
    "text": ([["a", "b"]] * 4, TypeError, [REAL, "<U1", ENCODE]),
    "bytes": ([[b"a", b"b"]] * 4, TypeError, [REAL, "|S1", ENCODE]),
    "numbers_as_text": (X.astype(str), TypeError, [REAL, "<U", ENCODE]),
    "pandas_text": (pd.DataFrame(TEXT_COLUMN), TypeError, [REAL, "the text 'x'", ENCODE]),
    "polars_text": (pl.DataFrame(TEXT_COLUMN), TypeError, [REAL, "the text 'x'", ENCODE]),
    "dates": (np.array(DATES)[:, None], TypeError, [REAL, "datetime64", ENCODE]),
    "pandas_dates": (pd.DataFrame({"a": DATES, "b": range(4)}), TypeError, [REAL, "Timestamp", ENCODE]),
    "polars_dates": (pl.DataFrame({"a": [datetime.date(2020, 1, 1)] * 4}), TypeError, [REAL, ENCODE]),
    "durations": (np.ones((4, 2), dtype="m8[s]"), TypeError, [REAL, "timedelta64", ENCODE]),
    "objects": ([[object()] * 2] * 4, TypeError, [REAL, "'object'", ENCODE]),
    "huge_integers": ([[10**400, 1]] * 4, TypeError, [REAL, "too large", ENCODE]),
    "dictionary": ({"a": [1, 2, 3]}, TypeError, [REAL, "'dict'", ENCODE]),
}
SHAPES = {
    "number": (3.0, ValueError, [FLAT, "0-D"]),
    "one_dimension": (X[:, 0], ValueError, [FLAT, "(50,)", "reshape(-1, 1)", "reshape(1, -1)"]),
    "three_dimensions": (X[None], ValueError, [FLAT, "3-D of shape (1, 50, 3)"]),
    "ragged": ([[1.0, 2.0], [3.0]], ValueError, ["must be a table with rows of one length"]),
    "empty_list": ([], ValueError, [FLAT, "shape (0,)"]),
}
EMPTY = {
    "no_rows": (np.empty((0, 3)), ValueError, [SHAPED, "(0, 3)"]),
    "no_columns": (np.empty((9, 0)), ValueError, [SHAPED, "(9, 0)"]),
}
VALUES = {
    "masked": (np.ma.masked_array(X, mask=np.isnan(NAN)), ValueError, [FINITE, "masked", ".filled()"]),
    "nan": (NAN, ValueError, [FINITE, "NaN at row 7, column 2", "Drop or fill"]),
    "inf": (with_entry(np.inf, 0, 1), ValueError, [FINITE, "inf at row 0, column 1", "Drop or fill"]),
    "minus_inf": (with_entry(-np.inf, 49, 0), ValueError, [FINITE, "-inf at row 49, column 0"]),
    "float32_nan": (NAN.astype(np.float32), ValueError, [FINITE, "NaN at row 7, column 2"]),
    "fortran_nan": (np.asfortranarray(NAN), ValueError, [FINITE, "NaN at row 7, column 2"]),
    "pandas_nan": (pd.DataFrame(NAN), ValueError, [FINITE, "NaN at row 7, column 2"]),
    "pandas_na": (pd.DataFrame({"a": pd.array([1, None, 3], "Int64")}), ValueError, [FINITE, "NaN at row 1"]),
    "polars_null": (pl.DataFrame({"a": [1, 2, None]}), ValueError, [FINITE, "NaN at row 2, column 0"]),
    "beyond_double": (np.full((4, 1), np.longdouble("1e400")), ValueError, [FINITE, "inf at row 0"]),
    "overflow": (1e200 * X, ValueError, ["spans", "squared distances overflow double precision", "Rescale"]),
    "range_overflow": (with_entry(1.7e308, 3, 1) - 1e308, ValueError, ["spans", "overflow", "Rescale"]),
    "underflow": (
        1e-200 * X,
        ValueError,
        ["spans only", "squared distances underflow double precision", "Rescale"],
    ),
    "subnormal": (5e-324 * np.round(X), ValueError, ["spans only", "underflow", "Rescale"]),
}


@every_function
@cases(KINDS | SHAPES | EMPTY | VALUES | {"none": (None, ValueError, [FLAT, "0-D"])})
def test_a_bad_table_is_refused_in_a_sentence(function, value, exception, parts):
    if function is mean_shape_operator and scipy.sparse.issparse(value):
        pytest.skip("it takes sparse tables")
    refuses(exception, ["X", *parts], function, value, 2)


@cases(KINDS | SHAPES)
def test_bad_queries_are_refused_in_a_sentence(value, exception, parts):
    refuses(exception, ["queries", *parts], k_neighbors, X, 2, queries=value)


@cases(EMPTY | {name: VALUES[name] for name in ("nan", "inf", "overflow")})
def test_empty_queries_and_their_bad_entries_are_refused_in_a_sentence(value, exception, parts):
    refuses(exception, ["queries", *parts], k_neighbors, X, 2, queries=value)


@pytest.mark.parametrize("algorithm", ["kd_tree", "brute"])
def test_queries_too_far_away_to_square_are_refused_in_a_sentence(algorithm):
    refuses(ValueError, ["overflow"], k_neighbors, X, 4, queries=[[1e200, 0, 0]], algorithm=algorithm)


@pytest.mark.parametrize("columns", [1, 2, 4])
@pytest.mark.parametrize("algorithm", ["kd_tree", "brute"])
def test_queries_from_another_space_are_refused_in_a_sentence(columns, algorithm):
    parts = [f"queries must have as many columns as X (3), got {columns}"]
    refuses(ValueError, parts, k_neighbors, X, 4, queries=np.ones((5, columns)), algorithm=algorithm)


@pytest.mark.parametrize("row", [0, 4095, 4096, 9999, 19_999])
def test_the_first_bad_entry_is_named_wherever_it_is(row):
    table = np.zeros((20_000, 2))
    table[row, 1] = np.nan
    table[row + 1 :, 0] = np.inf
    refuses(ValueError, [f"NaN at row {row}, column 1"], mean_shape_operator, table, 3)


@pytest.mark.parametrize("value", [0.0, 2.5, 1e300, -1e-300, 0.1], ids=str)
@pytest.mark.parametrize(("n", "d", "k"), [(20, 3, 5), (20, 8, 3), (300, 1, 2)])
@pytest.mark.parametrize("degenerate", ["average", "lapack"])
def test_constant_data_have_a_mean_operator_of_exactly_zero(value, n, d, k, degenerate):
    S = mean_shape_operator(np.full((n, d), value), k, degenerate=degenerate)
    assert S.shape == (d, d)
    assert not S.any()


@pytest.mark.parametrize("scale", [1e140, 1e-140])
@pytest.mark.parametrize("k", [2, 10])
def test_the_largest_and_smallest_accepted_data_give_finite_results(scale, k):
    expected = mean_shape_operator(X, k)
    assert np.allclose(mean_shape_operator(scale * X, k) / scale / scale, expected, rtol=1e-9)
    curved = operator_curvatures(scale * X, k)
    assert np.isfinite(curved.principal).all()
    assert np.isfinite(curved.mean).all()
