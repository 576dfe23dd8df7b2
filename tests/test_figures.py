"""The pictures of the report: each shows the numbers it is given, and everything on it can be read."""

from __future__ import annotations

import sys
from itertools import combinations

import numpy as np
import pytest
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.text import Annotation, Text
from shopca_rs.experiments import figures
from shopca_rs.experiments.figures import Point
from shopca_rs.experiments.statistics import average_ranks, bootstrap_interval

METHODS = ("PCA", "SHOPCA as written", "SHOPCA, α = 1", "Isomap", "UMAP")
MEASURES = ("Ward ARI", "k-means ARI", "complete-linkage ARI", "7-NN accuracy")
BASES = ("NumPy's bases", "our LAPACK's bases", "average over bases")


def printed_scores(tables=(1, 2, 3), count=30):
    rng = np.random.default_rng(0)
    points = []
    for table in tables:
        for method in ("SHOPCA", ("PCA", "Isomap", "UMAP")[table - 1]):
            for index in ("ARI", "FM", "V"):
                for printed in rng.uniform(-0.05, 1, size=count).round(4):
                    noise = rng.choice([0, 0.05]) * rng.normal()
                    points.append(Point(table, method, index, printed, printed + noise, rng.random() < 0.8))
    return points


def printed_lambdas():
    rng = np.random.default_rng(0)
    points = []
    for bases, share in zip(BASES, (0.05, 0.2, 0.4), strict=True):
        for number, printed in enumerate(np.exp(rng.uniform(0, 6, size=50))):
            ratio = np.exp(rng.normal() * (0.4 if rng.random() < share else 0.005))
            points.append((f"data-set_number-{number}", bases, printed, printed * ratio))
    return points


def score_table(count=50):
    rng = np.random.default_rng(0)
    base = rng.uniform(0, 0.8, size=count)
    return {
        measure: {
            method: base + (method != "PCA") * (place * 0.02 + 0.1 * rng.normal(size=count))
            for place, method in enumerate(METHODS)
        }
        for measure in MEASURES
    }


def embedded(classes=(3, 10, 40)):
    rng = np.random.default_rng(0)
    panels = {}
    for count in classes:
        y = np.arange(8 * count) % count
        panels[f"blood-transfusion with {count} classes"] = {
            method: (rng.normal(size=(len(y), 2)) + y[:, None], y) for method in METHODS
        }
    return panels


PICTURES = {
    "against_print": lambda path: figures.against_print(printed_scores(), path),
    "against_print_of_one_table": lambda path: figures.against_print(printed_scores([1], 5), path),
    "lambdas": lambda path: figures.lambdas_against_print(printed_lambdas(), path),
    "ranking": lambda path: figures.ranking(score_table(), path),
    "embeddings": lambda path: figures.embeddings(embedded(), path),
}
every_picture = pytest.mark.parametrize("name", PICTURES)


@pytest.fixture(scope="module")
def draw(tmp_path_factory):
    """Draw a picture and return its figure as it was when it was written."""
    folder = tmp_path_factory.mktemp("pictures")
    written = []
    save = Figure.savefig

    def savefig(figure, path, **options):
        save(figure, path, **options)
        written.append(figure)

    def call(picture, *arguments, name="picture.png"):
        picture(*arguments, folder / name)
        figure = written.pop()
        figure.file = folder / name
        return figure

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Figure, "savefig", savefig)
        yield call


@pytest.fixture(scope="module")
def drawn(draw):
    return {name: draw(picture, name=f"{name}.png") for name, picture in PICTURES.items()}


def panels(figure):
    return [ax for ax in figure.axes if ax.get_visible()]


def texts(artist):
    return [text.get_text() for text in artist.findobj(Text) if text.get_text()]


def marked(ax):
    """All points of all scatters of an Axes, as rows."""
    return np.concatenate([np.asarray(points.get_offsets()) for points in ax.collections])


