"""Pictures that explain a model: classes, pipelines, loadings, scree, stability and quality."""

from __future__ import annotations

import matplotlib
import nasty
import numpy as np
import pandas as pd
import pytest
from refusals import refuses
from shopca_rs import (
    LPP,
    SHOPCA,
    plot_biplot,
    plot_curvature,
    plot_eigengap,
    plot_embedding,
    plot_loadings,
    plot_quality,
    plot_scree,
    plot_spectrum,
    plot_stability,
    quality,
    stability,
)
from shopca_rs.classes import MISSING_COLOR, PALETTE
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

matplotlib.use("Agg")

import matplotlib.pyplot as plt

X = nasty.continuous()
NAMES = [f"column {j}" for j in range(X.shape[1])]
FRAME = pd.DataFrame(X, columns=NAMES)


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def legend_texts(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def is_color(drawn, color):
    return np.allclose(drawn.get_facecolors()[:, :3], matplotlib.colors.to_rgb(color))


def pipeline(last):
    return make_pipeline(StandardScaler(), last).fit(FRAME)


class Squares(TransformerMixin, BaseEstimator):
    """A transformer without components."""

    def fit(self, X, y=None):
        self.fitted_ = True
        return self

    def transform(self, X):
        return np.asarray(X)[:, :2] ** 2


def test_missing_labels_are_one_grey_class_below_the_others():
    labels = np.array(["b", "a", None, ""] * 30, dtype=object)
    ax = plot_embedding(SHOPCA().fit(X), X, labels)
    assert legend_texts(ax) == ["a", "b", "missing"]
    grey, colored = ax.collections
    assert len(grey.get_offsets()) == 60
    assert is_color(grey, MISSING_COLOR)
    assert not is_color(colored, MISSING_COLOR)


def test_labels_that_are_all_missing_are_drawn():
    ax = plot_embedding(SHOPCA().fit(X), X, [None] * len(X))
    assert legend_texts(ax) == ["missing"]
    assert len(ax.collections[0].get_offsets()) == len(X)


def test_missing_numbers_are_grey_beside_the_scale():
    numbers = X[:, 0].copy()
    numbers[:7] = np.nan
    ax = plot_embedding(SHOPCA().fit(X), X, pd.Series(numbers, name="length"))
    assert legend_texts(ax) == ["missing (7)"]
    assert [len(part.get_offsets()) for part in ax.collections] == [7, len(X) - 7]
    assert ax.get_figure().axes[1].get_ylabel() == "length"


@pytest.mark.parametrize(
    ("ends", "extend"), [((0, 1), "neither"), ((-50, 1), "min"), ((-np.inf, np.inf), "both")]
)
def test_the_colour_bar_has_arrows_where_numbers_are_beyond_it(ends, extend):
    numbers = np.linspace(0, 1, len(X))
    numbers[[0, -1]] = ends
    part = plot_embedding(SHOPCA().fit(X), X, numbers).collections[0]
    assert part.colorbar.extend == extend
    assert len(part.get_offsets()) == len(X)
    assert np.isfinite(part.get_array()).all()
    assert part.get_clim()[0] >= -0.1
    assert part.get_clim()[1] <= 1.1


def test_twenty_classes_are_told_apart_in_the_picture():
    ax = plot_embedding(SHOPCA().fit(X), X, np.arange(len(X)) % 20)
    looks = set()
    for part in ax.collections:
        shape = part.get_paths()[0].vertices.tobytes()
        looks |= {(shape, color.tobytes()) for color in part.get_facecolors()}
    assert len(looks) == 20
    assert legend_texts(ax) == [str(j) for j in range(20)]


def test_names_in_the_legend_are_short_and_taken_literally():
    ax = plot_embedding(SHOPCA().fit(X), X, np.array(["_$x^", "n" * 200])[np.arange(len(X)) % 2], label="$y_")
    assert legend_texts(ax) == ["_$x^", "n" * 29 + "…"]
    assert ax.get_legend().get_title().get_text() == "$y_"
    ax.get_figure().canvas.draw()


def test_many_points_are_a_density_that_counts_them_all():
    many = np.random.default_rng(0).normal(size=(20_001, 3))
    fitted = PCA(2).fit(many)
    ax = plot_embedding(fitted, many)
    assert ax.collections[0].get_array().sum() == 20_001
    assert ax.get_figure().axes[1].get_ylabel() == "points in a cell"
    assert ax.get_title() == "PCA: 20\N{NO-BREAK SPACE}001 points"
    few = plot_embedding(fitted, many[:-1]).collections[0]
    assert len(few.get_offsets()) == 20_000


def test_many_points_with_labels_are_small_transparent_and_pixels():
    many = np.random.default_rng(0).normal(size=(20_001, 3))
    fitted = PCA(2).fit(many)
    part = plot_embedding(fitted, many, many[:, 0] > 0).collections[0]
    assert len(part.get_offsets()) == 20_001
    assert part.get_rasterized()
    assert part.get_alpha() < 0.85
    assert part.get_sizes()[0] < 6
    # Whoever gives options for points gets points.
    assert len(plot_embedding(fitted, many, s=1).collections[0].get_offsets()) == 20_001


@pytest.mark.parametrize("last", [SHOPCA(), LPP(), PCA(2)], ids=lambda last: type(last).__name__)
def test_a_pipeline_is_drawn_as_its_last_step_on_scaled_data(last):
    whole = pipeline(last)
    scaled = whole[:-1].transform(FRAME)
    drawn = plot_embedding(whole, FRAME)
    np.testing.assert_allclose(drawn.collections[0].get_offsets(), whole[-1].transform(scaled))
    assert drawn.get_title().startswith(type(last).__name__)
    assert drawn.get_xlabel() == f"component 1 ({whole[-1].explained_variance_ratio_[0]:.1%} of variance)"
    for plot in (plot_loadings, plot_scree):
        assert plot(whole).get_title().startswith(type(last).__name__)
    plot_biplot(whole, FRAME)
    bent = plot_curvature(whole, FRAME, ax=plt.figure().subplots())
    assert bent.get_xlabel() == drawn.get_xlabel()


def test_what_needs_an_alpha_takes_a_pipeline_too():
    whole = pipeline(SHOPCA())
    for plot in (plot_eigengap, plot_spectrum):
        np.testing.assert_array_equal(plot(whole).lines[0].get_ydata(), plot(whole[-1]).lines[0].get_ydata())
    refuses(TypeError, ["which have an α, got PCA"], plot_eigengap, pipeline(PCA(2)))


def test_any_transformer_is_drawn_and_one_without_components_has_no_loadings():
    fitted = Squares().fit(X)
    ax = plot_embedding(fitted, X)
    np.testing.assert_allclose(ax.collections[0].get_offsets(), X[:, :2] ** 2)
    assert ax.get_xlabel() == "component 1"
    refuses(TypeError, ["components_", "got a Squares"], plot_loadings, fitted)
    refuses(TypeError, ["explained_variance_ratio_", "got a Squares"], plot_scree, fitted)
    refuses(TypeError, ["must have eigenvalues", "got a Squares"], plot_scree, fitted, values="eigenvalues")


def tick_names(ax):
    return [label.get_text() for label in ax.get_yticklabels()]


def test_bars_are_the_largest_loadings_with_names():
    fitted = SHOPCA().fit(FRAME)
    ax = plot_loadings(fitted, components=1, n_features=3)
    row = fitted.components_[1]
    order = sorted(range(len(row)), key=lambda j: -abs(row[j]))[:3]
    np.testing.assert_allclose([bar.get_width() for bar in ax.patches], row[order])
    assert tick_names(ax) == [NAMES[j] for j in order]
    assert ax.get_title().endswith(f"loadings of component 2\nthe largest 3 of {len(row)}")


def test_the_heat_map_has_the_loadings_of_all_components():
    fitted = PCA(3).fit(X)
    ax = plot_loadings(fitted, names=NAMES)
    rows = fitted.components_
    order = sorted(range(rows.shape[1]), key=lambda j: -abs(rows[:, j]).max())
    np.testing.assert_allclose(ax.images[0].get_array(), rows[:, order].T)
    assert tick_names(ax) == [NAMES[j] for j in order]
    assert [text.get_text() for text in ax.texts] == [f"{value:.2f}" for value in rows[:, order].T.ravel()]
    low, high = ax.images[0].get_clim()
    assert low == -high == -np.abs(rows).max()


@pytest.mark.parametrize("wrong", [-1, 2, [0, 5], [], "all", 0.5])
def test_components_that_do_not_exist_are_refused(wrong):
    refuses(
        ValueError,
        ["components must be a number from 0 to 1"],
        plot_loadings,
        SHOPCA().fit(X),
        components=wrong,
    )


def test_names_must_be_as_many_as_features():
    refuses(ValueError, ["names must have one entry for each"], plot_loadings, SHOPCA().fit(X), names=["a"])


@pytest.mark.parametrize("last", [SHOPCA(3), LPP(3), PCA(3)], ids=lambda last: type(last).__name__)
def test_an_arrow_is_the_move_of_a_point_whose_feature_grows_by_a_standard_deviation(last):
    fitted = last.fit(FRAME)
    ax = plot_biplot(fitted, FRAME, components=(2, 0), n_features=2)
    tips = {}
    arrows = [text for text in ax.texts if text.get_text() == ""]
    labels = [text.get_text() for text in ax.texts if text.get_text()]
    for arrow, name in zip(arrows, labels, strict=True):
        tips[name] = np.array(arrow.xy)
    factor = float(ax.get_title().split("× ")[1])
    moves = {}
    for j, name in enumerate(NAMES):
        moved = FRAME.copy()
        moved[name] += X[:, j].std()
        moves[name] = (fitted.transform(moved) - fitted.transform(FRAME))[0, [2, 0]]
    longest = sorted(NAMES, key=lambda name: -np.linalg.norm(moves[name]))[:2]
    assert labels == longest
    for name in longest:
        np.testing.assert_allclose(tips[name], factor * moves[name], rtol=0.06)


def test_a_biplot_of_points_far_from_the_mean_shows_the_mean_and_all_arrows():
    ax = plot_biplot(SHOPCA(2).fit(X), X + 1e15)
    ax.figure.canvas.draw()
    for (low, high), label in ((ax.get_xlim(), 0), (ax.get_ylim(), 1)):
        assert all(low <= tip <= high for tip in [0.0, *(text.get_position()[label] for text in ax.texts)])


def test_a_biplot_needs_two_components():
    refuses(ValueError, ["at least two components"], plot_biplot, SHOPCA(1).fit(X), X)


def test_the_scree_of_one_model_has_all_of_its_eigenvalues():
    shopca, lpp, pca = SHOPCA().fit(X), LPP().fit(X), PCA(3).fit(X)
    drawn = plot_scree(shopca)
    expected = np.sort(np.linalg.eigvals(shopca.curved_covariance_).real)[::-1]
    np.testing.assert_allclose(np.sort(drawn.lines[0].get_ydata())[::-1], expected, atol=1e-9)
    assert drawn.get_ylabel() == f"eigenvalues of Σ_curv at α = {shopca.alpha_:.3g}"
    assert drawn.texts[0].get_text() == "2 kept"
    drawn = plot_scree(lpp)
    np.testing.assert_array_equal(drawn.lines[0].get_ydata(), lpp.eigenvalues_)
    drawn = plot_scree(pca)
    np.testing.assert_array_equal(drawn.lines[0].get_ydata(), pca.explained_variance_ratio_)
    assert drawn.get_ylabel() == "explained variance ratio"
    drawn = plot_scree(pca, values="eigenvalues")
    np.testing.assert_array_equal(drawn.lines[0].get_ydata(), pca.explained_variance_)


def test_several_models_are_compared_by_their_variance_or_by_shares():
    models = [SHOPCA().fit(X), LPP(3).fit(X), PCA(2).fit(X), PCA(4).fit(X)]
    ax = plot_scree(models)
    for line, model in zip(ax.lines, models, strict=True):
        np.testing.assert_array_equal(line.get_ydata(), model.explained_variance_ratio_)
    assert legend_texts(ax) == [f"SHOPCA, α = {models[0].alpha_:.3g}", "LPP", "PCA", "PCA (4)"]
    ax = plot_scree({"_first": models[0], "$x": models[1]}, values="eigenvalues")
    assert legend_texts(ax) == ["_first", "$x"]
    assert ax.get_ylabel() == "share of the sum of all |eigenvalues|"
    for line in ax.lines[:2]:
        assert np.abs(line.get_ydata()).sum() == pytest.approx(1)


@pytest.mark.parametrize("wrong", [[], {}, {1: PCA().fit(X)}, [3], {"a": "b"}])
def test_what_is_no_model_has_no_scree(wrong):
    with pytest.raises((ValueError, TypeError), match="estimator must"):
        plot_scree(wrong)
    assert plt.get_fignums() == []


IRIS = load_iris(as_frame=True).data


@pytest.fixture(scope="module")
def qualities():
    """All rows, and a sample, which has standard errors."""
    Z = PCA(2).fit_transform(IRIS)
    return {"PCA": quality(IRIS, Z), "_$UMAP": quality(IRIS, IRIS.iloc[:, :2], sample=60)}


def test_curves_of_quality_are_drawn_with_their_areas(qualities):
    ax = plot_quality(qualities)
    assert legend_texts(ax) == [f"{name}: AUC {result.auc:.3f}" for name, result in qualities.items()]
    assert ax.get_xscale() == "log"
    for line, result in zip(ax.lines, qualities.values(), strict=False):
        sizes = line.get_xdata()
        assert (sizes[0], sizes[-1]) == (1, 148)
        np.testing.assert_array_equal(line.get_ydata(), result.r_nx[sizes - 1])
    # One band: only one of them has a standard error.
    (band,) = ax.collections
    sampled = qualities["_$UMAP"]
    top = (sampled.r_nx + sampled.standard_error.r_nx).max()
    assert band.get_paths()[0].vertices[:, 1].max() == pytest.approx(top)


def test_a_long_curve_is_thinned_out_and_a_single_result_needs_no_name():
    points = np.random.default_rng(0).normal(size=(4000, 2))
    result = quality(points, points[:, :1], sample=2)
    ax = plot_quality(result)
    assert len(ax.lines[0].get_xdata()) < 1001 < len(result.r_nx)
    assert legend_texts(ax) == [f"AUC {result.auc:.3f}"]


def test_embeddings_are_judged_where_they_are_drawn():
    embeddings = {"PCA": PCA(2).fit_transform(IRIS), "two columns": IRIS.iloc[:, :2]}
    ax = plot_quality(embeddings, IRIS)
    expected = {name: quality(IRIS, Z) for name, Z in embeddings.items()}
    assert legend_texts(ax) == legend_texts(plot_quality(expected))
    assert legend_texts(plot_quality(embeddings["PCA"], IRIS)) == [f"AUC {expected['PCA'].auc:.3f}"]
    assert legend_texts(plot_quality({"PCA": expected["PCA"]}, IRIS)) == legend_texts(ax)[:1]
    sampled = plot_quality(embeddings, IRIS, sample=20)
    assert legend_texts(sampled)[0] == f"PCA: AUC {quality(IRIS, embeddings['PCA'], sample=20).auc:.3f}"


def test_embeddings_without_their_data_are_refused():
    Z = PCA(2).fit_transform(IRIS)
    refuses(TypeError, ("results must be what quality returns", "Give X as well"), plot_quality, {"PCA": Z})
    refuses(ValueError, ("Z must have as many rows as X (150), got 100",), plot_quality, Z[:100], IRIS)
    assert plt.get_fignums() == []


@pytest.fixture(scope="module")
def halves():
    return stability(SHOPCA(alpha=1), IRIS, n_resamples=6)


@pytest.fixture(scope="module")
def bootstrap():
    return stability(PCA(2), IRIS, n_resamples=6, bootstrap=True)


@pytest.mark.parametrize("drawn", ["halves", "bootstrap"])
def test_angles_of_every_refit_are_drawn_beside_chance(drawn, request):
    result = request.getfixturevalue(drawn)
    ax = plot_stability(result)
    np.testing.assert_array_equal(np.sort(ax.lines[0].get_ydata()), np.sort(result.angles.ravel()))
    if drawn == "halves":
        np.testing.assert_array_equal(
            np.sort(ax.lines[1].get_ydata()), np.sort(result.disjoint_angles.ravel())
        )
    assert (result.disjoint_angles is None) == (drawn == "bootstrap")
    assert ax.lines[-1].get_ydata()[0] == result.random_angle
    medians = [segment[0, 1] for segment in ax.collections[0].get_segments()]
    np.testing.assert_array_equal(medians, np.median(result.angles, axis=0))
    assert ("two refits without a common row" in legend_texts(ax)) == (drawn == "halves")
    assert legend_texts(ax)[-1] == f"chance: largest angle of random subspaces, {result.random_angle:.0f}°"
    method = "SHOPCA, α = 1" if drawn == "halves" else "PCA"
    assert ax.get_title() == f"{method}: principal angles\n6 refits to 75 of 150 rows: {result.verdict}"


def test_a_space_that_is_everything_has_no_level_of_chance():
    ax = plot_stability(stability(PCA(4), IRIS, n_resamples=4))
    assert legend_texts(ax)[-1] == "median"


def test_loadings_have_bars_of_one_standard_deviation(halves):
    ax = plot_stability(halves, kind="loadings", n_features=3)
    values = halves.reference.values
    order = np.argsort(-np.abs(values).max(axis=0))[:3]
    assert tick_names(ax) == [IRIS.columns[j] for j in order]
    assert legend_texts(ax) == ["component 1", "component 2"]
    for container, loadings, spread in zip(ax.containers, values, halves.loadings_std, strict=True):
        np.testing.assert_array_equal(container.lines[0].get_xdata(), loadings[order])
        (bars,) = container.lines[2]
        lengths = [segment[1, 0] - segment[0, 0] for segment in bars.get_segments()]
        np.testing.assert_allclose(lengths, 2 * spread[order])
    assert legend_texts(plot_stability(halves, kind="loadings", components=1)) == ["component 2"]


def test_colours_come_from_one_palette(qualities):
    colors = [line.get_color() for line in plot_quality(qualities).lines[:2]]
    assert colors == PALETTE[:2]
    assert plot_scree(PCA().fit(X)).lines[0].get_color() == PALETTE[0]
    assert plot_eigengap(SHOPCA().fit(X)).lines[0].get_color() == PALETTE[0]
    assert is_color(plot_embedding(SHOPCA().fit(X), X).collections[0], PALETTE[0])
