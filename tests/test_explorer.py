"""The explorer: what stands in the file, and what a real browser makes of it."""

from __future__ import annotations

import json
import re
import shutil
import sys
from itertools import pairwise

import nasty
import numpy as np
import pytest
from shopca_rs import SHOPCA, ShapeOperatorEigenmaps, explore

X = nasty.continuous()
EVIL = [
    "<script>document.title='owned'</script>",
    "</script><b>bold</b> & &lt;",
    "%{x} {{data}} $a$ \u2028 Ω",
]
LABELS = np.array(EVIL)[np.arange(len(X)) % 3]
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def contents(path):
    """The data in the page, as its script reads them."""
    found = re.findall(
        r'<script id="data" type="application/json">(.*?)</script>', path.read_text("utf-8"), re.DOTALL
    )
    assert len(found) == 1
    return json.loads(found[0])


def frames(page):
    return np.array(page["frames"]).transpose(0, 2, 1)


def test_the_picture_at_the_fitted_alpha_is_that_of_transform(tmp_path):
    fitted = SHOPCA().fit(X)
    page = contents(explore(fitted, X, path=tmp_path / "page.html"))
    Z = fitted.transform(X)
    assert page["alphas"][page["fitted"]] == fitted.alpha_
    np.testing.assert_allclose(frames(page)[page["fitted"]], Z / np.abs(Z).max(), atol=1e-4)


def test_the_slider_runs_from_pca_to_the_eigenmaps(tmp_path):
    page = contents(explore(SHOPCA().fit(X), X, path=tmp_path / "page.html"))
    assert page["alphas"][0] == 0
    assert page["alphas"][-1] is None
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
    assert page["gaps"][page["fitted"]] == pytest.approx(fitted.eigengaps_.max())
    assert len(page["gaps"]) == len(page["places"]) == len(page["names"]) == len(page["frames"])
    assert (np.diff(page["places"]) > 0).all()


def test_labels_cannot_leave_the_script_they_stand_in(tmp_path):
    path = explore(SHOPCA().fit(X), X, LABELS, tmp_path / "page.html", names=LABELS, title=EVIL[0])
    text = path.read_text("utf-8")
    assert "<script>document.title" not in text
    assert "</script><b>" not in text
    data = text.split('<script id="data" type="application/json">')[1].split("</script>")[0]
    assert not set("<>&") & set(data)
    names = [trace["name"] for trace in contents(path)["traces"]]
    assert names == [
        "%{x} {{data}} $a$ \u2028 Ω",
        "&lt;/script&gt;&lt;b&gt;bold&lt;/b&gt; &amp; &amp;lt;",
        names[2],
    ]
    assert names[2].startswith("&lt;script&gt;document.title='owned'&lt;/")


def test_every_row_is_shown_once_with_its_number_and_name(tmp_path):
    names = [f"point {i}" for i in range(len(X))]
    page = contents(explore(SHOPCA().fit(X), X, LABELS, tmp_path / "page.html", names=names))
    shown = {
        row: line for trace in page["traces"] for row, line in zip(trace["rows"], trace["hover"], strict=True)
    }
    assert sorted(shown) == list(range(len(X)))
    assert shown[7].startswith("row 7<br>point 7<br>")


def test_of_many_points_some_are_shown_with_their_own_row_numbers(tmp_path):
    path = explore(SHOPCA().fit(X), X, path=tmp_path / "page.html", max_points=40)
    (trace,) = contents(path)["traces"]
    assert len(trace["rows"]) == 40
    assert trace["hover"][-1] == "row 119"
    assert "40 of 120 points are shown" in path.read_text("utf-8")


def test_numbers_are_a_scale_and_missing_ones_stay_valid_json(tmp_path):
    y = X[:, 0].copy()
    y[3] = np.nan
    (trace,) = contents(explore(SHOPCA().fit(X), X, y, tmp_path / "page.html"))["traces"]
    assert trace["marker"]["color"][3] is None
    assert trace["marker"]["color"][4] == y[4]


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
    assert not np.array(page["frames"]).any()


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