@every_picture
def test_a_picture_has_the_width_of_the_others_and_leaves_no_unfinished_file(name, drawn):
    file = drawn[name].file
    content = file.read_bytes()
    assert content.startswith(b"\x89PNG")
    assert int.from_bytes(content[16:20], "big") == 1170
    assert sorted(path.stem for path in file.parent.iterdir() if path.stem != "picture") == sorted(PICTURES)


@pytest.mark.parametrize("name", ["embeddings", "against_print_of_one_table"])
def test_a_picture_is_the_same_every_time(name, draw, drawn):
    assert draw(PICTURES[name]).file.read_bytes() == drawn[name].file.read_bytes()


@every_picture
def test_nothing_is_cut_off_at_the_edges(name, drawn):
    figure = drawn[name]
    inches = figure.get_tightbbox()
    assert inches.x0 >= -0.01
    assert inches.y0 >= -0.01
    assert inches.x1 <= figure.get_figwidth() + 0.01
    assert inches.y1 <= figure.get_figheight() + 0.01


@every_picture
def test_no_two_headings_of_panels_overlap(name, drawn):
    headings = [
        text.get_window_extent()
        for ax in panels(drawn[name])
        for text in (ax.title, ax._left_title, ax._right_title, *ax.texts)
        if text.get_text() and not isinstance(text, Annotation)
    ]
    assert len(headings) >= 3
    assert not any(one.overlaps(other) for one, other in combinations(headings, 2))


@every_picture
def test_a_picture_that_cannot_be_written_says_so_before_it_is_drawn(name, monkeypatch, tmp_path):
    monkeypatch.setattr(Figure, "subplots", None)
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        PICTURES[name](tmp_path / "nowhere" / "picture.png")


@every_picture
def test_without_matplotlib_a_picture_says_what_to_install(name, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r'pip install "shopca-rs\[plot\]"'):
        PICTURES[name](tmp_path / "picture.png")


def test_pictures_need_no_pyplot_and_their_module_no_matplotlib(run_python, tmp_path):
    code = """
import sys
from shopca_rs.experiments import figures
assert not [name for name in sys.modules if name.startswith("matplotlib")]
figures.against_print([figures.Point(1, "PCA", "ARI", 0.5, 0.5, True)], sys.argv[1])
print("matplotlib.pyplot" in sys.modules)
"""
    assert run_python(code, tmp_path / "picture.png") == "False\n"


def test_scores_are_drawn_with_the_printed_one_across_and_ours_upwards(draw):
    points = [Point(2, "Isomap", "FM", 0.25, 0.75, True), Point(2, "SHOPCA", "V", 0.5, 0.4, True)]
    ari, fm, v = panels(draw(figures.against_print, points))
    np.testing.assert_array_equal(marked(fm), [[0.25, 0.75]])
    np.testing.assert_array_equal(marked(v), [[0.5, 0.4]])
    assert len(marked(ari)) == 0


def test_only_the_tables_that_there_are_get_a_row_in_their_order(draw):
    figure = draw(figures.against_print, printed_scores([3, 1], 1))
    titles = [ax.get_title(loc="left") for ax in panels(figure)]
    assert [title[:7] for title in titles] == ["Table 1"] * 3 + ["Table 3"] * 3


def test_scores_count_as_equal_if_they_round_to_what_is_printed_apart_for_other_data(draw):
    ours = [(0.12344, True), (0.12336, True), (0.12334, True), (0.2, True), (0.1234, False), (0.5, False)]
    figure = draw(
        figures.against_print, [Point(1, "PCA", "ARI", 0.1234, value, same) for value, same in ours]
    )
    assert "2 of 4 equal to the 4th decimal\n1 of 2 on other data" in texts(panels(figure)[0])
    assert "hollow: other data than the paper's" in texts(figure)


def test_markers_are_hollow_where_the_data_are_not_the_paper_s_and_only_then(draw):
    points = [Point(1, "PCA", "ARI", 0.3, 0.4, True), Point(1, "PCA", "FM", 0.3, 0.4, False)]
    figure = draw(figures.against_print, points)
    for ax, same in zip(panels(figure), (True, False), strict=False):
        (scatter,) = [points for points in ax.collections if len(points.get_offsets())]
        assert len(scatter.get_facecolors()) == same
        assert len(scatter.get_edgecolors()) == 1
    assert "hollow: other data than the paper's" in texts(figure)
    assert "hollow: other data than the paper's" not in texts(draw(figures.against_print, points[:1]))


