"""The explorer in a real browser: keys, pointer, classes, and what a screen reader is told."""

from __future__ import annotations

import re

import nasty
import numpy as np
import pytest
from browsing import (
    EVIL,
    accessibility_faults,
    drawn_points,
    opened,
    requests,
    resized,
    settled,
    text,
    waited,
)
from shopca_rs import SHOPCA, explore
from sklearn.datasets import load_iris

X = nasty.continuous()
LABELS = np.array(EVIL)[np.arange(len(X)) % 3]


@pytest.fixture
def iris(browser, tmp_path):
    """The page of iris with missing labels, and its fit."""
    data = load_iris(as_frame=True)
    species = data.target_names[data.target].astype(object)
    species[::10] = None
    fitted = SHOPCA().fit(data.data)
    opened(browser, explore(fitted, data.data, species, tmp_path / "page.html"))
    return data, fitted


def step(browser):
    return browser.execute_script("return [Number(slider.value), target]")


def axis_titles(browser):
    return browser.execute_script(
        "return [embedding.layout.xaxis.title.text, embedding.layout.yaxis.title.text]"
    )


def apart(browser, rows):
    """The one of these rows whose point is farthest from all others: no other lies under the pointer."""
    points = np.column_stack(browser.execute_script("const { x, y } = coordinates(drawn); return [x, y]"))
    distances = np.linalg.norm(points[:, None] - points, axis=2)
    np.fill_diagonal(distances, np.inf)
    return int(max(rows, key=distances.min(axis=1).__getitem__))


def pointed(browser, point):
    """Put the pointer on a point and return what the page shows beside it."""
    from selenium.webdriver import ActionChains

    place = browser.execute_script(
        "const r = document.querySelectorAll('#embedding .scatterlayer .trace:first-child path.point')"
        "[arguments[0]].getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]",
        point,
    )
    actions = ActionChains(browser)
    actions.w3c_actions.pointer_action.move_to_location(round(place[0]), round(place[1]))
    actions.perform()
    waited(browser, lambda b: text(b, "tip").startswith(f"row {point}\n"))
    assert browser.find_element("id", "tip").is_displayed()
    return text(browser, "tip")


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
    ends = [browser.execute_script(f"return coordinates({place})") for place in (1, 2)]
    for axis in "xy":
        np.testing.assert_allclose(halfway[axis], (np.array(ends[0][axis]) + ends[1][axis]) / 2, atol=1e-12)

    assert requests(browser) == []
    assert browser.get_log("browser") == []


def test_arrow_keys_move_one_step_of_the_slider(browser, iris):
    from selenium.webdriver.common.keys import Keys

    slider = browser.find_element("id", "step")
    fitted, _ = step(browser)
    names = browser.execute_script("return curves.names")
    places = [drawn_points(browser)]
    for key, place in (
        (Keys.ARROW_RIGHT, fitted + 1),
        (Keys.ARROW_UP, fitted + 2),
        (Keys.ARROW_LEFT, fitted + 1),
        (Keys.ARROW_DOWN, fitted),
    ):
        slider.send_keys(key)
        settled(browser, f"α = {names[place]}")
        assert step(browser) == [place, place]
        assert slider.get_attribute("aria-valuetext").startswith(f"α = {names[place]}")
        places.append(drawn_points(browser))
    assert places[0] == places[4] != places[1] == places[3] != places[2]
    slider.send_keys(Keys.ARROW_RIGHT * 3)
    settled(browser, f"α = {names[fitted + 3]}")
    assert step(browser) == [fitted + 3, fitted + 3]
    assert "° from PCA" in text(browser, "numbers")
    assert browser.get_log("browser") == []


def test_the_axes_name_the_top_features_and_follow_alpha(browser, iris):
    data, fitted = iris
    for row, title in zip(fitted.components_, axis_titles(browser), strict=True):
        top = np.argsort(-np.abs(row))[:3]
        said = [f"{data.data.columns[j]} {'−' if row[j] < 0 else '+'}{abs(row[j]):.2f}" for j in top]
        assert title.endswith(": " + ", ".join(said))
    before = axis_titles(browser)
    browser.find_element("id", "to-first").click()
    settled(browser, "PCA")
    assert axis_titles(browser) != before
    assert browser.execute_script("return embedding.getAttribute('aria-label')").count("(cm)") == 6


def test_the_pointer_and_the_row_number_show_a_point_with_its_class_and_values(browser, iris):
    data, fitted = iris
    setosa = apart(browser, [row for row in range(50) if row % 10])
    shown = pointed(browser, setosa)
    assert shown.startswith(f"row {setosa}\nclass: setosa\n")
    tops = [np.argsort(-np.abs(row))[:3] for row in fitted.components_]
    for j, (name, value) in enumerate(data.data.iloc[setosa].items()):
        weights = [
            f"component {axis + 1} {'−' if row[j] < 0 else '+'}{abs(row[j]):.2f}"
            for axis, row in enumerate(fitted.components_)
            if j in tops[axis]
        ]
        assert (f"\n{name} = {value:g} ({', '.join(weights)})" in shown) == bool(weights)
    assert "class: missing" in pointed(browser, apart(browser, range(0, 150, 10)))

    browser.find_element("id", "row").send_keys("117")
    waited(browser, lambda b: "row 117" in text(b, "details"))
    assert "class: virginica" in text(browser, "details")
    waited(browser, lambda b: b.execute_script("return embedding.data[1].x.length") == 1)
    ring = browser.execute_script("return [embedding.data[1].x[0], embedding.data[0].x[117]]")
    assert ring[0] == ring[1]
    browser.find_element("id", "row").send_keys("9")
    waited(browser, lambda b: "Row 1179 is not among the 150 rows shown" in text(b, "details"))
    assert browser.get_log("browser") == []


