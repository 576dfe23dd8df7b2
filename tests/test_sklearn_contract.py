"""scikit-learn's contract, whole, and what its own checks leave out."""

from __future__ import annotations

import pickle

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from nasty import continuous
from shopca_rs import LPP, SHOPCA, ShapeOperatorEigenmaps
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils._testing import set_random_state
from sklearn.utils.estimator_checks import (
    check_dataframe_column_names_consistency,
    check_param_validation,
    check_set_output_transform,
    check_set_output_transform_pandas,
    check_set_output_transform_polars,
    check_transformer_get_feature_names_out,
    check_transformer_get_feature_names_out_pandas,
    parametrize_with_checks,
)

ALL = [SHOPCA, ShapeOperatorEigenmaps, LPP]
every_estimator = pytest.mark.parametrize("make", ALL, ids=lambda make: make.__name__)

LEFT_OUT = [
    check_dataframe_column_names_consistency,
    check_param_validation,
    check_set_output_transform,
    check_set_output_transform_pandas,
    check_set_output_transform_polars,
    check_transformer_get_feature_names_out,
    check_transformer_get_feature_names_out_pandas,
]


def expected_failures(_estimator):
    # The check takes a row of weight 2 for two rows, which take up two places among the neighbours.
    why = "a weight takes up no place among neighbours"
    return {f"check_sample_weight_equivalence_on_{kind}_data": why for kind in ("dense", "sparse")}


@parametrize_with_checks([make() for make in ALL], expected_failed_checks=expected_failures)
def test_scikit_learn_s_own_check_passes(estimator, check):
    check(estimator)


# The set_output checks fit a table and transform its bare numbers and the reverse; scikit-learn warns.
@pytest.mark.filterwarnings("ignore:X does not have valid feature names:UserWarning")
@pytest.mark.filterwarnings("ignore:X has feature names:UserWarning")
@every_estimator
@pytest.mark.parametrize("check", LEFT_OUT, ids=lambda check: check.__name__)
def test_a_check_that_check_estimator_leaves_out_passes(make, check):
    estimator = make()
    set_random_state(estimator)
    check(make.__name__, estimator)


@every_estimator
@pytest.mark.parametrize("container", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_set_output_gives_the_container_the_names_and_the_numbers(make, container):
    X = continuous()
    table = container(dict(zip("abcde", X.T, strict=True)))
    kind = "pandas" if container is pd.DataFrame else "polars"
    embedded = make().set_output(transform=kind).fit_transform(table)
    assert isinstance(embedded, container)
    name = make.__name__.lower()
    assert list(embedded.columns) == [f"{name}0", f"{name}1"]
    np.testing.assert_allclose(embedded.to_numpy(), make().fit_transform(X), rtol=1e-12, atol=1e-12)


@every_estimator
def test_feature_names_are_remembered_and_checked(make):
    table = pd.DataFrame(continuous(), columns=list("abcde"))
    fitted = make().fit(table)
    assert fitted.feature_names_in_.tolist() == list("abcde")
    assert fitted.n_features_in_ == 5
    with pytest.raises(ValueError, match="feature names should match"):
        fitted.transform(table[list("edcba")])


@every_estimator
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_read_only_data_is_enough_and_the_data_stay_as_they_were(make, dtype):
    X = continuous(d=30).astype(dtype)
    before = X.copy()
    X.setflags(write=False)
    fitted = make().fit(X)
    fitted.inverse_transform(fitted.transform(X))
    np.testing.assert_array_equal(X, before)


@every_estimator
def test_transform_leaves_writeable_data_as_they_were(make):
    X = continuous()
    before = X.copy()
    fitted = make().fit(X)
    fitted.transform(X)
    np.testing.assert_array_equal(X, before)


@every_estimator
def test_a_clone_has_the_parameters_and_nothing_fitted(make):
    fitted = make(n_components=3, n_neighbors=9, max_features=20).fit(continuous())
    copy = clone(fitted)
    assert copy.get_params() == fitted.get_params()
    assert not hasattr(copy, "components_")


def test_a_clone_keeps_the_grid():
    preset = SHOPCA.published(n_components=3)
    np.testing.assert_array_equal(clone(preset).alpha_grid, np.geomspace(0.1, 100, 15))


@every_estimator
@pytest.mark.parametrize("way", ["pickle", "joblib"])
def test_a_stored_estimator_comes_back_the_same(make, way, tmp_path):
    X = continuous(d=30)
    fitted = make().fit(X)
    if way == "pickle":
        restored = pickle.loads(pickle.dumps(fitted))
    else:
        joblib.dump(fitted, tmp_path / "fitted.joblib")
        restored = joblib.load(tmp_path / "fitted.joblib")
    np.testing.assert_array_equal(restored.transform(X), fitted.transform(X))
    assert restored.summary() == fitted.summary()


@every_estimator
def test_it_works_between_a_scaler_and_a_classifier(make):
    X, y = load_iris(return_X_y=True)
    pipeline = make_pipeline(StandardScaler(), make(n_components=2), KNeighborsClassifier(7))
    assert pipeline.fit(X, y).score(X, y) > 0.8
    assert list(pipeline[:-1].get_feature_names_out()) == [f"{make.__name__.lower()}{j}" for j in range(2)]


def test_grid_search_tries_every_parameter_and_keeps_the_best():
    X, y = load_iris(return_X_y=True)
    pipeline = make_pipeline(StandardScaler(), SHOPCA(), KNeighborsClassifier(7))
    choices = {
        "shopca__alpha": ["auto", 0, 1.0, np.inf],
        "shopca__n_neighbors": ["log", "log2", 20],
        "shopca__criterion": ["mass", "eigenvalue"],
    }
    search = GridSearchCV(pipeline, choices, cv=3).fit(X, y)
    assert len(search.cv_results_["params"]) == 24
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_score_ > 0.9


def test_the_eigenmaps_have_no_alpha_to_set():
    assert set(SHOPCA().get_params()) - set(ShapeOperatorEigenmaps().get_params()) == {
        "alpha",
        "alpha_grid",
        "criterion",
    }
