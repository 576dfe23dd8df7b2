"""The explorer of LPP: what stands in the file, for every number of neighbours."""

from __future__ import annotations

from itertools import pairwise

import nasty
import numpy as np
import pandas as pd
import pytest
import reference
import shopca_rs
from browsing import contents
from shopca_rs import LPP, explore
from shopca_rs.diagnostics import angles_to_pca
from shopca_rs.estimators.neighbor_graph import (
    degree_covariance,
    local_scatter,
    neighbor_graph,
    nested_covariances,
)
from sklearn.datasets import load_digits, load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from test_explorer import frames

X = nasty.continuous()


def page_of(model, X, tmp_path, **options):
    return contents(explore(model, X, path=tmp_path / "page.html", **options))


def ratios(page):
    return np.array([line["values"] for line in page["curves"]["lines"]], dtype=float)


@pytest.mark.parametrize("name", ["continuous", "levels", "two_copies", "many_copies"])
def test_the_matrices_of_nested_graphs_are_those_of_each_graph(name):
    points = getattr(nasty, name)()
    neighbors = reference.neighbors(points, 20)
    counts = [2, 3, 4, 7, 19, 20]
    found = list(nested_covariances(points, neighbors, counts))
    assert len(found) == len(counts)
    for k, (scatter, covariance) in zip(counts, found, strict=True):
        graph = neighbor_graph(neighbors[:, :k])
        assert reference.relative_error(scatter, local_scatter(points, graph)) < 1e-13
        assert reference.relative_error(covariance, degree_covariance(points, graph)) < 1e-13


@pytest.mark.parametrize(
    ("data", "options"),
    [
        (X, {}),
        (X, {"n_components": 3, "n_neighbors": 40}),
        (nasty.levels(), {"n_neighbors": 2}),
        (X, {"ridge": 0, "resolution": False}),
        (load_digits().data[:300], {"max_features": 12}),
    ],
    ids=["defaults", "k larger than usual", "k smaller than usual", "the original", "PCA first"],
)
def test_every_picture_is_that_of_a_fit_with_its_k(data, options, tmp_path):
    fitted = LPP(**options).fit(data)
    page = page_of(fitted, data, tmp_path)
    counts = [int(k) for k in page["curves"]["values"]]
    assert counts[page["curves"]["fitted"]] == fitted.n_neighbors_
    Z = fitted.transform(data)[:, :2]
    np.testing.assert_allclose(frames(page)[page["curves"]["fitted"]], Z / np.abs(Z).max(), atol=1e-4)
    for place, k in enumerate(counts):
        other = LPP(**options | {"n_neighbors": k}).fit(data)
        np.testing.assert_allclose(ratios(page)[:, place], other.eigenvalues_[:3], rtol=1e-5)
        picture, Z = frames(page)[place], other.transform(data)
        cosines = np.abs(np.corrcoef(Z.T, picture.T)[: Z.shape[1], Z.shape[1] :])
        assert (cosines.max(axis=0) > 1 - 1e-6).all()
        angle = angles_to_pca(other.covariance_, scores_of(other).T).max()
        assert page["curves"]["angles"][place] == pytest.approx(angle, abs=1e-3)


def scores_of(model):
    """The components in the space where the neighbours were found."""
    return model.components_ if model._basis is None else model.components_ @ model._basis.T


@pytest.mark.parametrize(
    ("n", "fitted", "first", "last"),
    [
        (400, "log2", 3, 100),
        (5000, "log2", 3, 200),
        (400, 2, 2, 100),
        (400, 300, 3, 300),
        (5, "log2", 2, 3),
        (3, 2, 2, 2),
    ],
)
def test_k_runs_from_3_to_a_quarter_of_the_rows_at_most_200_and_includes_the_fitted(
    n, fitted, first, last, tmp_path
):
    data = nasty.continuous(n, 2)
    model = LPP(n_neighbors=fitted).fit(data)
    curves = page_of(model, data, tmp_path)["curves"]
    counts = curves["values"]
    assert (counts[0], counts[-1]) == (first, last)
    assert counts[curves["fitted"]] == model.n_neighbors_
    assert (np.diff(counts) > 0).all()
    assert (np.diff(curves["places"]) > 0).all()
    assert len(counts) <= 42
    few = page_of(model, data, tmp_path, n_steps=4)["curves"]["values"]
    assert len(few) <= 5


def test_from_step_to_step_no_column_turns_around(tmp_path):
    for load in (load_wine, load_digits):
        data = StandardScaler().fit_transform(load().data[:500])
        for before, after in pairwise(frames(page_of(LPP(), data, tmp_path))):
            cosines = (before * after).sum(axis=0)
            cosines /= np.linalg.norm(before, axis=0) * np.linalg.norm(after, axis=0)
            assert (cosines > 0).all()


