"""The explorer: what stands in the file."""

from __future__ import annotations

import base64
import sys
from itertools import pairwise

import nasty
import numpy as np
import pandas as pd
import pytest
from browsing import EVIL, contents
from shopca_rs import SHOPCA, ShapeOperatorEigenmaps, explore
from shopca_rs.classes import MISSING_COLOR, class_style
from shopca_rs.diagnostics import angles_to_pca
from sklearn.decomposition import PCA
from sklearn.feature_selection import SelectKBest, f_classif
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

X = nasty.continuous()
LABELS = np.array(EVIL)[np.arange(len(X)) % 3]


def unpacked(text):
    return np.frombuffer(base64.b64decode(text), dtype="<f4").astype(np.float64)


def frames(page):
    """The pictures, of shape (a, n, 2)."""
    scores = unpacked(page["pictures"]["scores"]).reshape(len(page["rows"]), page["pictures"]["rank"])
    return scores @ np.array(page["pictures"]["weights"]).transpose(0, 2, 1)


def test_the_picture_at_the_fitted_alpha_is_that_of_transform(tmp_path):
    fitted = SHOPCA().fit(X)
    page = contents(explore(fitted, X, path=tmp_path / "page.html"))
    Z = fitted.transform(X)
    place = page["curves"]["fitted"]
    assert page["curves"]["values"][place] == fitted.alpha_
    np.testing.assert_allclose(frames(page)[place], Z / np.abs(Z).max(), atol=1e-4)


def test_the_slider_runs_from_pca_to_the_eigenmaps(tmp_path):
    page = contents(explore(SHOPCA().fit(X), X, path=tmp_path / "page.html"))
    assert page["curves"]["values"][0] == 0
    assert page["curves"]["values"][-1] is None
    ends = (SHOPCA(alpha=0), frames(page)[0]), (ShapeOperatorEigenmaps(), frames(page)[-1])
    for estimator, picture in ends:
        Z = estimator.fit_transform(X)
        cosines = np.abs(Z.T @ picture) / np.linalg.norm(Z, axis=0)[:, None] / np.linalg.norm(picture, axis=0)
        assert (np.sort(cosines, axis=1)[:, -1] > 1 - 1e-6).all()


def test_from_step_to_step_no_column_turns_around(tmp_path):
    wave = nasty.continuous(n=200, d=4, seed=3) * [4, 3, 2, 1]
    pictures = frames(contents(explore(SHOPCA(alpha=1).fit(wave), wave, path=tmp_path / "page.html")))
    for before, after in pairwise(pictures):
        assert ((before * after).sum(axis=0) > -1e-2 * np.linalg.norm(before) * np.linalg.norm(after)).all()


def test_the_gaps_are_those_of_the_fit(tmp_path):
    fitted = SHOPCA(criterion="eigenvalue").fit(X)
    page = contents(explore(fitted, X, path=tmp_path / "page.html"))
    curves = page["curves"]
    (gaps,) = [line["values"] for line in curves["lines"]]
    assert gaps[curves["fitted"]] == pytest.approx(fitted.eigengaps_.max())
    assert len({len(curves[name]) for name in ("values", "angles", "places", "names")}) == 1
    assert (
        len(curves["values"])
        == len(gaps)
        == len(page["pictures"]["weights"])
        == len(page["loadings"]["tops"])
    )
    assert (np.diff(curves["places"]) > 0).all()


def test_labels_cannot_leave_the_script_they_stand_in(tmp_path):
    path = explore(SHOPCA().fit(X), X, LABELS, tmp_path / "page.html", names=LABELS, title=EVIL[0])
    text = path.read_text("utf-8")
    assert "<script>document.title" not in text
    assert "</script><b>" not in text
    data = text.split('<script id="data" type="application/json">')[1].split("</script>")[0]
    assert not set("<>&") & set(data)
    assert sorted(each["name"] for each in contents(path)["colors"]["classes"]) == sorted(EVIL)


def test_every_row_is_shown_once_with_its_number_and_name(tmp_path):
    names = [f"point {i}" for i in range(len(X))]
    page = contents(explore(SHOPCA().fit(X), X, LABELS, tmp_path / "page.html", names=names))
    assert page["rows"] == list(range(len(X)))
    assert page["captions"] == names
    named = [each["name"] for each in page["colors"]["classes"]]
    assert [named[code] for code in page["colors"]["codes"]] == LABELS.tolist()


def test_of_many_points_some_are_shown_with_their_own_row_numbers(tmp_path):
    path = explore(SHOPCA().fit(X), X, path=tmp_path / "page.html", max_points=40)
    page = contents(path)
    assert len(page["rows"]) == len(frames(page)[0]) == 40
    assert page["rows"][-1] == 119
    assert "40 of 120 points are shown" in path.read_text("utf-8")


