"""The fair comparison: its data, its methods, its scores and its tests against PCA."""

from __future__ import annotations

import csv

import numpy as np
import pytest
import reference
from scipy.stats import wilcoxon
from shopca_rs import LPP, SHOPCA, k_neighbors
from shopca_rs.cli import main
from shopca_rs.experiments import difference_figure, methods, runner, scores
from shopca_rs.experiments.catalogue import CATALOGUE
from shopca_rs.experiments.fair_comparison import PRIMARY_METHODS, FairTable, against_pca
from shopca_rs.experiments.fair_section import Compared
from shopca_rs.experiments.preparation import inflated, reduced, sampled_rows
from shopca_rs.experiments.protocols import PROTOCOLS, as_published, as_written
from shopca_rs.experiments.report import CONCLUSIONS
from shopca_rs.experiments.results import Results, Run
from shopca_rs.experiments.runner import Available, perform, plan, survey
from shopca_rs.experiments.sources import listed
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.manifold import trustworthiness
from sklearn.preprocessing import StandardScaler


def save_folder(folder, **data_sets):
    """Write data sets and the manifest that lists them."""
    folder.mkdir(exist_ok=True)
    with (folder / "manifest.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["name", "n", "d", "classes", "package", "note"])
        for name, (X, y) in data_sets.items():
            np.savez(folder / f"{name}.npz", X=X, y=y)
            writer.writerow([name, *X.shape, len(set(y)), "scikit-learn", "a note"])
    return folder


@pytest.fixture(scope="module")
def fresh(tmp_path_factory):
    X, y = load_wine(return_X_y=True)
    return save_folder(tmp_path_factory.mktemp("fresh"), wines=(X[:, :6], y), others=(X[::2, 6:], y[::2]))


def names_of(values, methods=("pca", "shopca", "lpp")):
    """A table of one measure with a row of values for each method."""
    count = len(values[0])
    by_method = dict(zip(methods, values, strict=True))
    return FairTable([f"set {place}" for place in range(count)], list(methods), {"avg4": by_method}, {}, {})


def test_a_folder_of_other_data_sets_is_listed_by_its_manifest(fresh):
    assert [(entry.name, entry.n, entry.d, entry.classes) for entry in listed(fresh)] == [
        ("wines", 178, 6, 3),
        ("others", 89, 7, 3),
    ]
    (found,) = survey(["wines"], None, openml=False, fresh=fresh)
    assert (found.shape, found.data_set.in_paper) == ((178, 6, 3), False)
    assert "from scikit-learn" in found.source
    assert found.notes == ("a note",)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("", "must hold a manifest.csv that lists"),
        ("name,n,d\na,5,2\n", "must have the columns name, n, d and classes"),
        ("name,n,d,classes\na,five,2,2\n", "the row of a does not"),
        ("name,n,d,classes\niris,150,4,3\n", "iris .* is the name of one of the paper's"),
    ],
)
def test_a_manifest_that_does_not_list_other_data_sets_is_refused(content, sentence, tmp_path):
    (tmp_path / "manifest.csv").write_text(content)
    with pytest.raises(ValueError, match=sentence):
        listed(tmp_path)


def test_rows_are_sampled_only_where_there_are_too_many_and_always_the_same():
    np.testing.assert_array_equal(sampled_rows(7, 10), np.arange(7))
    rows = sampled_rows(5000, 2000)
    assert len(np.unique(rows)) == 2000
    assert (np.diff(rows) > 0).all()
    np.testing.assert_array_equal(rows, sampled_rows(5000, 2000))


@pytest.mark.parametrize(("n", "moved"), [(10, 1), (61, 1), (150, 3), (400, 8)])
def test_two_percent_of_the_rows_are_moved_five_times_as_far_out(n, moved):
    X = np.random.default_rng(1).normal(size=(n, 3))
    found, untouched = inflated(X, seed=4)
    assert (~untouched).sum() == moved
    np.testing.assert_array_equal(found[untouched], X[untouched])
    np.testing.assert_array_equal(found[~untouched], 5 * X[~untouched])
    assert not np.array_equal(found, inflated(X, seed=5)[0])