def test_each_method_has_its_own_marker_and_colour_in_one_legend(drawn):
    (legend,) = drawn["against_print"].legends
    handles = legend.legend_handles[:4]
    assert [text.get_text() for text in legend.get_texts()][:4] == ["PCA", "Isomap", "UMAP", "SHOPCA"]
    assert len({handle.get_color() for handle in handles}) == 4
    assert len({handle.get_marker() for handle in handles}) == 4


def test_lambdas_are_drawn_as_ratios_and_only_those_out_of_the_band_are_named(draw):
    points = [
        ("near", "ours", 10.0, 10.29),
        ("above", "ours", 20.0, 40.0),
        ("below", "ours", 300.0, 150.0),
        ("other", "theirs", 5.0, 5.0),
    ]
    first, second = panels(draw(figures.lambdas_against_print, points))
    np.testing.assert_allclose(sorted(marked(first).tolist()), [[10, 1.029], [20, 2], [300, 0.5]])
    assert {text.get_text() for text in first.texts} == {"above", "below"}
    assert "1 of 3 within 3%" in texts(first)
    assert not second.texts
    assert "1 of 1 within 3%" in texts(second)


def test_names_lie_over_no_point_no_other_name_and_within_the_panel_and_the_others_are_counted(drawn):
    points = printed_lambdas()
    for ax, bases in zip(panels(drawn["lambdas"]), BASES, strict=True):
        names = [text for text in ax.texts if isinstance(text, Annotation)]
        boxes = [Text.get_window_extent(text) for text in names]
        places = ax.transData.transform(marked(ax))
        assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))
        assert not any(box.contains(x, y) for box in boxes for x, y in places)
        panel = ax.get_window_extent()
        assert all(panel.x0 <= box.x0 and box.x1 <= panel.x1 for box in boxes)
        outside = sum(abs(ours / printed - 1) > 0.03 for _, title, printed, ours in points if title == bases)
        more = f"and {outside - len(names)} more names"
        assert (more in texts(ax)) == (outside > len(names))
        assert len(names) >= 0.6 * outside > 0


def test_more_names_than_there_is_room_for_are_counted(draw):
    points = [(f"data set {number}", "ours", 10 + number / 100, 30.0) for number in range(30)]
    (ax,) = panels(draw(figures.lambdas_against_print, points))
    named = sum(isinstance(text, Annotation) for text in ax.texts)
    assert 0 < named < 30
    assert f"and {30 - named} more names" in texts(ax)


def test_lambdas_that_all_agree_are_drawn_with_the_band_around_them(draw):
    (ax,) = panels(draw(figures.lambdas_against_print, [("iris", "ours", 55.19, 55.19)]))
    low, high = ax.get_ylim()
    assert low < 0.97 < 1.03 < high


def test_the_ranking_shows_means_intervals_every_data_set_and_the_mean_ranks(draw):
    table = score_table()["Ward ARI"]
    (ax,) = panels(draw(figures.ranking, {"Ward ARI": table}))
    assert [label.get_text() for label in ax.get_yticklabels()] == list(METHODS)
    ranks = average_ranks(table)
    for method, place in zip(METHODS[1:], ax.get_yticks()[1:], strict=True):
        differences = table[method] - table["PCA"]
        at_place = [line for line in ax.lines if np.all(line.get_ydata() == place)]
        drawn = [list(np.atleast_1d(line.get_xdata())) for line in at_place]
        assert drawn == [list(bootstrap_interval(differences)), [differences.mean()]]
        (rank,) = [text.get_text() for text in ax.texts if text.get_position()[1] == place]
        assert rank == f"{ranks[method]:.2f}"
    expected = np.concatenate([table[method] - table["PCA"] for method in METHODS[1:]])
    np.testing.assert_array_equal(marked(ax)[:, 0], expected)
    # The points of a data set keep to the row of their method.
    assert np.abs(marked(ax)[:, 1] - np.repeat(ax.get_yticks()[1:], 50)).max() < 0.3