def test_neighbours_are_searched_once(tmp_path, monkeypatch):
    fitted, asked = LPP().fit(X), []

    def counted(points, k, **options):
        asked.append(k)
        return shopca_rs.k_neighbors(points, k, **options)

    monkeypatch.setattr("shopca_rs.explorer.neighbor_path.k_neighbors", counted)
    page = page_of(fitted, X, tmp_path)
    assert asked == [page["curves"]["values"][-1]]


def test_the_axes_name_the_largest_loadings_of_the_fit(tmp_path):
    wine = load_wine(as_frame=True)
    model = make_pipeline(StandardScaler(), LPP()).fit(wine.data)
    page = page_of(model, wine.data, tmp_path)
    features, tops = page["loadings"]["features"], page["loadings"]["tops"][page["curves"]["fitted"]]
    for row, top in zip(model[-1].components_, tops, strict=True):
        largest = np.argsort(-np.abs(row))[:3]
        assert [features[feature] for feature, _ in top] == [wine.data.columns[j] for j in largest]
        np.testing.assert_allclose([loading for _, loading in top], row[largest], atol=1e-3)


def test_a_pipeline_that_is_not_fitted_is_fitted_and_stays_as_it_is(tmp_path):
    table = pd.DataFrame(X * 1000 + 5, columns=list("abcde")[: X.shape[1]])
    model = make_pipeline(StandardScaler(), LPP())
    page = page_of(model, table, tmp_path)
    assert not hasattr(model[-1], "components_")
    alone = page_of(LPP(), StandardScaler().fit_transform(table), tmp_path)
    np.testing.assert_allclose(frames(page), frames(alone), atol=1e-4)


def test_the_heading_and_the_note_say_what_the_slider_moves(tmp_path):
    path = explore(LPP().fit(X), X, path=tmp_path / "page.html", max_points=40)
    text = path.read_text("utf-8")
    assert "<h1>LPP: from 3 to 30 neighbours</h1>" in text
    assert "Every k is a fit to 120 rows. Every picture is scaled" in text
    assert "40 of 120 points are shown" in text
    curves = contents(path)["curves"]
    assert (curves["symbol"], [end["button"] for end in curves["ends"]]) == ("k", ["k = 3", "k = 30"])


def test_rows_that_the_model_was_not_fitted_to_are_refused(tmp_path):
    weights = np.arange(1.0, len(X) + 1)
    for model, data in [
        (LPP().fit(X), X[:60]),
        (LPP().fit(X), X + 1),
        (LPP().fit(X), X[::-1] * [2, 1, 1, 1, 1][: X.shape[1]]),
        (LPP().fit(X, sample_weight=weights), X),
    ]:
        with pytest.raises(ValueError, match=r"X must be the rows that the LPP was fitted to.*max_points"):
            explore(model, data, path=tmp_path / "page.html")
    assert not list(tmp_path.iterdir())


def test_k_without_local_scatter_are_pca_without_ratios_and_without_warnings(tmp_path):
    copies = np.repeat(nasty.continuous(20, 3), 6, axis=0)
    page = page_of(LPP(n_neighbors=10, resolution=False).fit(copies), copies, tmp_path)
    counts, lines = page["curves"]["values"], page["curves"]["lines"]
    for place, k in enumerate(counts):
        assert all((line["values"][place] is None) == (k < 6) for line in lines)
        assert (page["curves"]["angles"][place] < 1e-3) or k >= 6


def test_k_with_a_singular_local_scatter_are_left_out(tmp_path):
    flat = np.repeat(nasty.continuous(20, 3), 6, axis=0)
    flat[:, 0] += np.arange(120) % 6 / 1000
    model = LPP(n_neighbors=12, ridge=0, resolution=False).fit(flat)
    counts = page_of(model, flat, tmp_path)["curves"]["values"]
    with pytest.raises(ValueError, match="singular"):
        LPP(n_neighbors=3, ridge=0, resolution=False).fit(flat)
    assert 3 not in counts
    assert 12 in counts


def test_constant_data_and_one_component_are_shown_without_nan(tmp_path):
    with pytest.warns(UserWarning, match="local scatter is zero"):
        fitted = LPP().fit(nasty.all_same())
    assert not frames(page_of(fitted, nasty.all_same(), tmp_path)).any()
    page = page_of(LPP(1), X, tmp_path)
    assert page["axes"] == ["row", "component 1"]


def test_tiny_and_huge_numbers_have_the_same_pictures(tmp_path):
    plain = page_of(LPP(), X, tmp_path)
    for power in (-300, 300):
        page = page_of(LPP(), np.ldexp(X, power), tmp_path)
        np.testing.assert_allclose(frames(page), frames(plain), atol=1e-4)
        np.testing.assert_allclose(ratios(page), ratios(plain), rtol=1e-5)
