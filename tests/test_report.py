"""The report: its numbers, its words, its escaping, and what a real browser makes of it."""

from __future__ import annotations

import re
from html import escape
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
import shapes
from browsing import accessibility_faults, requests, resized
from shopca_rs import SHOPCA, curvatures, quality, stability, write_report
from shopca_rs.cli import main
from shopca_rs.report import findings
from sklearn.datasets import load_iris, load_wine
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

EVIL = "<script>document.title='owned'</script>"
ALSO_EVIL = '"><img src=x onerror=alert(1)> & {{title}}'
SECTIONS = ["short", "table", "embedding", "loadings", "scree", "quality", "stability", "curvature"]


class Outline(HTMLParser):
    """The tags of a page and the text between them."""

    def __init__(self, page):
        super().__init__()
        self.tags = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text += data

    def all(self, tag):
        return [attributes for name, attributes in self.tags if name == tag]


def report(folder, table, *options):
    source = folder / "table.csv"
    table.to_csv(source, index=False)
    target = folder / "page.html"
    assert main(["report", str(source), "-o", str(target), "--quiet", *map(str, options)]) == 0
    return target


@pytest.fixture(scope="module")
def iris(tmp_path_factory):
    """The page of iris with labels."""
    bunch = load_iris(as_frame=True)
    table = bunch.data.assign(species=bunch.target_names[bunch.target])
    return report(tmp_path_factory.mktemp("iris"), table, "--label", "species")


@pytest.fixture(scope="module")
def evil(tmp_path_factory):
    """The page of a table whose names and labels are HTML."""
    X = np.random.default_rng(0).normal(size=(40, 3))
    path = tmp_path_factory.mktemp("evil") / "page.html"
    labels = np.array([EVIL, ALSO_EVIL])[np.arange(40) % 2]
    names = [EVIL, ALSO_EVIL, "c"]
    return write_report(
        X, labels, path, feature_names=names, label=EVIL, title=EVIL, notes=[ALSO_EVIL], preparation=EVIL
    )


@pytest.fixture(scope="module")
def titanic(tmp_path_factory):
    """The page of a table with text, missing values, an identifier and an empty column."""
    rng = np.random.default_rng(1)
    n = 120
    table = pd.DataFrame(
        {
            "id": np.arange(1, n + 1),
            "survived": rng.integers(0, 2, n),
            "name": [f"passenger {j}" for j in range(n)],
            "sex": rng.choice(["male", "female"], n),
            "age": np.where(rng.random(n) < 0.2, np.nan, rng.normal(30, 10, n)),
            "fare": rng.exponential(30, n),
            "cabin": [None] * n,
        }
    )
    return report(tmp_path_factory.mktemp("titanic"), table, "--label", "survived", "--text", "encode")


def test_the_numbers_are_those_of_the_library(iris):
    X = StandardScaler().fit_transform(load_iris().data)
    text = Outline(iris.read_text("utf-8")).text
    model = SHOPCA().fit(X)
    ours, pca = quality(X, model.transform(X)), quality(X, PCA(2).fit_transform(X))
    assert f"α = {model.alpha_:.3g};" in text
    for found in (ours, pca):
        for value in (found.trustworthiness, found.continuity, found.auc):
            assert f"{value:.3f}" in text
    assert f"AUC of R_NX is {ours.auc:.2f} against {pca.auc:.2f}" in text
    angles = stability(SHOPCA(2), X)
    assert f"{angles.median_angle:.1f}°" in text
    assert f"SHOPCA is {angles.verdict}" in text
    assert f"{PCA(2).fit(X).explained_variance_ratio_.sum():.1%} of the variance" in text
    bent = curvatures(X)
    share = (bent.standard_error**2 > bent.squared_norm)[bent.valid].mean()
    assert share > 0.5
    assert f"m = {bent.intrinsic_dim} (estimated), with k = {bent.n_neighbors} neighbours" in text
    assert f"exceeds the curvature itself at {share:.0%} of the points" in text
    assert "cannot carry curvature" in text


def test_the_loadings_are_named_with_their_signs(iris):
    X = StandardScaler().fit_transform(load_iris().data)
    names = load_iris().feature_names
    row = PCA(2).fit(X).components_[0]
    text = Outline(iris.read_text("utf-8")).text
    (sentence,) = re.findall(r"A row far along component 1 of PCA has (.*?)\n", text)
    # The sign of a component is arbitrary; whether two columns have the same one is not.
    same = {names[j]: np.sign(row[j]) for j in range(4) if f"high {names[j]}" in sentence}
    other = {names[j]: np.sign(row[j]) for j in range(4) if f"low {names[j]}" in sentence}
    assert len(same) + len(other) == 4
    assert len(set(same.values())) == 1
    assert set(other.values()) == {-sign for sign in same.values()}