def test_columns_that_tell_the_class_are_left_out_of_our_own_comparisons_alone(tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(10, size=200)
    X = np.column_stack([rng.normal(size=(200, 25)), np.eye(10)[y]])
    np.savez(tmp_path / "cardiotocography.npz", X=X, y=y)
    expected = {
        "fair": StandardScaler().fit_transform(X[:, :25]),
        "outliers": StandardScaler().fit_transform(X[:, :25]),
        "published": as_published(X),
        "written": as_written(X),
    }
    for protocol, prepared in expected.items():
        found, _ = runner._prepared(protocol, "cardiotocography", tmp_path, False, None)
        np.testing.assert_allclose(found, prepared, atol=1e-12)


def test_cardiotocography_and_diggle_have_their_remarks_in_the_survey():
    remarks = {entry.name: entry.remark for entry in CATALOGUE if entry.remark}
    assert set(remarks) == {"cardiotocography", "diggle_table_a2"}
    assert "indicators" in remarks["cardiotocography"]


@pytest.mark.parametrize("load", [load_iris, load_wine])
def test_with_itself_in_the_neighbourhood_shopca_has_the_operator_of_algorithm_1_on_k_plus_1_points(load):
    X = StandardScaler().fit_transform(load().data)[:, :4]
    n, k = len(X), 7
    neighbors = np.column_stack([np.arange(n), k_neighbors(X, k)[0]])
    S = reference.algorithm_1(X, k + 1, neighbors)
    Sigma = np.cov(X, rowvar=False)
    values, vectors = np.linalg.eig(Sigma + np.trace(Sigma) / abs(np.trace(S)) * S)
    order = np.argsort(-values.real)[:2]
    found = PROTOCOLS["fair"].method("shopca-self-alpha-1").embed(X, 0, 2)
    assert found.details["k"] == k
    assert reference.relative_error(np.abs(found.Z), np.abs(X @ vectors[:, order].real)) < 1e-10


def test_the_methods_of_the_fair_protocol_are_the_estimators_with_their_parameters():
    X = StandardScaler().fit_transform(load_digits().data[:300])
    expected = {
        "shopca": SHOPCA(5),
        "shopca-alpha-1": SHOPCA(5, alpha=1.0),
        "lpp": LPP(5),
        "lpp-plain": LPP(5, ridge=methods.PLAIN_RIDGE, resolution=False),
    }
    for name, model in expected.items():
        found = PROTOCOLS["fair"].method(name).embed(X, 0, 5)
        np.testing.assert_array_equal(found.Z, model.fit(X).transform(X))


def test_isomap_sees_25_principal_components_where_there_are_more_features():
    X = np.random.default_rng(0).normal(size=(200, 30))
    assert reduced(X).shape == (200, 25)
    np.random.seed(0)  # noqa: NPY002 - Isomap's solver starts from the global generator
    found = PROTOCOLS["fair"].method("isomap").embed(X, 0, 2)
    np.random.seed(0)  # noqa: NPY002
    np.testing.assert_array_equal(found.Z, methods.isomap(reduced(X), 0).Z)


def test_linear_maps_have_dimensions_below_the_features_and_small_sets_take_part_with_outliers(fresh):
    found = list(survey(["wine", "digits", "wines"], None, openml=False, fresh=fresh))
    runs = plan(["published", "fair", "outliers"], [1, 2], found, seeds=2)
    assert all(run.protocol != "published" for run in runs if run.data_set == "wines")
    fair = [run for run in runs if run.protocol == "fair"]
    dimensions = {
        name: sorted(run.components for run in fair if (run.data_set, run.method) == (name, "lpp"))
        for name in ("wines", "wine")
    }
    assert dimensions == {"wines": [2, 5], "wine": [2, 5, 10]}
    assert {run.components for run in fair if run.method == "isomap"} == {2}
    outliers = [run for run in runs if run.protocol == "outliers"]
    assert {run.data_set for run in outliers} == {"wine", "wines"}
    assert {run.seed for run in outliers} == {0, 1, 2}
    # If the time runs out, the data sets nobody tuned on are done.
    assert runs[0].data_set == "wines"


def test_the_average_is_that_of_its_four_scores_and_the_neighbourhoods_are_scikit_learn_s():
    X, y = load_iris(return_X_y=True)
    Z = X[:, :2]
    found = scores.class_scores(Z, y, ("ward", "kmeans"))
    four = [found[name] for name in ("ward_ari", "ward_v_measure", "kmeans_ari", "knn_accuracy")]
    assert found["avg4"] == pytest.approx(np.mean(four))
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 4))  # without ties, which scikit-learn breaks otherwise
    found = scores.neighborhood_scores(X, X[:, :2])
    assert found["trustworthiness"] == pytest.approx(trustworthiness(X, X[:, :2]))
    assert found["continuity"] == pytest.approx(trustworthiness(X[:, :2], X))


def test_a_method_is_tested_by_wilcoxon_s_test_and_corrected_for_the_tests_made_with_it():
    rng = np.random.default_rng(3)
    values = rng.normal(size=(3, 20))
    tests = against_pca(names_of(values), ["avg4"])
    assert [test.method for test in tests] == ["shopca", "lpp"]
    p = [wilcoxon(row - values[0]).pvalue for row in values[1:]]
    assert [test.comparison.p for test in tests] == pytest.approx(p)
    # Holm: the smaller of two counts twice, and none is smaller than one before it.
    small, large = sorted(p)
    expected = {small: 2 * small, large: max(2 * small, large)}
    assert [test.adjusted for test in tests] == pytest.approx([min(expected[one], 1) for one in p])
    alone = against_pca(names_of(values), ["avg4"], ["lpp"])
    assert alone[0].adjusted == alone[0].comparison.p == pytest.approx(p[1])


