"""The pictures: each draws what it says on the Axes it is given, whatever the labels are."""

from __future__ import annotations

import sys

import matplotlib
import nasty
import numpy as np
import pandas as pd
import pytest
import shapes

matplotlib.use("Agg")

import matplotlib.pyplot as plt
from shopca_rs import (
    SHOPCA,
    ShapeOperatorEigenmaps,
    curvatures,
    plot_cloud,
    plot_curvature,
    plot_eigengap,
    plot_embedding,
    plot_spectrum,
    second_fundamental_form,
)
from sklearn.decomposition import PCA

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


def test_more_than_twenty_classes_are_counted_and_not_listed():
    ax = plot_embedding(SHOPCA().fit(X), X, [f"name {i % 30}" for i in range(len(X))])
    assert legend_texts(ax) == []
    assert ax.get_legend().get_title().get_text() == "30 classes:\nnot listed"
    assert len(np.unique(ax.collections[0].get_facecolors(), axis=0)) == 30


def torus(n=400, noise=0.0):
    rng = np.random.default_rng(0)
    points = shapes.torus(n, rng).points
    return shapes.noisy(points, noise, rng) if noise else points


def doubted_by(bent):
    return bent.valid & (bent.standard_error**2 > bent.squared_norm)


def trusted_by(bent):
    return bent.valid & ~doubted_by(bent)


def colored(ax):
    """The points on the colour scale: the only ones with numbers."""
    (found,) = (part for part in ax.collections if part.get_array() is not None and len(part.get_array()))
    return found


def spots(ax):
    """The places of the points on the colour scale, in 3-D or flat, sorted."""
    part = colored(ax)
    places = np.transpose(part._offsets3d) if hasattr(part, "_offsets3d") else part.get_offsets()
    return np.sort(np.asarray(places), axis=0)


@pytest.mark.parametrize("max_features", [25, 3])
def test_curvature_is_that_of_the_points_as_the_estimator_is_given_them(max_features):
    points = shapes.embed(shapes.torus(400, np.random.default_rng(0)), np.random.default_rng(1), 5).points
    ax = plot_curvature(SHOPCA(max_features=max_features).fit(points), points)
    bent = curvatures(points)
    np.testing.assert_array_equal(np.sort(colored(ax).get_array()), np.sort(bent.mean[trusted_by(bent)]))
    assert bar(ax).get_ylabel() == "mean curvature"


def bar(ax):
    """The axes of the colour bar."""
    (found,) = (other for other in ax.get_figure().axes if other is not ax)
    return found


@pytest.mark.parametrize("kind", [curvatures, second_fundamental_form], ids=["scalars", "form"])
@pytest.mark.parametrize("color", ["mean", "gaussian", "scalar", "standard_error"])
def test_colours_are_the_numbers_of_what_is_given(color, kind):
    points = torus()
    bent = curvatures(points, 40, intrinsic_dim=2)
    shown = bent.valid if color == "standard_error" else trusted_by(bent)
    for ax in (
        plot_curvature(SHOPCA().fit(points), points, kind(points, 40, intrinsic_dim=2), color=color),
        plot_cloud(points, kind(points, 40, intrinsic_dim=2), color=color),
    ):
        np.testing.assert_allclose(
            np.sort(colored(ax).get_array()), np.sort(getattr(bent, color)[shown]), rtol=1e-9, atol=1e-12
        )
        low, high = colored(ax).get_clim()
        assert (low == -high) == (color in ("gaussian", "scalar"))


def test_mean_curvature_of_oriented_points_is_centred_on_zero():
    points = shapes.bumps(600, np.random.default_rng(0)).points
    for kind in (curvatures, second_fundamental_form):
        bent = kind(points, 40, intrinsic_dim=2, orient=True)
        ax = plot_cloud(points, bent)
        low, high = colored(ax).get_clim()
        assert low == -high
        assert colored(ax).get_array().min() < 0


@pytest.mark.parametrize(
    ("largest", "smallest", "extend"),
    [(1.0, 1.0, "neither"), (50.0, 1.0, "max"), (1.0, -50.0, "min"), (50.0, -50.0, "both")],
)
def test_arrows_of_the_colour_bar_point_to_the_numbers_beyond_it(largest, smallest, extend):
    points = torus()
    bent = curvatures(points, 40, intrinsic_dim=2)
    bent.scalar[:] = np.linspace(-1, 1, len(points))
    bent.squared_norm[:] = 10.0
    bent.scalar[[0, -1]] = -1, 1
    bent.scalar[5], bent.scalar[6] = smallest, largest
    part = colored(plot_cloud(points, bent, color="scalar"))
    assert part.colorbar.extend == extend
    assert part.get_clim()[1] < 2


def test_points_not_to_be_trusted_are_drawn_apart_and_counted():
    points = np.concatenate([torus(300, 0.05), np.tile([[0.0, 0.0, 2.0]], (40, 1))])
    with pytest.warns(UserWarning, match="40 of 340 points"):
        bent = curvatures(points, 30, intrinsic_dim=2)
    doubted = doubted_by(bent)
    assert 0 < doubted.sum() < 300
    for ax in (plot_cloud(points, bent), plot_curvature(SHOPCA().fit(points), points, bent)):
        assert legend_texts(ax) == [
            f"standard error exceeds |II| ({doubted.sum()} points)",
            "flagged (40 points)",
        ]
        assert len(colored(ax).get_array()) == 300 - doubted.sum()
        ax.get_figure().canvas.draw()
    np.testing.assert_array_equal(spots(plot_cloud(points, bent)), np.sort(points[trusted_by(bent)], axis=0))
    # A standard error is shown wherever there is one.
    ax = plot_cloud(points, bent, color="standard_error")
    assert legend_texts(ax) == ["flagged (40 points)"]
    assert len(colored(ax).get_array()) == 300


