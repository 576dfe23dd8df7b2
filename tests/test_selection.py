"""Choosing k and m by stability, with quality for ties."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from refusals import cases, refuses
from shopca_rs import LPP, SHOPCA, select, stability
from shopca_rs.evaluation.selection import TIE
from sklearn.datasets import load_iris, load_wine
from sklearn.decomposition import PCA, FastICA
from sklearn.manifold import trustworthiness
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

WINE = load_wine(as_frame=True).data
SCALED = StandardScaler().fit_transform(WINE)
IRIS = load_iris().data


def planted(m, n=300, d=8):
    """Points with much variance in m directions, each with its own, and noise in the others."""
    rng = np.random.default_rng(0)
    turned = np.linalg.qr(rng.normal(size=(d, d)))[0]
    return rng.normal(size=(n, d)) * np.r_[[10.0] * m, [1.0] * (d - m)] @ turned


def test_a_row_has_the_numbers_of_stability_and_of_the_fit():
    found = select(SCALED, n_neighbors=[5, "log2"], n_components=[1, 2], n_resamples=4, quality_neighbors=7)
    assert [(row["n_neighbors"], row["n_components"]) for row in found.table] == [
        (5, 1),
        (5, 2),
        ("log2", 1),
        ("log2", 2),
    ]
    seed = int(np.random.RandomState(0).randint(2**31 - 1))
    row, model = found.table[1], SHOPCA(2, n_neighbors=5)
    expected = stability(model, SCALED, n_resamples=4, random_state=seed)
    for key in ("random_angle", "agreement", "verdict"):
        assert row[key] == getattr(expected, key)
    assert (row["angle"], row["alpha"]) == (expected.median_angle, expected.reference_alpha)
    Z = model.fit_transform(SCALED)
    assert row["eigengap"] == model.eigengaps_.max()
    assert row["trustworthiness"] == pytest.approx(trustworthiness(SCALED, Z, n_neighbors=7), abs=1e-12)
    assert row["continuity"] == pytest.approx(trustworthiness(Z, SCALED, n_neighbors=7), abs=1e-12)


def test_few_rows_have_the_quality_of_fewer_neighbours():
    few = IRIS[::12]
    found = select(few, n_neighbors=[4], n_components=[1], n_resamples=2)
    Z = SHOPCA(1, n_neighbors=4).fit_transform(few)
    assert found.table[0]["trustworthiness"] == pytest.approx(
        trustworthiness(few, Z, n_neighbors=6), abs=1e-12
    )


@pytest.mark.parametrize("m", [1, 2, 3])
def test_the_planted_number_of_components_is_recommended(m):
    # The directions of one planted variance are stable together only.
    found = select(planted(m), estimator=PCA(), n_components=[1, 2, 3, 4], quality_neighbors=None)
    assert found.n_components == m
    assert found.n_neighbors is None
    assert found.best["verdict"] == "stable"


def test_among_equally_stable_pairs_the_better_quality_decides():
    X = np.random.default_rng(1).normal(size=(300, 6)) * [100.0, 30.0, 10.0, 1.0, 1.0, 1.0]
    found = select(X, estimator=PCA(), n_components=[1, 2, 3, 4])
    top = max(row["agreement"] for row in found.table)
    tied = [row for row in found.table if row["agreement"] >= top - TIE]
    assert [row["n_components"] for row in tied] == [1, 2, 3]
    assert found.n_components == 3


def test_without_quality_the_most_components_decide_and_the_columns_are_empty():
    found = select(SCALED, n_neighbors=[5, 10], n_components=[1, 2, 3], quality_neighbors=None)
    top = max(row["agreement"] for row in found.table)
    assert found.n_components == 2
    assert [row["n_components"] for row in found.table if row["agreement"] > top - TIE] == [1, 2, 1, 2]
    assert found.best["agreement"] == max(row["agreement"] for row in found.table if row["n_components"] == 2)
    assert {row["trustworthiness"] for row in found.table} == {None}
    assert "trust" not in found.summary()


def test_a_pipeline_gets_the_candidates_in_its_last_step_and_stays_as_it_was():
    model = make_pipeline(StandardScaler(), LPP(n_components=4, n_neighbors=9))
    found = select(WINE, estimator=model, n_neighbors=[6], n_components=[2], n_resamples=2)
    alone = stability(
        make_pipeline(StandardScaler(), LPP(2, n_neighbors=6)),
        WINE,
        n_resamples=2,
        random_state=int(np.random.RandomState(0).randint(2**31 - 1)),
    )
    assert found.table[0]["angle"] == alone.median_angle
    fitted = alone.estimator
    Z = fitted.transform(WINE)
    assert found.table[0]["trustworthiness"] == trustworthiness(SCALED, Z, n_neighbors=10)
    e = fitted[-1].eigenvalues_
    assert found.table[0]["eigengap"] == pytest.approx((e[1] - e[2]) / e.sum())
    assert (model[-1].n_components, model[-1].n_neighbors) == (4, 9)


def test_the_default_candidates_fit_the_data():
    found = select(IRIS, n_resamples=2, quality_neighbors=None)
    assert sorted({row["n_neighbors"] for row in found.table}) == [4, 7, 14, 29]
    assert sorted({row["n_components"] for row in found.table}) == [1, 2, 3]
    small = select(IRIS[::10], n_resamples=2, quality_neighbors=None)
    assert max(row["n_neighbors"] for row in small.table) == 6


def test_an_estimator_without_an_eigengap_has_none():
    found = select(
        IRIS, estimator=FastICA(random_state=0), n_components=[2], n_resamples=2, quality_neighbors=None
    )
    assert found.best["eigengap"] is None
    assert "eigengap" not in found.summary()


def test_the_number_of_threads_changes_nothing_and_progress_counts_pairs():
    told, tables = [], []
    for n_jobs in (1, 2):
        found = select(
            IRIS,
            n_neighbors=[5, 9],
            n_components=(1, 2),
            n_resamples=2,
            quality_neighbors=None,
            n_jobs=n_jobs,
            progress=lambda *done: told.append(done),
        )
        tables.append(found.table)
    assert tables[0] == tables[1]
    assert told[:4] == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_the_summary_marks_the_recommended_row():
    found = select(IRIS, n_neighbors=[5, 9], n_components=[1, 2], n_resamples=2, quality_neighbors=None)
    first, header, *rows = found.summary().splitlines()
    assert first.startswith(f"SHOPCA: recommended n_neighbors = {found.n_neighbors}, n_components = ")
    assert header.split()[:2] == ["k", "m"]
    marked = [row.split()[1:3] for row in rows if row.startswith("*")]
    assert marked == [[str(found.n_neighbors), str(found.n_components)]]
    assert f"n_components = {found.n_components})" in repr(found)


def test_the_table_goes_to_pandas(monkeypatch):
    found = select(IRIS, n_neighbors=[5], n_components=[1, 2], n_resamples=2, quality_neighbors=None)
    frame = found.to_pandas()
    assert frame["n_components"].tolist() == [1, 2]
    assert frame["angle"].tolist() == [row["angle"] for row in found.table]
    monkeypatch.setitem(sys.modules, "pandas", None)
    refuses(ImportError, ["needs pandas"], found.to_pandas)


WRONG = {
    "a number": ({"n_components": 2}, TypeError, ["n_components must be a list of 1 to 100 integers"]),
    "no candidates": ({"n_neighbors": []}, ValueError, ["n_neighbors must be a list of 1 to 100", "got 0"]),
    "too many": ({"n_neighbors": range(2, 200)}, ValueError, ["a list of 1 to 100", "got 198"]),
    "a fraction": ({"n_components": [1, 0.9]}, TypeError, ["n_components[1] must be an integer"]),
    "one neighbour": ({"n_neighbors": [1]}, ValueError, ["n_neighbors[0] must be at least 2"]),
    "another rule": ({"n_neighbors": ["sqrt"]}, ValueError, ['one of "log2", "log"']),
    "all components": ({"n_components": [4]}, ValueError, ["below the number of features, 4"]),
    "more than half": ({"fraction": 0.6}, ValueError, ["at most 0.5", "disjoint subsamples are compared"]),
    "k for PCA": ({"estimator": PCA(), "n_neighbors": [3]}, ValueError, ["must be None for an estimator"]),
    "no m": ({"estimator": StandardScaler()}, TypeError, ["must have a parameter n_components"]),
    "no estimator": ({"estimator": 5}, TypeError, ["estimator must be a transformer"]),
    "no neighbours": ({"quality_neighbors": 0}, ValueError, ["quality_neighbors must be at least 1"]),
    "a line": ({"X": [1.0, 2.0]}, ValueError, ["X must be 2-D"]),
}


@cases(WRONG)
def test_what_cannot_be_compared_is_refused_in_a_sentence(value, exception, parts):
    refuses(exception, parts, select, **({"X": IRIS, "n_resamples": 2, "quality_neighbors": None} | value))