def test_the_interval_is_that_of_means_of_data_sets_drawn_in_pairs():
    rng = np.random.default_rng(4)
    base = rng.normal(size=200)
    shift = rng.normal(0.1, 0.05, size=200)
    (test,) = against_pca(names_of([base, base + shift], ("pca", "shopca")), ["avg4"])
    error = shift.std() / np.sqrt(200)
    # Far narrower than it would be if the two methods were drawn apart.
    assert test.interval == pytest.approx(
        (shift.mean() - 1.96 * error, shift.mean() + 1.96 * error), abs=error / 5
    )


def test_only_data_sets_that_are_not_the_paper_s_enter_the_primary_tests():
    values = np.random.default_rng(5).normal(size=(5, 9))
    flat = names_of(values, ("pca", *PRIMARY_METHODS))
    compared = Compared({2: flat}, flat, ["set 1", "set 4", "set 7", "set 8"], {})
    primary = compared.primary()
    assert [test.method for test in primary] == list(PRIMARY_METHODS)
    for test, row in zip(primary, values[1:], strict=True):
        assert test.comparison.mean == pytest.approx((row - values[0])[[1, 4, 7, 8]].mean())
    assert not Compared({2: flat}, flat, [], {}).primary()


def test_the_same_run_gives_the_same_numbers_again(tmp_path, fresh):
    for run in (Run("fair", "wines", "lpp", 0, 5), Run("outliers", "wines", "shopca-self", 1)):
        first, second = (perform(run, "k", tmp_path / part, None, False, fresh) for part in "ab")
        assert first.failure == ""
        assert first.scores == second.scores
    assert "avg4_of_all_rows" in first.scores


def test_a_comparison_on_other_data_is_resumed_and_keeps_conclusions_written_by_hand(tmp_path, fresh, capsys):
    begin, end = CONCLUSIONS
    report = tmp_path / "report.md"
    report.write_text(f"# Old\n\n{begin}\nNothing beats PCA.\n{end}\n\nold tables\n")
    command = [
        *("reproduce", "table1", "--protocol", "fair", "outliers", "--datasets", "iris", "wines", "others"),
        *("--fresh", str(fresh), "--offline", "--seeds", "1", "--jobs", "1", "-o", str(tmp_path)),
    ]
    assert main(command) == 0
    text = report.read_text()
    assert text.startswith(
        f"# The paper's experiments, rerun\n\n{begin}\nNothing beats PCA.\n{end}\n\n## How"
    )
    assert "old tables" not in text
    assert "### The primary tests: 2 data sets that are not the paper's" in text
    assert "### Two dimensions, 1 data sets that are the paper's" in text
    assert "| 2 sets, not the paper's | clean | outliers |" in text
    done = {path: path.stat().st_mtime_ns for path in (tmp_path / "results").rglob("*.json")}
    lost = next(path for path in done if path.name == "lpp-5d.0.json")
    lost.unlink()
    capsys.readouterr()
    assert main(command) == 0
    assert f"{len(done) - 1} of {len(done)} runs were already done" in capsys.readouterr().err
    changed = {path for path, stamp in done.items() if path.stat().st_mtime_ns != stamp}
    assert changed == {lost}
    assert report.read_text() == text
    assert len(list(Results(tmp_path / "results"))) == len(done)


def test_the_picture_of_differences_is_drawn_with_the_largest_named(tmp_path, monkeypatch):
    named = []
    place = difference_figure.placed_name
    monkeypatch.setattr(
        difference_figure,
        "placed_name",
        lambda ax, name, *rest: (named.append(name), place(ax, name, *rest))[1],
    )
    values = {"LPP": [0.5, -0.01, 0.02, -0.4, 0.001, 0.3, 0.2], "SHOPCA": [0.0] * 7}
    content = difference_figure.Differences(list("abcdefg"), [70, 60, 50, 40, 30, 20, 10], [True] * 7, values)
    difference_figure.draw(content, tmp_path / "differences.png")
    assert (tmp_path / "differences.png").read_bytes().startswith(b"\x89PNG")
    assert named[:4] == ["a", "d", "f", "g"]


def test_a_missing_data_set_of_the_other_folder_is_not_asked_of_openml(tmp_path):
    folder = save_folder(tmp_path / "fresh", gone=(np.ones((5, 2)), np.arange(5) % 2))
    (folder / "gone.npz").unlink()
    (found,) = survey(["gone"], None, openml=True, fresh=folder)
    assert isinstance(found, Available)
    assert found.missing == "gone.npz is not in the given folder, and downloads from OpenML are off."