def test_the_page_says_what_was_read_and_changed(titanic):
    text = Outline(titanic.read_text("utf-8")).text
    assert "Read 120 rows from table.csv; all are used." in text
    assert "120 rows and 4 columns of numbers are embedded. They are standardised" in text
    for note in ("column of text of more than 20 values: name", "0/1 columns: sex", "median of", "--drop id"):
        assert note in text
    assert "Colours show survived: 2 classes." in text


def test_missing_labels_are_counted(tmp_path):
    wine = load_wine(as_frame=True)
    kinds = np.array(["Barolo", "Grignolino", "Barbera"], dtype=object)[wine.target]
    kinds[::9] = ""
    page = report(tmp_path, wine.data.iloc[:, :5].assign(kind=kinds), "--label", "kind", "--quick")
    text = Outline(page.read_text("utf-8")).text
    assert f"Colours show kind: 3 classes; {(kinds == '').sum()} rows without a label are grey." in text


def test_every_text_of_the_data_is_escaped(evil):
    page = evil.read_text("utf-8")
    assert not re.search(r"<script|<img src=x|onerror=alert\(1\)>[^&]*\"", page)
    outline = Outline(page)
    assert outline.all("script") == []
    assert all(set(image) == {"src", "alt"} for image in outline.all("img"))
    assert all(image["src"].startswith("data:image/png;base64,") for image in outline.all("img"))
    assert f"<h1>{escape(EVIL)}</h1>" in page
    assert ALSO_EVIL in outline.text


@pytest.mark.parametrize("page", ["iris", "titanic", "evil"])
def test_the_page_has_headings_landmarks_and_a_text_for_each_picture(page, request):
    outline = Outline(request.getfixturevalue(page).read_text("utf-8"))
    assert outline.all("html") == [{"lang": "en"}]
    for landmark in ("header", "nav", "main", "footer", "h1", "title"):
        assert len(outline.all(landmark)) == 1, landmark
    assert [section["id"] for section in outline.all("section")] == SECTIONS
    names = [attributes["id"] for _, attributes in outline.tags if "id" in attributes]
    assert len(set(names)) == len(names)
    targets = {link["href"] for link in outline.all("a")}
    assert targets == {"#content", *(f"#{name}" for name in SECTIONS)}
    images = outline.all("img")
    assert len(images) >= 10
    assert len(images) == len(outline.all("figcaption")) == len(outline.all("figure"))
    assert all(len(image["alt"]) > 40 for image in images)
    assert all(head["scope"] in ("row", "col") for head in outline.all("th"))


def test_a_surface_has_its_curvature(tmp_path):
    rng = np.random.default_rng(0)
    points = shapes.noisy(2 * shapes.sphere(600, rng).points, 0.002, rng)
    page = write_report(points, path=tmp_path / "page.html")
    text = Outline(page.read_text("utf-8")).text
    assert "The sample carries curvature: taken as a surface of dimension m = 2" in text
    (median,) = re.findall(r"mean curvature has a median of ([\d.]+);", text)
    assert float(median) == pytest.approx(0.5, rel=0.05)


def test_a_cloud_that_fills_its_space_carries_no_curvature(tmp_path):
    X = np.random.default_rng(0).normal(size=(900, 4))
    text = Outline(write_report(X, path=tmp_path / "page.html").read_text("utf-8")).text
    assert "cannot carry curvature" in text


def test_curvature_of_many_columns_is_that_of_fewer_rows_and_the_page_says_so(tmp_path):
    rng = np.random.default_rng(0)
    sphere = shapes.embed(shapes.sphere(900, rng), rng, 60).points
    text = Outline(write_report(sphere, path=tmp_path / "page.html").read_text("utf-8")).text
    # 40 000 numbers in 60 columns.
    assert "carries curvature: judged from 666 random rows, as there are many columns" in text


