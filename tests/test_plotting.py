"""The pictures: each draws what it says on the Axes it is given, whatever the labels are."""

from __future__ import annotations

import sys

import matplotlib
import nasty
import numpy as np
import pandas as pd
import pytest

matplotlib.use("Agg")

import matplotlib.pyplot as plt
from shopca_rs import (
    SHOPCA,
    ShapeOperatorEigenmaps,
    curvatures,
    plot_curvature,
    plot_eigengap,
    plot_embedding,
    plot_spectrum,
)

X = nasty.continuous()
LABELS = np.array([r"$\frac{$", "_hidden", "<b>bold</b>"])[np.arange(len(X)) % 3]

EVERY = {
    "eigengap": lambda fitted, **o: plot_eigengap(fitted, **o),
    "spectrum": lambda fitted, **o: plot_spectrum(fitted, **o),
    "embedding": lambda fitted, **o: plot_embedding(fitted, X, **o),
    "curvature": lambda fitted, **o: plot_curvature(fitted, X, **o),
}
every = pytest.mark.parametrize("plot", EVERY.values(), ids=EVERY)


@pytest.fixture(autouse=True)
def _close_figures():
    plt.close("all")
    yield
    plt.close("all")


def points(ax):
    return np.asarray(ax.collections[0].get_offsets())