def test_missing_labels_are_grey_and_have_their_own_entry(browser, iris):
    entries = browser.execute_script("return [...list.children].map(e => e.textContent)")
    assert entries == ["setosa (45)", "versicolor (45)", "virginica (45)", "missing (15)"]
    colors = browser.execute_script("return embedding.data[0].marker.color")
    assert {color for row, color in enumerate(colors) if row % 10 == 0} == {"#BBBBBB"}
    assert "#BBBBBB" not in {color for row, color in enumerate(colors) if row % 10}


def test_900_classes_are_a_list_to_search_and_to_pick_from_by_keys(browser, tmp_path):
    from selenium.webdriver.common.keys import Keys

    many = nasty.continuous(1000, 4)
    labels = [f"class {row % 900}" for row in range(len(many))]
    opened(browser, explore(SHOPCA().fit(many), many, labels, tmp_path / "page.html"))
    classes = browser.find_element("id", "classes")
    assert len(browser.execute_script("return [...list.children]")) == 900
    assert classes.size["height"] < 120
    assert "900 classes; colours and markers repeat" in text(browser, "class-note")
    point = apart(browser, range(900, 1000))
    assert pointed(browser, point).startswith(f"row {point}\nclass: class {point - 900}\n")

    browser.find_element("id", "search").send_keys("class 42")
    waited(browser, lambda b: "11 of 900 classes found" in text(b, "class-note"))
    classes.send_keys(Keys.ARROW_DOWN, " ")
    waited(browser, lambda b: "class 420" in text(b, "class-note"))
    assert browser.execute_script("return embedding.data[0].selectedpoints") == [420]
    assert classes.get_attribute("aria-activedescendant") == "class-420"
    classes.send_keys(Keys.ESCAPE)
    waited(browser, lambda b: b.execute_script("return chosen.size") == 0)
    assert not browser.execute_script("return embedding.data[0].selectedpoints")
    assert browser.get_log("browser") == []


def test_labels_names_and_features_are_text_in_the_browser(browser, tmp_path):
    names = [*EVIL, "plain"]
    four = nasty.continuous(d=4)
    labels = np.array(EVIL)[np.arange(len(four)) % 3]
    model = SHOPCA().fit(four)
    path = tmp_path / "page.html"
    opened(browser, explore(model, four, labels, path, names=labels, title=EVIL[0], feature_names=names))
    assert browser.title == EVIL[0]
    assert browser.find_element("tag name", "h1").text == EVIL[0]
    listed = browser.execute_script("return [...list.children].map(e => e.title)")
    assert sorted(listed) == sorted(EVIL)
    assert browser.execute_script("return document.querySelectorAll('script').length") == 3
    assert browser.execute_script("return document.querySelectorAll('b').length") == 0
    for kind, label in enumerate(EVIL):
        # Once as the name of the point, once as its label.
        point = apart(browser, range(kind, len(four), 3))
        assert pointed(browser, point).startswith(f"row {point}\n{label}\nclass: {label}\n")
    titles = browser.execute_script(
        "return [...document.querySelectorAll('#embedding .g-xtitle, #embedding .g-ytitle')]"
        ".map(e => e.textContent)"
    )
    cut = [name if len(name) <= 24 else name[:23] + "…" for name in names]
    tops = [np.argsort(-np.abs(row))[:3] for row in model.components_]
    for title, top in zip(titles, tops, strict=True):
        assert all(re.sub(r"\s+", " ", cut[j]) in re.sub(r"\s+", " ", title) for j in top)
    assert browser.get_log("browser") == []


def test_axe_finds_nothing_against_the_page(browser, tmp_path):
    numbers = X[:, 0].copy()
    numbers[::9] = np.nan
    colors = {
        "classes": LABELS,
        "many classes": [f"class {row % 60}" for row in range(len(X))],
        "numbers": numbers,
        "nothing": None,
    }
    for name, y in colors.items():
        page = explore(SHOPCA().fit(X), X, y, tmp_path / f"{name}.html")
        for width in (1300, 390):
            resized(browser, width, 844)
            opened(browser, page)
            assert accessibility_faults(browser) == [], (name, width)
    assert browser.get_log("browser") == []


def test_on_a_phone_nothing_is_cut_off(browser, tmp_path):
    resized(browser, 390, 844)
    names = [f"a feature with a long name {j}" for j in range(X.shape[1])]
    page = explore(SHOPCA().fit(X), X, X[:, 0], tmp_path / "page.html", feature_names=names)
    opened(browser, page)
    assert browser.execute_script("return document.documentElement.scrollWidth") == 390
    for part in (".g-xtitle", ".g-ytitle", ".colorbar"):
        box = browser.execute_script(
            f"return document.querySelector('#embedding {part}').getBoundingClientRect()"
        )
        plot = browser.execute_script("return embedding.getBoundingClientRect()")
        assert box["left"] >= 0
        assert box["right"] <= 390
        assert plot["top"] <= box["top"] <= box["bottom"] <= plot["bottom"]


def test_every_control_is_reached_by_the_tab_key_and_shows_its_focus(browser, iris):
    from selenium.webdriver import ActionChains
    from selenium.webdriver.common.keys import Keys

    reached = {}
    for _ in range(30):
        ActionChains(browser).send_keys(Keys.TAB).perform()
        name, outline = browser.execute_script(
            "const e = document.activeElement; return [e.id, getComputedStyle(e).outlineStyle]"
        )
        reached[name] = outline
    assert {"classes", "row", "step", "to-first", "to-last", "to-fitted"} <= set(reached)
    controls = ("classes", "row", "step", "to-first", "to-last", "to-fitted")
    assert {reached[name] for name in controls} == {"solid"}