def test_curvature_is_left_out_where_neighbourhoods_would_be_the_whole_cloud(tmp_path, monkeypatch):
    monkeypatch.setattr(findings, "curvatures", lambda *arguments, **options: pytest.fail("not affordable"))
    X = np.random.default_rng(0).normal(size=(600, 12))
    text = Outline(write_report(X, path=tmp_path / "page.html").read_text("utf-8")).text
    told = r"m = (\d+) \(estimated\), a fit needs a neighbourhood of (\d+) rows, which covers (\d+)% of"
    ((m, k, share),) = set(re.findall(told, text))
    assert int(k) == (int(m) + 1) * (int(m) + 2)
    assert int(share) == round(100 * (int(k) / 600) ** (1 / int(m)))


def test_many_rows_are_sampled_and_the_page_says_so(tmp_path):
    X = np.random.default_rng(0).normal(size=(300, 3))
    text = Outline(write_report(X, path=tmp_path / "page.html", sample=100).read_text("utf-8")).text
    assert "fitted to all 300 rows. Quality is estimated at 100 random rows" in text
    assert "± is the standard error of the sample" in text
    found = quality(X, PCA(2).fit_transform(X), sample=100)
    assert f"{found.auc:.3f} ± {found.standard_error.auc:.3f}" in text


@pytest.mark.parametrize(("n", "d"), [(3, 2), (5, 3), (12, 30), (40, 2)])
def test_a_table_that_carries_little_is_told_so(n, d, tmp_path):
    X = np.random.default_rng(0).normal(size=(n, d))
    text = Outline(write_report(X, path=tmp_path / "page.html").read_text("utf-8")).text
    assert "cannot carry curvature" in text
    assert "nan" not in text.lower().split()


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"y": [1, 2]}, ValueError, "y must have one entry for each of the 40 rows"),
        ({"feature_names": ["a"]}, ValueError, "feature_names must have one entry for each of the 3 columns"),
        ({"sample": 5}, ValueError, "sample must be at least 10"),
        ({"notes": "a sentence"}, TypeError, "notes must be a list of sentences"),
        ({"path": "nowhere/page.html"}, FileNotFoundError, "there is no folder"),
        ({"n_components": 9}, ValueError, "n_components"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_a_wrong_argument_is_named_in_a_sentence(options, error, text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X = np.random.default_rng(0).normal(size=(40, 3))
    with pytest.raises(error, match=text):
        write_report(**({"X": X} | options))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["-o", "page.txt"], "page.txt must end in .html"),
        (["-o", "nowhere/page.html"], "there is no folder nowhere"),
        (["--label", "kind"], "kind"),
        (["--sample", "100", "--quick"], "not allowed with"),
    ],
    ids=str,
)
def test_errors_are_one_line_with_exit_code_2_and_leave_no_page(options, text, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    pd.DataFrame(np.random.default_rng(0).normal(size=(9, 3)), columns=list("abc")).to_csv("t.csv")
    assert main(["report", "t.csv", *options]) == 2
    err = capsys.readouterr().err
    assert len(err.splitlines()) == 1
    assert text in err
    assert [file.name for file in tmp_path.iterdir()] == ["t.csv"]


@pytest.mark.parametrize("page", ["iris", "evil"])
def test_a_browser_shows_it_at_every_width_without_errors_or_network(page, browser, request):
    path = request.getfixturevalue(page)
    for width in (1300, 390):
        resized(browser, width, 800)
        browser.get(path.as_uri())
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width
        loaded = "return [...document.images].every((image) => image.complete && image.naturalWidth > 0)"
        assert browser.execute_script(loaded)
    assert browser.title == (EVIL if page == "evil" else "SHOPCA report of table.csv")
    assert browser.get_log("browser") == []
    assert requests(browser) == []
    assert browser.execute_script("return document.scripts.length") == 0
    assert accessibility_faults(browser) == []


def test_numbers_as_labels_are_a_scale_with_grey_for_the_missing(tmp_path):
    table = load_iris(as_frame=True).data
    scale = table["petal width (cm)"] * 1.01
    scale[::50] = np.nan
    page = report(tmp_path, table.assign(size=scale), "--label", "size", "--quick")
    text = Outline(page.read_text("utf-8")).text
    assert "Colours show size: numbers on a scale; 3 rows without a label are grey." in text


def test_as_many_components_as_columns_are_the_space_of_pca(tmp_path):
    page = report(tmp_path, load_iris(as_frame=True).data, "--components", 4, "--quick")
    text = Outline(page.read_text("utf-8")).text
    assert "With as many components as columns, SHOPCA and PCA span the same space." in text