def test_numbers_are_a_scale_and_missing_ones_stay_valid_json(tmp_path):
    y = X[:, 0].copy()
    y[3] = np.nan
    path = explore(SHOPCA().fit(X), X, y, tmp_path / "page.html")
    colors = contents(path)["colors"]
    assert colors["kind"] == "numbers"
    assert colors["values"][3] is None
    assert colors["values"][4] == pytest.approx(y[4], rel=1e-5)
    assert colors["missing"] == MISSING_COLOR
    assert "Grey points have no number." in path.read_text("utf-8")


@pytest.mark.parametrize(
    "estimator", [SHOPCA(1), SHOPCA(3), SHOPCA(alpha=0), ShapeOperatorEigenmaps()], ids=str
)
def test_every_kind_of_fit_can_be_explored_and_stays_as_it_is(estimator, tmp_path):
    page = contents(explore(estimator, X, path=tmp_path / "page.html", n_steps=5))
    assert np.abs(frames(page)).max() == pytest.approx(1)
    assert not hasattr(estimator, "components_")


def test_a_constant_picture_has_no_nan(tmp_path):
    with pytest.warns(UserWarning, match="mean shape operator is zero"):
        fitted = SHOPCA().fit(nasty.all_same())
    page = contents(explore(fitted, nasty.all_same(), path=tmp_path / "page.html", n_steps=5))
    assert not frames(page).any()
    assert page["loadings"]["features"]


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "page.html"
    path.write_text("old")

    def broken(*_):
        raise OSError("disk full")

    monkeypatch.setattr("os.replace", broken)
    with pytest.raises(OSError, match="disk full"):
        explore(SHOPCA().fit(X), X, path=path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_without_plotly_the_error_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "plotly.offline", None)
    with pytest.raises(ImportError, match=r'pip install "shopca-rs\[explore\]"'):
        explore(SHOPCA().fit(X), X, path=tmp_path / "page.html")


@pytest.mark.parametrize("options", [{"y": LABELS[:3]}, {"names": LABELS[:3]}], ids=["y", "names"])
def test_labels_and_names_need_one_entry_for_each_row(options, tmp_path):
    with pytest.raises(ValueError, match="one entry for each of the 120 rows of X"):
        explore(SHOPCA().fit(X), X, path=tmp_path / "page.html", **options)


def test_classes_have_the_colours_and_markers_of_the_pictures_and_missing_ones_are_grey_and_last(tmp_path):
    labels = np.array([f"kind {row % 12}" for row in range(len(X))], dtype=object)
    labels[::10] = None
    colors = contents(explore(SHOPCA().fit(X), X, labels, tmp_path / "page.html"))["colors"]
    names = [each["name"] for each in colors["classes"]]
    assert names == [f"kind {j}" for j in range(12)] + ["missing"]
    for code, each in enumerate(colors["classes"][:-1]):
        assert (each["color"], each["symbol"]) == (class_style(code).color, class_style(code).symbol)
    assert colors["classes"][-1]["color"] == MISSING_COLOR
    assert colors["classes"][-1]["count"] == 12
    assert all(
        (names[code] == "missing") == (label is None)
        for code, label in zip(colors["codes"], labels, strict=True)
    )


def test_each_axis_names_the_features_with_the_largest_loadings_at_every_alpha(tmp_path):
    table = pd.DataFrame(X, columns=list("abcde")[: X.shape[1]])
    fitted = SHOPCA().fit(table)
    page = contents(explore(fitted, table, path=tmp_path / "page.html"))
    features, tops = page["loadings"]["features"], page["loadings"]["tops"]
    for step, rows in (
        (page["curves"]["fitted"], fitted.components_),
        (0, PCA(2).fit(table).components_),
    ):
        for axis in range(2):
            said = [features[feature] for feature, _ in tops[step][axis]]
            # α = 0 is PCA up to the order and the signs that the columns keep from the fitted one.
            found = [
                [table.columns[j] for j in np.argsort(-np.abs(row))[:3]]
                for row in (rows[axis : axis + 1] if step else rows)
            ]
            assert said in found
            sizes = [abs(loading) for _, loading in tops[step][axis]]
            assert sizes == sorted(sizes, reverse=True)
    for axis, row in enumerate(fitted.components_):
        for feature, loading in tops[page["curves"]["fitted"]][axis]:
            assert loading == pytest.approx(row[table.columns.get_loc(features[feature])], abs=1e-3)


