"""The resolution of features: its formula, its limits, weights, scales, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from refusals import cases, refuses
from shopca_rs import resolution

RNG = np.random.default_rng(0)


def by_definition(X, weights=None):
    """The formula, one entry after the other."""
    weights = np.ones(len(X)) if weights is None else weights
    r = []
    for column in X.T:
        gaps = [min((abs(x - y) for y in column[weights > 0] if y != x), default=0.0) for x in column]
        variance = np.average((column - np.average(column, weights=weights)) ** 2, weights=weights)
        r.append(min(variance, np.average(np.square(gaps), weights=weights) / 12))
    return np.array(r)


def test_it_is_the_formula_on_any_nasty_data(nasty_points):
    np.testing.assert_allclose(resolution(nasty_points), by_definition(nasty_points), rtol=1e-12, atol=1e-30)


def test_continuous_columns_have_next_to_none():
    X = np.column_stack([RNG.uniform(size=5000), RNG.normal(size=5000)])
    assert (resolution(X) < 1e-4 * X.var(axis=0)).all()


@pytest.mark.parametrize("step", [1.0, 0.25, 7.0])
def test_whole_steps_have_a_twelfth_of_the_step_squared(step):
    X = step * RNG.integers(0, 10, size=(500, 3))
    np.testing.assert_allclose(resolution(X), step**2 / 12, rtol=1e-12)


@pytest.mark.parametrize("ones", [1, 5, 9, 10, 50, 90, 95])
def test_zeros_and_ones_have_a_twelfth_or_their_variance_if_that_is_less(ones):
    column = (np.arange(100) < ones).astype(float)
    p = ones / 100
    expected = min(1 / 12, p * (1 - p))
    assert (expected == 1 / 12) == (10 <= ones <= 90)
    np.testing.assert_allclose(resolution(column[:, None]), expected, rtol=1e-12)


def test_a_constant_column_has_none():
    X = np.column_stack([np.full(20, 0.1), np.arange(20.0), np.zeros(20), np.full(20, 1e300)])
    np.testing.assert_allclose(resolution(X), [0, 1 / 12, 0, 0])


@pytest.mark.parametrize("rows", [1, 2])
def test_one_row_has_none_and_two_rows_a_twelfth_of_their_square(rows):
    X = np.array([[1.0, 5.0], [4.0, 5.0]])[:rows]
    np.testing.assert_allclose(resolution(X), [0.75 if rows == 2 else 0, 0])


def test_a_weight_of_two_is_two_equal_rows():
    X = np.column_stack([RNG.normal(size=40), RNG.integers(0, 3, 40) ** 2]).astype(float)
    counts = RNG.integers(1, 4, 40)
    np.testing.assert_allclose(resolution(X, counts), resolution(np.repeat(X, counts, axis=0)), rtol=1e-12)


def test_a_weight_of_zero_is_absence_and_equal_weights_change_no_bit():
    X = RNG.integers(0, 9, size=(40, 3)).astype(float)
    weights = RNG.integers(0, 3, 40).astype(float)
    kept = weights > 0
    np.testing.assert_array_equal(resolution(X, weights), resolution(X[kept], weights[kept]))
    np.testing.assert_array_equal(resolution(X, np.full(40, 0.1)), resolution(X))
    np.testing.assert_allclose(resolution(X, weights), by_definition(X, weights), rtol=1e-12)


@pytest.mark.parametrize("power", [-498, -200, 200, 498])
def test_scaling_the_data_scales_it_by_the_square(power):
    X = np.column_stack([RNG.normal(size=50), RNG.integers(0, 4, 50)])
    half = np.ldexp(resolution(X), power)  # the whole factor would not fit a double
    np.testing.assert_allclose(np.ldexp(resolution(np.ldexp(X, power)), -power), half, rtol=1e-14)


def test_columns_of_very_different_sizes_do_not_see_each_other():
    X = RNG.integers(0, 5, size=(60, 3)) * np.array([1e-150, 1.0, 1e150])
    np.testing.assert_allclose(resolution(X), [1e-300 / 12, 1 / 12, 1e300 / 12], rtol=1e-12)


def test_zeros_of_both_signs_are_one_value():
    np.testing.assert_allclose(resolution([[0.0], [-0.0], [3.0], [3.0]]), 0.75)


def test_the_data_stay_as_they_were():
    X = np.asfortranarray(RNG.normal(size=(30, 4)))
    before = X.copy()
    X.setflags(write=False)
    resolution(X)
    np.testing.assert_array_equal(X, before)


TABLE = np.arange(12.0).reshape(6, 2)
REFUSED = {
    "overflow": ((TABLE * 1e200,), ValueError, ["squares that fit in float64", "Rescale"]),
    "nan": ((TABLE * np.nan,), ValueError, ["finite numbers only"]),
    "one axis": ((TABLE[0],), ValueError, ["must be 2-D"]),
    "no rows": ((TABLE[:0],), ValueError, ["at least one row and one column"]),
    "text": (([["a"]],), TypeError, ["real numbers"]),
    "too few weights": ((TABLE, [1, 2]), ValueError, ["each of the 6 rows of X", "got 2"]),
    "negative weight": ((TABLE, [1, 1, 1, 1, 1, -3]), ValueError, ["a number from 0", "got -3"]),
    "zero weights": ((TABLE, np.zeros(6)), ValueError, ["some row a weight above 0"]),
    "infinite weight": ((TABLE, [1, 1, 1, 1, 1, np.inf]), ValueError, ["finite numbers only"]),
    "table of weights": ((TABLE, TABLE), ValueError, ["sample_weight must be 1-D", "got 2-D"]),
}


@cases(REFUSED)
def test_what_it_cannot_use_is_refused_in_a_sentence(value, exception, parts):
    refuses(exception, parts, resolution, *value)