def legend_texts(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


@every
def test_a_picture_is_drawn_on_the_axes_given_and_they_come_back(plot):
    _, ax = plt.subplots()
    assert plot(SHOPCA().fit(X), ax=ax) is ax
    assert ax.lines or ax.collections
    assert len(plt.get_fignums()) == 1


@every
def test_without_axes_a_new_figure_is_made(plot):
    ax = plot(SHOPCA().fit(X))
    assert ax.get_title()
    ax.get_figure().canvas.draw()


@every
@pytest.mark.parametrize(
    "estimator", [SHOPCA(alpha=0), SHOPCA(1), SHOPCA(5), ShapeOperatorEigenmaps()], ids=str
)
def test_every_kind_of_fit_can_be_drawn(plot, estimator):
    plot(estimator.fit(X)).get_figure().canvas.draw()


def test_the_eigengap_curve_is_that_of_the_fit_and_marks_its_alpha():
    fitted = SHOPCA().fit(X)
    ax = plot_eigengap(fitted)
    np.testing.assert_allclose(ax.lines[0].get_xdata(), fitted.alpha_grid_)
    np.testing.assert_allclose(ax.lines[0].get_ydata(), fitted.eigengaps_)
    assert ax.lines[1].get_xdata()[0] == fitted.alpha_
    assert ax.texts[0].get_text() == f"α = {fitted.alpha_:.3g}"


def test_a_given_alpha_is_marked_on_the_default_grid():
    ax = plot_eigengap(SHOPCA(alpha=2.0).fit(X))
    assert len(ax.lines[0].get_xdata()) == 50
    assert ax.lines[1].get_xdata()[0] == 2.0


def test_distances_between_the_lines_of_the_spectrum_are_eigengaps():
    fitted = SHOPCA().fit(X)
    lines = {line.get_label(): line.get_ydata() for line in plot_spectrum(fitted).lines[:5]}
    others = max(
        (y for label, y in lines.items() if not label.startswith("component")), key=lambda y: np.sum(y)
    )
    np.testing.assert_allclose(lines["component 2"] - others, fitted.eigengaps_, atol=1e-12)


def test_the_spectrum_can_be_drawn_as_it_is():
    fitted = SHOPCA(alpha=1.0).fit(X)
    ax = plot_spectrum(fitted, alpha_grid=[0.5, 1.0], normalize=False)
    drawn = next(line for line in ax.lines if line.get_label() == "component 1")
    assert drawn.get_ydata()[1] == pytest.approx(fitted.eigenvalues_[0].real)


def test_the_points_are_those_of_transform():
    fitted = SHOPCA(3).fit(X)
    np.testing.assert_allclose(points(plot_embedding(fitted, X)), fitted.transform(X)[:, :2])
    Z = fitted.transform(X)[:, [2, 0]]
    np.testing.assert_allclose(points(plot_embedding(fitted, X, components=(2, 0))), Z)


@pytest.mark.parametrize("container", [np.array, list, pd.Series, pd.Categorical], ids=lambda c: c.__name__)
def test_labels_are_shown_to_the_letter(container):
    ax = plot_embedding(SHOPCA().fit(X), X, container(LABELS))
    ax.get_figure().canvas.draw()
    assert legend_texts(ax) == sorted(set(LABELS))


def test_points_of_one_label_have_one_colour():
    ax = plot_embedding(SHOPCA().fit(X), X, LABELS)
    colours = ax.collections[0].get_facecolors()
    for label in set(LABELS):
        assert len(np.unique(colours[label == LABELS], axis=0)) == 1
    assert len(np.unique(colours, axis=0)) == 3


@pytest.mark.parametrize(("count", "legend"), [(20, True), (21, False)])
def test_few_whole_numbers_are_labels_and_many_are_a_scale(count, legend):
    ax = plot_embedding(SHOPCA().fit(X), X, np.arange(len(X)) % count)
    assert (ax.get_legend() is not None) == legend
    assert len(ax.get_figure().axes) == (1 if legend else 2)


def test_numbers_are_drawn_on_a_scale():
    ax = plot_embedding(SHOPCA().fit(X), X, X[:, 0])
    np.testing.assert_array_equal(ax.collections[0].get_array(), X[:, 0])


def test_thirty_labels_still_get_a_legend():
    ax = plot_embedding(SHOPCA().fit(X), X, [f"name {i % 30}" for i in range(len(X))])
    assert len(legend_texts(ax)) == 30


def test_curvature_is_that_of_the_points_in_the_space_of_the_fit():
    wide = nasty.continuous(d=30)
    fitted = SHOPCA(max_features=6).fit(wide)
    ax = plot_curvature(fitted, wide)
    drawn = np.sort(ax.collections[0].get_array())
    scores = (wide - wide.mean(0)) @ fitted._basis.T
    np.testing.assert_allclose(drawn, np.sort(curvatures(scores, fitted.n_neighbors_).mean), rtol=1e-9)
    assert points(ax).shape == (len(wide), 2)


def test_options_of_matplotlib_win():
    ax = plot_embedding(SHOPCA().fit(X), X, color="red", s=3)
    assert ax.collections[0].get_sizes().tolist() == [3]
    np.testing.assert_allclose(ax.collections[0].get_facecolors()[0][:3], [1, 0, 0])
    assert plot_eigengap(SHOPCA().fit(X), color="green").lines[0].get_color() == "green"


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda f: plot_embedding(f, X, LABELS[:5]), "one entry for each of the 120 rows of X, got shape"),
        (lambda f: plot_embedding(f, X, components=(0, 2)), "components must be two numbers from 0 to 1"),
        (lambda f: plot_eigengap(f, alpha_grid=[0, 1]), "at least two positive, finite numbers"),
    ],
)
def test_a_wrong_argument_is_named_in_a_sentence(call, text):
    with pytest.raises(ValueError, match=text):
        call(SHOPCA().fit(X))


@every
def test_without_matplotlib_the_error_says_what_to_install(plot, monkeypatch):
    fitted = SHOPCA().fit(X)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r'pip install "shopca-rs\[plot\]"'):
        plot(fitted)


def test_importing_every_module_imports_no_library_for_pictures(run_python):
    code = (
        "import sys, shopca_rs; shopca_rs.SHOPCA; import shopca_rs.plotting, shopca_rs.explorer\n"
        "print([m for m in ('matplotlib', 'plotly') if m in sys.modules])"
    )
    assert run_python(code).strip() == "[]"


def test_importing_the_package_alone_imports_nothing_heavy(run_python):
    # scikit-learn imports pandas and most of SciPy: more than a second before the first line of ours.
    code = (
        "import sys, shopca_rs\n"
        "print([m for m in ('sklearn', 'scipy', 'pandas', 'matplotlib', 'plotly') if m in sys.modules])"
    )
    assert run_python(code).strip() == "[]"