def test_the_ranking_has_the_methods_in_the_same_order_in_all_panels_and_says_how_many_data_sets(draw):
    scores = {measure: score_table()[measure] for measure in MEASURES[:2]}
    scores["k-means ARI"] = dict(reversed(scores["k-means ARI"].items()))
    for ax, measure in zip(panels(draw(figures.ranking, scores)), scores, strict=True):
        assert ax.get_title(loc="left") == f"{measure}, 50 data sets"
        differences = scores[measure]["UMAP"] - scores[measure]["PCA"]
        np.testing.assert_array_equal(ax.collections[-1].get_offsets()[:, 0], differences)


def test_the_ranking_can_be_against_another_method_and_has_no_panel_too_many(draw):
    scores = {measure: score_table(3)[measure] for measure in MEASURES[:3]}
    figure = draw(lambda path: figures.ranking(scores, path, base="UMAP"))
    assert len(panels(figure)) == 3
    differences = scores["Ward ARI"]["PCA"] - scores["Ward ARI"]["UMAP"]
    np.testing.assert_array_equal(panels(figure)[0].collections[0].get_offsets()[:, 0], differences)


@pytest.mark.parametrize("count", [2, 8, 9, 40])
def test_every_class_has_its_own_colour_in_all_embeddings_of_a_data_set(count, draw):
    figure = draw(figures.embeddings, embedded([count]))
    drawn = []
    for ax, (Z, y) in zip(panels(figure), next(iter(embedded([count]).values())).values(), strict=True):
        (points,) = ax.collections
        colour_at = {
            tuple(place): tuple(colour)
            for place, colour in zip(points.get_offsets().tolist(), points.get_facecolors(), strict=True)
        }
        colours = [colour_at[tuple(row)] for row in Z.tolist()]
        drawn.append({(label, colour) for label, colour in zip(y.tolist(), colours, strict=True)})
    assert all(pairs == drawn[0] for pairs in drawn)
    assert len(drawn[0]) == count == len({colour for _, colour in drawn[0]})


def test_a_method_without_an_embedding_leaves_its_panel_empty_and_the_others_in_their_columns(draw):
    shown = embedded([2, 3])
    first, second = shown
    del shown[second]["Isomap"]
    figure = draw(figures.embeddings, shown)
    rows = np.array(figure.axes).reshape(2, len(METHODS))
    assert [len(ax.collections) for ax in rows[1]] == [1, 1, 1, 0, 1]
    assert [ax.get_title().replace("\n", " ") for ax in rows[0]] == list(METHODS)
    assert [row[0].get_ylabel() for row in rows] == [first, second]
    assert not any(ax.get_xticks().size or ax.get_yticks().size for ax in rows.flat)


def test_classes_may_be_text_and_names_hold_dollars(draw):
    Z = np.random.default_rng(0).normal(size=(6, 2))
    figure = draw(figures.embeddings, {r"$\frac{$": {"PCA": (Z, list("aabbcc"))}})
    (points,) = panels(figure)[0].collections
    assert len({tuple(colour) for colour in points.get_facecolors()}) == 3
    figure = draw(figures.lambdas_against_print, [(r"$\frac{$", "ours", 1.0, 2.0)])
    assert r"$\frac{$" in texts(figure)


def test_the_colours_of_the_methods_are_told_apart_without_red_and_green(drawn):
    # What is left of a colour for an eye without red or without green receptors is close to blue, and the
    # mean of the other two weighted by how bright they appear.
    handles = drawn["against_print"].legends[0].legend_handles[:4]
    seen = np.array([to_rgba(handle.get_color())[:3] for handle in handles]) @ [[0.3, 0], [0.6, 0], [0, 1]]
    assert min(np.abs(one - other).max() for one, other in combinations(seen, 2)) > 0.05
