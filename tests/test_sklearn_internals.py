"""What we rely on in the private parts of scikit-learn. Run it with every version that is to be allowed."""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np
import pandas as pd
import polars
import pytest
from scipy import sparse
from shopca_rs.estimators.sklearn_internals import (
    Interval,
    RealNotInt,
    StrOptions,
    checks_parameters,
    rows_of,
)
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import validate_data


class Example(TransformerMixin, BaseEstimator):
    _parameter_constraints = {  # noqa: RUF012
        "count": [Interval(Integral, 1, None, closed="left"), None],
        "share": [Interval(RealNotInt, 0, 1, closed="neither"), Interval(Integral, 5, 6, closed="both")],
        "weight": [Interval(Real, 0, None, closed="both"), StrOptions({"auto"})],
        "flag": ["boolean"],
        "loud": ["verbose"],
        "seed": ["random_state"],
        "grid": ["array-like", None],
    }

    def __init__(self, count=1, share=0.5, weight=0.0, flag=True, loud=False, seed=0, grid=None):
        self.count = count
        self.share = share
        self.weight = weight
        self.flag = flag
        self.loud = loud
        self.seed = seed
        self.grid = grid

    @checks_parameters
    def fit(self, X=None, y=None):
        """Fit."""
        return self


GOOD = {
    "count": [1, np.int64(7), None],
    "share": [0.1, np.float64(0.5), 5],
    "weight": ["auto", 0, 1.5, np.inf, 10**400],
    "flag": [True, np.False_],
    "loud": [True, 0, 2],
    "seed": [0, 2**32 - 1, None, np.random.RandomState(0)],
    "grid": [None, [1.0], (1,), np.ones(3)],
}
BAD = {
    "count": [0, 1.0, "1", np.nan],
    "share": [0.0, 1.0, 1, "0.5", np.nan, 0.5j],
    "weight": [-1, "more", np.nan, None, [1.0], 1j],
    "flag": [1, None, "yes"],
    "loud": [-1, None, "yes"],
    "seed": [-1, 2**32, 1.0, "x", np.random.default_rng(0)],
    "grid": [1.0, "auto"],
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name in GOOD for value in GOOD[name]])
def test_what_a_constraint_allows_is_fitted(name, value):
    assert isinstance(Example(**{name: value}).fit(), Example)


@pytest.mark.parametrize(("name", "value"), [(name, value) for name in BAD for value in BAD[name]])
def test_all_else_is_refused_in_a_sentence_that_names_the_parameter(name, value):
    with pytest.raises(ValueError, match=rf"^The '{name}' parameter of Example must be .*Got .* instead\.$"):
        Example(**{name: value}).fit()


def test_a_fitted_method_keeps_its_name_and_its_documentation():
    assert (Example.fit.__name__, Example.fit.__doc__) == ("fit", "Fit.")


def test_names_of_features_are_checked_without_looking_at_any_rows():
    estimator = Example()
    validate_data(estimator, pd.DataFrame(columns=["a", "b"]), skip_check_array=True)
    assert (estimator.n_features_in_, estimator.feature_names_in_.tolist()) == (2, ["a", "b"])
    with pytest.raises(ValueError, match="feature names should match"):
        validate_data(estimator, pd.DataFrame(columns=["b", "a"]), skip_check_array=True, reset=False)
    validate_data(estimator, np.empty((0, 3)), skip_check_array=True)
    assert (estimator.n_features_in_, hasattr(estimator, "feature_names_in_")) == (3, False)
    with pytest.raises(ValueError, match="4 features, but Example is expecting 3"):
        validate_data(estimator, np.empty((0, 4)), skip_check_array=True, reset=False)


def test_a_class_can_leave_its_output_unwrapped():
    class Bare(Example, auto_wrap_output_keys=None):
        def transform(self, X):
            return X

        def get_feature_names_out(self, input_features=None):
            return ["a"]

    assert not hasattr(Bare(), "set_output")
    rows = [[1.0]]
    assert Bare().fit().transform(rows) is rows


@pytest.mark.parametrize(
    "make", [np.asarray, pd.DataFrame, polars.DataFrame, sparse.csr_array, sparse.coo_matrix]
)
def test_rows_of_a_table_are_a_table_of_its_kind(make):
    X = np.arange(12.0).reshape(4, 3)
    some = rows_of(make(X), np.array([3, 0, 0]))
    assert isinstance(some, type(make(X))) or sparse.issparse(some)
    dense = some.toarray() if sparse.issparse(some) else np.asarray(some)
    assert np.array_equal(dense, X[[3, 0, 0]])
