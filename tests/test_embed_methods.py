"""`shopca embed --method`: the numbers of each method, and the options it does not have."""

from __future__ import annotations

import json

import nasty
import numpy as np
import pytest
from browsing import contents
from shopca_rs import LPP, SHOPCA, ShapeOperatorEigenmaps
from shopca_rs.cli import main
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

X = nasty.continuous(60, 4)
WIDE = nasty.continuous(80, 40)
MAKERS = {"shopca": SHOPCA, "lpp": LPP, "pca": PCA, "eigenmaps": ShapeOperatorEigenmaps}
every_method = pytest.mark.parametrize("method", MAKERS)


@pytest.fixture
def embed(tmp_path, capsys):
    """Embed a table and return the numbers and what was said."""

    def embed(method, table, *options):
        np.save(tmp_path / "data.npy", table)
        arguments = ["embed", tmp_path / "data.npy", "-o", tmp_path / "z.npz", "--method", method, *options]
        assert main([str(argument) for argument in arguments]) == 0
        return dict(np.load(tmp_path / "z.npz")), capsys.readouterr().err

    return embed


@every_method
@pytest.mark.parametrize("table", [X, WIDE], ids=["narrow", "wide"])
def test_the_embedding_is_that_of_the_estimator(method, table, embed):
    found, _ = embed(method, table)
    expected = MAKERS[method](2).fit_transform(StandardScaler().fit_transform(table))
    np.testing.assert_allclose(found["X"], expected, atol=1e-10)
    assert found["names"].tolist() == [f"{method}0", f"{method}1"]


def test_options_that_a_method_has_are_parameters_of_its_estimator(embed):
    scaled = StandardScaler().fit_transform(WIDE)
    found, _ = embed("lpp", WIDE, "--neighbors", 9, "--max-features", 10, "--components", 3, "--jobs", 1)
    np.testing.assert_array_equal(found["X"], LPP(3, n_neighbors=9, max_features=10).fit_transform(scaled))
    found, _ = embed("eigenmaps", WIDE, "--symmetric", "--max-features", "none")
    expected = ShapeOperatorEigenmaps(symmetric=True, max_features=None).fit_transform(scaled)
    np.testing.assert_array_equal(found["X"], expected)


@pytest.mark.parametrize(
    ("method", "words"),
    [
        ("shopca", "k = 6, α = "),
        ("eigenmaps", "k = 6, α = inf"),
        ("lpp", "k = 6, global to local variance "),
        ("pca", "% of the variance"),
    ],
)
def test_the_summary_tells_the_fit(method, words, embed):
    assert words in embed(method, X)[1]


@pytest.mark.parametrize(
    ("method", "columns", "words"),
    [
        ("shopca", 25, "(standardised, PCA to 25 first)"),
        ("eigenmaps", 25, "(standardised, PCA to 25 first)"),
        ("lpp", 25, "(standardised, PCA to 25 first)"),
        ("pca", 40, "(standardised)"),
    ],
)
def test_all_components_are_those_that_pca_left_and_the_summary_says_so(method, columns, words, embed):
    found, said = embed(method, WIDE, "--components", "all")
    expected = MAKERS[method](None).fit_transform(StandardScaler().fit_transform(WIDE))
    np.testing.assert_allclose(np.abs(found["X"]), np.abs(expected), atol=1e-8)
    assert f"80 rows × 40 columns {words} to {columns} components: " in said


def test_all_components_of_a_table_with_more_columns_than_rows_are_as_many_as_rows(embed):
    found, said = embed("pca", WIDE[:20], "--components", "all")
    expected = PCA().fit_transform(StandardScaler().fit_transform(WIDE[:20]))
    np.testing.assert_allclose(np.abs(found["X"][:, :19]), np.abs(expected[:, :19]), atol=1e-8)
    assert "to 20 components: 100.0% of the variance" in said


@every_method
def test_the_model_file_maps_new_rows_by_one_matrix(method, embed, tmp_path):
    found, _ = embed(method, X, "--model", tmp_path / "map.json")
    model = json.loads((tmp_path / "map.json").read_text())
    assert model["method"] == method
    Z = (X - model["center"]) @ np.transpose(model["weights"])
    np.testing.assert_allclose(Z, found["X"], atol=1e-9)


@every_method
def test_a_picture_is_drawn(method, embed, tmp_path):
    embed(method, X, "--plot", tmp_path / "z.svg")
    title = {"shopca": "SHOPCA, α", "eigenmaps": "ShapeOperatorEigenmaps, α", "lpp": "LPP", "pca": "PCA"}[
        method
    ]
    # matplotlib names the text of its glyphs in comments.
    assert f"<!-- {title}" in (tmp_path / "z.svg").read_text()


@pytest.mark.parametrize(
    ("method", "name", "symbol"),
    [("shopca", "SHOPCA", "α"), ("eigenmaps", "ShapeOperatorEigenmaps", "α"), ("lpp", "LPP", "k")],
)
@pytest.mark.parametrize("options", [[], ["--no-standardize", "--max-features", "2"]], ids=str)
def test_a_page_is_written_with_a_slider_over_alpha_or_k(method, name, symbol, options, embed, tmp_path):
    embed(method, X, "--explore", tmp_path / "page.html", *options)
    assert contents(tmp_path / "page.html")["curves"]["symbol"] == symbol
    assert f"<h1>{name} of " in (tmp_path / "page.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("method", "options", "having"),
    [
        ("lpp", ["--alpha", "1"], "shopca"),
        ("lpp", ["--criterion", "eigenvalue"], "shopca"),
        ("lpp", ["--symmetric"], "shopca or eigenmaps"),
        ("lpp", ["--degenerate", "lapack"], "shopca or eigenmaps"),
        ("lpp", ["--sample", "9"], "shopca or eigenmaps"),
        ("eigenmaps", ["--alpha", "0"], "shopca"),
        ("eigenmaps", ["--criterion", "eigenvalue"], "shopca"),
        ("pca", ["--neighbors", "9"], "shopca or eigenmaps or lpp"),
        ("pca", ["--max-features", "none"], "shopca or eigenmaps or lpp"),
        ("pca", ["--jobs", "2"], "shopca or eigenmaps or lpp"),
        ("pca", ["--explore", "page.html"], "shopca or eigenmaps or lpp"),
        ("pca", ["--alpha", "0"], "shopca"),
    ],
    ids=str,
)
def test_an_option_that_a_method_does_not_have_is_refused_in_one_line(method, options, having, capsys):
    assert main(["embed", "no.csv", "--method", method, *options]) == 2
    assert capsys.readouterr().err == (
        f"shopca embed: error: {options[0]} must come with --method {having}, got --method {method}. "
        "Leave one of them out.\n"
    )


def test_pca_does_not_care_for_duplicates(embed):
    found, said = embed("pca", nasty.many_copies(), "--no-standardize")
    np.testing.assert_allclose(found["X"].std(axis=0), PCA(2).fit_transform(nasty.many_copies()).std(axis=0))
    assert "shape operator" not in said