def test_of_many_features_only_the_values_of_those_that_matter_are_in_the_page(tmp_path):
    wide = np.random.default_rng(0).normal(size=(80, 300))
    page = contents(explore(SHOPCA().fit(wide), wide, path=tmp_path / "page.html"))["loadings"]
    assert len(page["values"]) <= 24
    for feature, text in page["values"].items():
        column = int(page["features"][int(feature)][1:])
        np.testing.assert_allclose(unpacked(text), wide[:, column], rtol=1e-6)


def test_the_angles_are_the_largest_ones_to_pca(tmp_path):
    fitted = SHOPCA().fit(X)
    curves = contents(explore(fitted, X, path=tmp_path / "page.html"))["curves"]
    assert curves["angles"][0] == pytest.approx(0, abs=1e-3)
    expected = angles_to_pca(fitted.covariance_, fitted.components_.T).max()
    assert curves["angles"][curves["fitted"]] == pytest.approx(expected, abs=1e-3)
    maps = ShapeOperatorEigenmaps().fit(X)
    expected = angles_to_pca(maps.covariance_, maps.components_.T).max()
    assert curves["angles"][-1] == pytest.approx(expected, abs=1e-3)


def test_quality_is_that_of_the_pictures(tmp_path):
    from sklearn.manifold import trustworthiness

    page = contents(explore(SHOPCA(3).fit(X), X, path=tmp_path / "page.html"))
    quality = page["quality"]
    assert {0, page["curves"]["fitted"], len(page["curves"]["values"]) - 1} <= set(quality["steps"])
    for place, step in enumerate(quality["steps"]):
        Z = frames(page)[step]
        assert quality["trustworthiness"][place] == pytest.approx(
            trustworthiness(X, Z, n_neighbors=10), abs=1e-3
        )
        assert quality["continuity"][place] == pytest.approx(trustworthiness(Z, X, n_neighbors=10), abs=1e-3)


def test_a_pipeline_is_explored_by_its_last_step_and_shows_the_values_before_scaling(tmp_path):
    table = pd.DataFrame(X * 1000 + 5, columns=list("abcde")[: X.shape[1]])
    scaled = StandardScaler().fit_transform(table)
    for model in (
        make_pipeline(StandardScaler(), SHOPCA()),
        make_pipeline(StandardScaler(), SHOPCA()).fit(table),
    ):
        page = contents(explore(model, table, path=tmp_path / "page.html"))
        alone = contents(explore(SHOPCA().fit(scaled), scaled, path=tmp_path / "page.html"))
        np.testing.assert_allclose(frames(page), frames(alone), atol=1e-4)
        for feature, text in page["loadings"]["values"].items():
            column = table[page["loadings"]["features"][int(feature)]]
            np.testing.assert_allclose(unpacked(text), column, rtol=1e-6)


def test_a_pipeline_that_picks_columns_shows_those_of_its_last_step(tmp_path):
    kinds = np.arange(len(X)) % 2
    model = make_pipeline(SelectKBest(f_classif, k=3), SHOPCA()).fit(X, kinds)
    page = contents(explore(model, X, path=tmp_path / "page.html"))
    kept = np.flatnonzero(model[0].get_support())
    for feature, text in page["loadings"]["values"].items():
        column = int(page["loadings"]["features"][int(feature)][1:])
        assert column in kept
        np.testing.assert_allclose(unpacked(text), X[:, column], rtol=1e-6)


def test_names_of_features_can_be_given_and_must_be_as_many_as_features(tmp_path):
    d = X.shape[1]
    page = explore(SHOPCA().fit(X), X, path=tmp_path / "page.html", feature_names=[f"f{j}" for j in range(d)])
    assert all(name.startswith("f") for name in contents(page)["loadings"]["features"])
    with pytest.raises(ValueError, match=f"one entry for each of the {d} features, got shape"):
        explore(SHOPCA().fit(X), X, path=tmp_path / "page.html", feature_names=["a"])


def test_a_pipeline_that_ends_with_something_else_is_refused(tmp_path):
    for last in (PCA(), "passthrough", None):
        with pytest.raises(TypeError, match="must be a SHOPCA, a ShapeOperatorEigenmaps or an LPP, got"):
            explore(make_pipeline(StandardScaler(), last), X, path=tmp_path / "page.html")
    assert not list(tmp_path.iterdir())


def test_the_page_of_20_000_points_stays_small(tmp_path):
    big = np.random.default_rng(0).normal(size=(20_000, 30))
    model = SHOPCA(sample=50, n_neighbors=5, algorithm="brute").fit(big)
    labels = np.arange(len(big)) % 900
    path = explore(
        model, big, [f"c{j}" for j in labels], tmp_path / "page.html", max_points=20_000, n_steps=41
    )
    page = contents(path)
    assert len(page["rows"]) == 20_000
    from plotly.offline import get_plotlyjs

    assert path.stat().st_size - len(get_plotlyjs().encode()) < 6e6