@pytest.fixture
def browser():
    if CHROMIUM is None:
        pytest.skip("no chromium is installed")
    from selenium.webdriver import Chrome, ChromeOptions
    from selenium.webdriver.chrome.service import Service

    options = ChromeOptions()
    options.binary_location = CHROMIUM
    # No name resolves: a request to anywhere would fail and be logged.
    for flag in ("headless=new", "no-sandbox", "window-size=1300,800", "host-resolver-rules=MAP * ~NOTFOUND"):
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = Chrome(options=options, service=Service(shutil.which("chromedriver")))
    yield driver
    driver.quit()


def waited(browser, condition):
    from selenium.webdriver.support.ui import WebDriverWait

    WebDriverWait(browser, 20).until(condition)


def opened(browser, path):
    browser.get(path.as_uri())
    waited(browser, lambda b: b.execute_script("return document.body.dataset.ready === 'yes'"))
    return browser


def drawn_points(browser):
    """Where the browser has painted the points, from the marks themselves."""
    return browser.execute_script(
        "return [...document.querySelectorAll('#embedding .scatterlayer path.point')]"
        ".map(p => p.getAttribute('transform'))"
    )


def settled(browser, text):
    waited(browser, lambda b: text in b.execute_script("return document.getElementById('alpha').textContent"))
    browser.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")


def requests(browser):
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    urls = [e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"]
    return [url for url in urls if not url.startswith(("file:", "data:", "blob:"))]


def test_the_page_works_in_a_browser_without_a_network(browser, tmp_path):
    from selenium.webdriver.common.keys import Keys

    path = explore(SHOPCA().fit(X), X, LABELS, tmp_path / "page.html", names=LABELS, title=EVIL[0])
    opened(browser, path)
    start = drawn_points(browser)
    assert len(start) == len(X)

    slider = browser.find_element("id", "step")
    slider.send_keys(Keys.END)
    settled(browser, "eigenmaps")
    maps = drawn_points(browser)
    assert sum(a != b for a, b in zip(start, maps, strict=True)) > len(X) / 2
    slider.send_keys(Keys.HOME)
    settled(browser, "PCA")
    assert drawn_points(browser) not in (start, maps)
    browser.find_element("id", "to-fitted").click()
    settled(browser, "fitted")
    assert drawn_points(browser) == start

    # Halfway between two steps every point is halfway between its two places.
    halfway = browser.execute_script("return coordinates(1.5)")
    ends = [browser.execute_script(f"return coordinates({step})") for step in (1, 2)]
    np.testing.assert_allclose(np.concatenate(halfway["x"]), sum(np.concatenate(e["x"]) for e in ends) / 2)
    browser.execute_script("show(1.5)")
    settled(browser, "between")
    assert drawn_points(browser) != start

    assert requests(browser) == []
    assert browser.get_log("browser") == []


def test_labels_are_text_in_the_browser(browser, tmp_path):
    path = explore(SHOPCA().fit(X), X, LABELS, tmp_path / "page.html", names=LABELS, title=EVIL[0])
    opened(browser, path)
    assert browser.title == EVIL[0]
    assert browser.find_element("tag name", "h1").text == EVIL[0]
    shown = browser.execute_script(
        "return [...document.querySelectorAll('.legendtext')].map(e => e.textContent)"
    )
    expected = [name if len(name) <= 40 else name[:39] + "…" for name in sorted(EVIL)]
    assert [re.sub(r"\s+", " ", name) for name in shown] == [re.sub(r"\s+", " ", name) for name in expected]
    assert browser.execute_script("return document.querySelectorAll('script').length") == 3

    for curve, label in enumerate(sorted(EVIL)):
        # Once as the name of the point, once as its label.
        browser.execute_script(f"Plotly.Fx.hover('embedding', [{{curveNumber: {curve}, pointNumber: 0}}])")
        hover = "return document.querySelector('#embedding .hoverlayer').textContent"
        row = f"row {EVIL.index(label)}"
        waited(browser, lambda b, hover=hover, row=row: b.execute_script(hover).startswith(row))
        assert browser.execute_script(hover) == row + label + label
    assert browser.get_log("browser") == []
