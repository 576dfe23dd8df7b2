"""The page of a point cloud: what stands in the file, and what a real browser makes of it."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import pytest
import shapes
from browsing import EVIL, accessibility_faults, contents, opened, requests, resized, waited
from shopca_rs import curvatures, explore_cloud, plot_cloud, second_fundamental_form
from shopca_rs.classes import short_name
from shopca_rs.explorer.html_pages import page_text

RNG = np.random.default_rng(0)
TORUS = shapes.noisy(shapes.torus(400, RNG).points, 0.01, RNG)
COPIES = np.concatenate([TORUS, np.tile([[0.0, 0.0, 2.0]], (50, 1))])


@pytest.fixture(scope="module")
def bent():
    return curvatures(TORUS, 40, intrinsic_dim=2)


@pytest.fixture(scope="module")
def flagged():
    """Curvatures of points of which the last 50 are copies of each other."""
    with pytest.warns(UserWarning, match="50 of 450 points"):
        return curvatures(COPIES, 40, intrinsic_dim=2, stages=1)


def test_the_page_has_every_point_and_every_quantity_with_six_digits(bent, tmp_path):
    page = contents(explore_cloud(TORUS, bent, tmp_path / "page.html"))
    np.testing.assert_allclose(np.transpose(page["coordinates"]), TORUS, rtol=1e-5)
    labels = ["mean curvature", "Gaussian curvature", "scalar curvature", "standard error of |II|"]
    assert [quantity["label"] for quantity in page["quantities"]] == labels
    for quantity, values in zip(
        page["quantities"], (bent.mean, bent.gaussian, bent.scalar, bent.standard_error), strict=True
    ):
        np.testing.assert_allclose(quantity["values"], values, rtol=1e-5)
    assert page["first"] == 0
    doubted = np.flatnonzero(bent.standard_error**2 > bent.squared_norm)
    assert page["doubtful"] == doubted.tolist()


def test_the_page_is_written_from_a_form_or_from_nothing_as_well(bent, tmp_path):
    form = second_fundamental_form(TORUS, 40, intrinsic_dim=2)
    pages = [contents(explore_cloud(TORUS, given, tmp_path / "page.html")) for given in (bent, form)]
    for ours, theirs in zip(*(page["quantities"] for page in pages), strict=True):
        np.testing.assert_allclose(ours["values"], theirs["values"], rtol=1e-4, atol=1e-5)
    computed = contents(explore_cloud(TORUS, path=tmp_path / "page.html", color="scalar"))
    assert computed["first"] == 2
    np.testing.assert_allclose(computed["quantities"][0]["values"], curvatures(TORUS).mean, rtol=1e-5)


def test_colours_of_signed_quantities_are_centred_on_zero_and_clipped_ends_have_arrows(bent, tmp_path):
    wild = curvatures(TORUS, 40, intrinsic_dim=2)
    wild.mean[wild.mean.argmax()] *= 100
    wild.scalar[wild.scalar.argmin()] *= 100
    wild.squared_norm[:] = 1e9
    mean, _, scalar, _ = contents(explore_cloud(TORUS, wild, tmp_path / "page.html"))["quantities"]
    assert not mean["signed"]
    assert mean["range"][1] < 2
    assert mean["ticks"][1][-1].endswith(" ▲")
    assert scalar["signed"]
    assert scalar["range"][0] == -scalar["range"][1]
    assert scalar["ticks"][1][0].endswith(" ▼")
    calm = contents(explore_cloud(TORUS, bent, tmp_path / "page.html"))["quantities"][0]
    low, high = calm["range"]
    known = bent.mean[bent.standard_error**2 <= bent.squared_norm]
    assert calm["ticks"][1][0].endswith("▼") == (known < low).any()
    assert calm["ticks"][1][-1].endswith("▲") == (known > high).any()


def test_flagged_points_have_no_numbers_and_are_listed(flagged, tmp_path):
    page = contents(explore_cloud(COPIES, flagged, tmp_path / "page.html"))
    assert page["flagged"] == list(range(400, 450))
    for quantity in page["quantities"]:
        assert quantity["values"][400:] == [None] * 50


def test_of_many_points_some_are_shown_with_their_own_row_numbers(bent, tmp_path):
    path = explore_cloud(TORUS, bent, tmp_path / "page.html", max_points=30)
    page = contents(path)
    assert page["rows"][0] == 0
    assert page["rows"][-1] == 399
    assert len(page["rows"]) == len(page["coordinates"][0]) == len(page["quantities"][0]["values"]) == 30
    assert "30 of 400 points are shown" in path.read_text("utf-8")


def test_more_than_three_columns_are_shown_on_principal_components_and_two_are_flat(tmp_path):
    sphere = shapes.embed(shapes.sphere(200, RNG), RNG, 6).points
    path = explore_cloud(sphere, path=tmp_path / "page.html")
    assert "first 3 of 6 principal components (100% of the variance)" in path.read_text("utf-8")
    np.testing.assert_allclose(
        np.linalg.norm(np.transpose(contents(path)["coordinates"]), axis=1), 1, atol=0.2
    )
    circle = shapes.sphere(80, RNG, 1).points
    page = contents(explore_cloud(circle, path=tmp_path / "page.html"))
    assert len(page["coordinates"]) == 2
    assert "Gaussian curvature" not in [quantity["label"] for quantity in page["quantities"]]


def test_axes_have_the_names_of_the_columns(bent, tmp_path):
    pytest.importorskip("matplotlib").use("Agg")
    names = ["height $a$", EVIL[0], "z"]
    frame = pd.DataFrame(TORUS, columns=names)
    page = tmp_path / "page.html"
    for given in ({"X": frame}, {"X": TORUS, "feature_names": names}):
        axes = contents(explore_cloud(**given, curvature=bent, path=page))["axes"]
        assert axes == [page_text(short_name(name)) for name in names]
        ax = plot_cloud(**given, curvature=bent)
        assert [ax.get_xlabel(), ax.get_ylabel(), ax.get_zlabel()] == [short_name(name) for name in names]
        ax.figure.canvas.draw()
    assert contents(explore_cloud(TORUS, bent, page))["axes"] == ["column 1", "column 2", "column 3"]
    with pytest.raises(ValueError, match="one entry for each of the 3 columns of X"):
        explore_cloud(TORUS, bent, page, feature_names=["a"])


def test_names_and_title_cannot_leave_the_script_they_stand_in(bent, tmp_path):
    names = np.array(EVIL)[np.arange(400) % 3]
    text = explore_cloud(TORUS, bent, tmp_path / "page.html", names=names, title=EVIL[0]).read_text("utf-8")
    assert "<script>document.title" not in text
    assert "</script><b>" not in text
    data = text.split('<script id="data" type="application/json">')[1].split("</script>")[0]
    assert not set("<>&") & set(data)
    assert contents(tmp_path / "page.html")["captions"][1] == page_text(EVIL[1])


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"curvature": 5}, TypeError, "curvature must be what curvatures or second_fundamental_form returns"),
        ({"X": TORUS[:9]}, ValueError, "one entry for each of the 9 rows of X, got 400"),
        ({"X": TORUS[:, :1]}, ValueError, "at least 2 columns to be shown"),
        ({"color": "red"}, ValueError, "color must be one of"),
        ({"names": EVIL}, ValueError, "one entry for each of the 400 rows of X"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_a_wrong_argument_is_named_in_a_sentence(options, error, text, bent, tmp_path):
    with pytest.raises(error, match=text):
        explore_cloud(**({"X": TORUS, "curvature": bent, "path": tmp_path / "page.html"} | options))
    assert list(tmp_path.iterdir()) == []


def test_without_plotly_the_error_says_what_to_install(bent, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "plotly.offline", None)
    with pytest.raises(ImportError, match=r'pip install "shopca-rs\[explore\]"'):
        explore_cloud(TORUS, bent, tmp_path / "page.html")


def complaints(browser):
    """What the browser logged, without its remarks about the speed of drawing."""
    remarks = ("GPU stall due to ReadPixels", "willReadFrequently")
    entries = [entry["message"] for entry in browser.get_log("browser")]
    return [entry for entry in entries if not any(remark in entry for remark in remarks)]


def drawn(browser):
    """What plotly has drawn: for each trace its name, how many points, and the text of the colour bar."""
    return browser.execute_script(
        "return cloud._fullData.map(t => [t.name, t.x.length,"
        " t.marker.showscale ? t.marker.colorbar.title.text.replace('<br>', ' ') : null])"
    )


def pixels(browser):
    return browser.find_element("id", "cloud").screenshot_as_png


def test_the_page_works_in_a_browser_without_a_network(browser, flagged, tmp_path):
    names = np.array(EVIL)[np.arange(450) % 3]
    path = explore_cloud(COPIES, flagged, tmp_path / "page.html", names=names, title=EVIL[0])
    opened(browser, path)
    assert browser.title == EVIL[0]
    doubted = int((flagged.valid & (flagged.standard_error**2 > flagged.squared_norm)).sum())
    greys = [[f"standard error exceeds |II| ({doubted})", doubted, None]] if doubted else []
    greys.append(["flagged (50)", 50, None])
    (_, count, label), *others = drawn(browser)
    assert (count, label) == (400 - doubted, "mean curvature")
    assert others == greys
    before = pixels(browser)

    from selenium.webdriver.support.ui import Select

    menu = Select(browser.find_element("id", "quantity"))
    assert [option.text for option in menu.options][1] == "Gaussian curvature"
    menu.select_by_visible_text("Gaussian curvature")
    waited(browser, lambda b: drawn(b)[0][2] == "Gaussian curvature")
    assert pixels(browser) != before
    menu.select_by_visible_text("standard error of |II|")
    waited(browser, lambda b: drawn(b)[0][2] == "standard error of |II|")
    assert drawn(browser)[0][1] == 400

    hover = browser.execute_script("return cloud._fullData[0].text[1]")
    assert hover.startswith(f"row 1<br>{page_text(EVIL[1])}<br>mean curvature ")
    assert f"standard error of |II| {flagged.standard_error[1]:.3f}"[:-1] in hover
    assert requests(browser) == []
    assert complaints(browser) == []


@pytest.mark.parametrize("points", [TORUS, shapes.sphere(80, RNG, 1).points], ids=["solid", "flat"])
def test_on_a_phone_the_colour_bar_lies_below_and_nothing_is_cut_off(points, browser, tmp_path):
    resized(browser, 390, 844)
    opened(browser, explore_cloud(points, path=tmp_path / "page.html"))
    assert browser.execute_script("return document.documentElement.scrollWidth") == 390
    assert browser.execute_script("return cloud._fullData[0].marker.colorbar.orientation") == "h"
    bar = browser.execute_script("return document.querySelector('.colorbar').getBoundingClientRect()")
    assert bar["left"] >= 0
    assert bar["right"] <= 390
    assert bar["bottom"] <= 844
    assert complaints(browser) == []


def test_axe_finds_nothing_against_the_page(browser, flagged, tmp_path):
    page = explore_cloud(COPIES, flagged, tmp_path / "page.html")
    for width in (1300, 390):
        resized(browser, width, 844)
        opened(browser, page)
        assert accessibility_faults(browser) == [], width
