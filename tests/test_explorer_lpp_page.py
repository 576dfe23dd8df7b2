"""The explorer of LPP in a real browser: the slider moves over the number of neighbours."""

from __future__ import annotations

import nasty
import numpy as np
import pytest
from browsing import (
    accessibility_faults,
    drawn_points,
    opened,
    requests,
    resized,
    settled,
    text,
    waited,
)
from shopca_rs import LPP, explore
from sklearn.datasets import load_iris


@pytest.fixture
def iris(browser, tmp_path):
    """The page of iris, and its fit."""
    data = load_iris(as_frame=True)
    fitted = LPP().fit(data.data)
    path = explore(fitted, data.data, data.target_names[data.target], tmp_path / "page.html")
    opened(browser, path)
    return path, data.data, fitted


def test_keys_and_buttons_move_over_k_and_back_to_the_fit(browser, iris):
    from selenium.webdriver.common.keys import Keys

    names, fitted = browser.execute_script("return [curves.names, curves.fitted]")
    start = drawn_points(browser)
    assert len(start) == 150
    assert text(browser, "setting") == "k = 7 (fitted)"
    slider = browser.find_element("id", "step")
    for key, place in ((Keys.ARROW_RIGHT, fitted + 1), (Keys.END, len(names) - 1), (Keys.HOME, 0)):
        slider.send_keys(key)
        settled(browser, f"k = {names[place]}")
        assert slider.get_attribute("aria-valuetext") == f"k = {names[place]}"
        assert drawn_points(browser) != start
        said = text(browser, "numbers")
        assert all(word in said for word in ("° from PCA", "ratios", "trustworthiness", "continuity"))
    for button, words in (("to-last", "k = 37"), ("to-first", "k = 3"), ("to-fitted", "k = 7 (fitted)")):
        browser.find_element("id", button).click()
        settled(browser, words)
    assert drawn_points(browser) == start
    assert requests(browser) == []
    assert browser.get_log("browser") == []


def test_axes_curves_and_points_say_what_they_show(browser, iris):
    _, table, fitted = iris
    titles = browser.execute_script(
        "return [embedding.layout.xaxis.title.text, embedding.layout.yaxis.title.text]"
    )
    for row, title in zip(fitted.components_, titles, strict=True):
        top = np.argsort(-np.abs(row))[:3]
        said = [f"{table.columns[j]} {'−' if row[j] < 0 else '+'}{abs(row[j]):.2f}" for j in top]
        assert title.endswith(": " + ", ".join(said))
    panels = browser.execute_script("return curvesPlot.layout.annotations.map(each => each.text)")
    assert panels[0] == "3 largest ratios of global to local variance"
    assert browser.execute_script("return curvesPlot.data.length") == 3 + 1 + 2
    assert "k neighbours (dashed: the fitted one, 7)" in browser.execute_script(
        "return curvesPlot.layout.xaxis.title.text"
    )
    numbers = ", ".join(f"{ratio:.4g}" for ratio in fitted.eigenvalues_[:3])
    assert f"ratios {numbers}" in text(browser, "numbers")
    browser.find_element("id", "row").send_keys("117")
    waited(browser, lambda b: "row 117; class: virginica" in text(b, "details"))
    assert f"petal width (cm) = {table.iloc[117, 3]:g} (" in text(browser, "details")


def test_axe_finds_nothing_against_the_page_and_nothing_is_cut_off_on_a_phone(browser, iris):
    path, *_ = iris
    for width in (1200, 390):
        resized(browser, width, 844)
        opened(browser, path)
        assert accessibility_faults(browser) == [], width
        assert browser.execute_script("return document.documentElement.scrollWidth") == width
    assert browser.get_log("browser") == []


@pytest.mark.parametrize("n", [3, 5])
def test_a_page_with_one_k_or_two_works(browser, n, tmp_path):
    few = nasty.continuous(n, 2)
    opened(browser, explore(LPP(n_neighbors=2).fit(few), few, path=tmp_path / "page.html"))
    assert len(drawn_points(browser)) == n
    assert text(browser, "setting") == "k = 2 (fitted)"
    browser.find_element("id", "to-last").click()
    settled(browser, f"k = {min(n - 1, 3)}")
    assert browser.get_log("browser") == []