def test_a_cloud_without_any_point_to_be_trusted_has_no_colour_bar():
    points = nasty.wide(60, 20)
    ax = plot_cloud(points, curvatures(points, 59, intrinsic_dim=7))
    assert legend_texts(ax) == ["standard error exceeds |II| (60 points)"]
    assert len(ax.get_figure().axes) == 1


def test_a_cloud_is_drawn_in_its_own_coordinates():
    points = torus()
    bent = curvatures(points)
    ax = plot_cloud(points)
    np.testing.assert_array_equal(spots(ax), np.sort(points[trusted_by(bent)], axis=0))
    assert ax.get_title() == "400 points, m = 2"
    circle = shapes.sphere(80, np.random.default_rng(0), 1).points
    ax = plot_cloud(circle)
    assert not hasattr(ax, "get_zlim")
    np.testing.assert_array_equal(spots(ax), np.sort(circle, axis=0))


def test_a_cloud_of_many_columns_is_drawn_on_its_first_three_principal_components():
    points = shapes.embed(shapes.torus(300, np.random.default_rng(0)), np.random.default_rng(1), 7).points
    bent = curvatures(points, 40, intrinsic_dim=2)
    ax = plot_cloud(points, bent)
    assert ax.get_title() == "300 points, m = 2\nfirst 3 of 7 principal components (100% of the variance)"
    assert ax.get_xlabel() == "component 1"
    Z = PCA(3).fit_transform(points)[trusted_by(bent)]
    drawn = spots(ax)
    for j in range(3):
        signed = [np.abs(drawn[:, j] - np.sort(sign * Z[:, j])).max() for sign in (1, -1)]
        assert min(signed) < 1e-9


def test_principal_directions_are_those_of_the_torus():
    points = torus(1500)
    ax = plot_cloud(points, second_fundamental_form(points), directions=True)
    lines = {
        part.get_label(): np.asarray(part._segments3d)
        for part in ax.collections
        if hasattr(part, "_segments3d")
    }
    assert (
        set(lines) == {"least principal curvature", "greatest principal curvature"} == set(legend_texts(ax))
    )
    for name, segments in lines.items():
        assert 150 < len(segments) <= 200
        middle, along = segments.mean(axis=1), segments[:, 1] - segments[:, 0]
        around = np.cross([0, 0, 1], middle)
        cosine = (
            np.abs((around * along).sum(1)) / np.linalg.norm(around, axis=1) / np.linalg.norm(along, axis=1)
        )
        # The normal points to where the tube bends: the greatest is around it, the least along the ring.
        assert np.median(cosine) == pytest.approx(1 if name.startswith("least") else 0, abs=0.01)


def test_directions_are_left_out_where_all_are_alike():
    sphere = shapes.sphere(500, np.random.default_rng(0)).points
    ax = plot_cloud(sphere, directions=True)
    assert not any(hasattr(part, "_segments3d") for part in ax.collections)
    circle = shapes.sphere(80, np.random.default_rng(0), 1).points
    (lines,) = (
        part for part in plot_cloud(circle, directions=True).collections if hasattr(part, "get_segments")
    )
    for start, end in lines.get_segments():
        assert abs((start + end) @ (end - start)) < 1e-4


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"directions": True}, "directions need the result of second_fundamental_form"),
        (
            {"curvature": curvatures(torus(), 40, intrinsic_dim=1), "color": "gaussian"},
            r"surfaces \(m = 2\), and m = 1",
        ),
        ({"X": torus(300)}, "one entry for each of the 300 rows of X, got 400"),
        ({"X": torus() * 1e200}, "between 1e-100 and 1e\\+100 to be shown"),
        ({"X": torus()[:, :1]}, "at least 2 columns"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_what_cannot_be_drawn_of_a_cloud_is_said_in_a_sentence(options, text):
    points = torus()
    with pytest.raises(ValueError, match=text):
        plot_cloud(**({"X": points, "curvature": curvatures(points, 40, intrinsic_dim=2)} | options))
    assert plt.get_fignums() == []


def test_axes_of_a_cloud_must_have_its_dimension():
    solid, flat = plt.figure().add_subplot(projection="3d"), plt.figure().subplots()
    circle = shapes.sphere(80, np.random.default_rng(0), 1).points
    with pytest.raises(ValueError, match='projection="3d"'):
        plot_cloud(torus(), ax=flat)
    with pytest.raises(ValueError, match="must not be 3-D"):
        plot_cloud(circle, ax=solid)
    assert plot_cloud(torus(), ax=solid) is solid
    assert plot_cloud(circle, ax=flat) is flat


def test_too_few_points_for_curvature_are_refused_with_a_way_out():
    wide = nasty.continuous(d=30)
    with pytest.raises(ValueError, match="pass the result as curvature"):
        plot_curvature(SHOPCA().fit(wide), wide)
    plot_curvature(SHOPCA().fit(wide), wide, curvatures(wide, 60, intrinsic_dim=4))


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
