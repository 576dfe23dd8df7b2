"""Loadings: components with the names of the features, for our estimators, others and pipelines."""

from __future__ import annotations

import pickle
import sys

import numpy as np
import pandas as pd
import pytest
from refusals import refuses
from shopca_rs import LPP, SHOPCA, Loadings, ShapeOperatorEigenmaps, loadings
from sklearn.cluster import KMeans
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA, MiniBatchDictionaryLearning
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import VarianceThreshold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.random_projection import SparseRandomProjection

WINE = load_wine(as_frame=True).data
SCALED = StandardScaler().set_output(transform="pandas").fit_transform(WINE)
OURS = [SHOPCA, ShapeOperatorEigenmaps, LPP]

every_estimator = pytest.mark.parametrize("make", OURS)


@every_estimator
def test_loadings_are_the_components_with_the_names_of_features_and_outputs(make):
    fitted = make(3).fit(SCALED)
    table = fitted.loadings_
    assert np.array_equal(table, fitted.components_)
    assert table.features == list(WINE.columns)
    assert table.components == fitted.get_feature_names_out().tolist()
    assert len(table) == 3


@every_estimator
def test_without_names_the_features_are_numbered_as_scikit_learn_does(make):
    assert make().fit(SCALED.to_numpy()).loadings_.features == [f"x{j}" for j in range(13)]


@every_estimator
def test_before_a_fit_there_are_no_loadings(make):
    assert not hasattr(make(), "loadings_")
    with pytest.raises(NotFittedError):
        loadings(make())


def test_a_table_for_pandas_has_a_row_for_each_feature():
    fitted = LPP(2).fit(SCALED)
    frame = fitted.loadings_.to_pandas()
    expected = pd.DataFrame(fitted.components_.T, index=WINE.columns, columns=["lpp0", "lpp1"])
    pd.testing.assert_frame_equal(frame, expected)


def test_without_pandas_the_table_says_what_to_install(monkeypatch):
    table = LPP(2).fit(SCALED).loadings_
    monkeypatch.setitem(sys.modules, "pandas", None)
    refuses(ImportError, ["needs pandas", "pip install"], table.to_pandas)


def test_the_top_features_are_those_with_the_largest_loadings_and_their_signs():
    fitted = SHOPCA(2).fit(SCALED)
    top = fitted.loadings_.top(1, 4)
    order = np.argsort(-np.abs(fitted.components_[1]))[:4]
    assert top == [(WINE.columns[i], fitted.components_[1, i]) for i in order]
    assert min(value for _, value in top) < 0 < max(value for _, value in top)


def test_a_loading_of_zero_is_not_among_the_top():
    table = Loadings(np.array([[0.0, -2.0, 1.0, 0.0], [0.0] * 4]), ["c0", "c1"], list("abcd"))
    assert table.top(0) == [("b", -2.0), ("c", 1.0)]
    assert table.lines()[1].split() == ["component", "2", "all", "zero"]


@pytest.mark.parametrize("component", [2, -1, 1.0, True])
def test_a_component_that_is_not_there_is_refused(component):
    table = SHOPCA(2).fit(SCALED).loadings_
    with pytest.raises((ValueError, TypeError), match=r"component must be .*\.$"):
        table.top(component)


def test_loadings_of_a_pipeline_are_those_of_its_last_step_with_the_names_it_was_given():
    model = make_pipeline(VarianceThreshold(0.1), StandardScaler(), SHOPCA(2)).fit(WINE)
    table = loadings(model)
    kept = WINE.columns[WINE.var(ddof=0) > 0.1]
    assert 2 < len(kept) < 13
    assert table.features == list(kept)
    assert np.array_equal(table, model[-1].components_)


def test_a_pipeline_within_a_pipeline_counts_like_its_steps():
    model = make_pipeline(StandardScaler(), make_pipeline(StandardScaler(), PCA(2))).fit(WINE)
    table = loadings(model)
    assert np.array_equal(table, model[-1][-1].components_)
    assert table.components == ["pca0", "pca1"]
    assert table.features == list(WINE.columns)


def test_a_step_that_knows_no_names_leaves_numbered_features():
    model = make_pipeline(FunctionTransformer(np.log1p), SHOPCA(2)).fit(WINE.to_numpy())
    assert loadings(model).features == [f"x{j}" for j in range(13)]


def test_sparse_components_become_an_array():
    fitted = SparseRandomProjection(3, random_state=0).fit(SCALED)
    assert np.array_equal(loadings(fitted), fitted.components_.toarray())


@pytest.mark.parametrize(
    ("model", "parts"),
    [
        (KMeans(2, n_init=1).fit(SCALED), ["with components_", "KMeans, which has none"]),
        (make_pipeline(StandardScaler(), "passthrough").fit(SCALED), ["ends with 'passthrough'"]),
        (SHOPCA, ["model must be a transformer with components_"]),
        (5, ["model must be a transformer with components_", "got 5 (int)"]),
    ],
    ids=["no components", "no last step", "a class", "a number"],
)
def test_a_model_without_components_is_refused(model, parts):
    refuses(TypeError, parts, loadings, model)


def test_more_components_than_features_are_refused():
    model = MiniBatchDictionaryLearning(15, max_iter=1, random_state=0).fit(SCALED)
    refuses(ValueError, ["at most as many components as features", "15 components of 13"], loadings, model)


@every_estimator
def test_the_summary_names_at_most_five_features_of_each_component(make):
    fitted = make(2).fit(SCALED)
    lines = fitted.summary().splitlines()[-2:]
    for j, line in enumerate(lines):
        label, text = line[:19], line[19:]
        assert label == f"  component {j + 1}      "
        expected = [f"{name} {value:+.3g}" for name, value in fitted.loadings_.top(j, 5)]
        assert text.split(", ") == expected


def test_a_summary_has_lines_for_the_first_six_components():
    text = SHOPCA(13).fit(SCALED).summary()
    assert "component 6" in text
    assert "component 7" not in text
    assert text.endswith("13 components in all")


def test_a_long_name_or_one_of_two_lines_does_not_break_the_summary():
    X = SCALED.rename(columns={"flavanoids": "flav\nanoids", "alcohol": "a" * 300})
    lines = SHOPCA(2).fit(X).summary().splitlines()
    assert len(lines) == 11
    assert "flav anoids +" in lines[-2]
    assert f"{'a' * 29}… +" in lines[-1]


def test_loadings_survive_pickling():
    table = SHOPCA(2).fit(SCALED).loadings_
    again = pickle.loads(pickle.dumps(table))
    assert np.array_equal(again, table)
    assert repr(again) == repr(table)
