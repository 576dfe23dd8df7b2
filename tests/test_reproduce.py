"""`shopca reproduce`: the command, its report and how it compares with print."""

from __future__ import annotations

import csv
import os
from importlib.util import find_spec
from pathlib import Path

import pytest
from shopca_rs.cli import main
from shopca_rs.experiments.comparison import lines
from shopca_rs.experiments.fair_comparison import MEASURES, against_pca, fair_table
from shopca_rs.experiments.printed import Printed, read_printed
from shopca_rs.experiments.results import Result, Results, Run
from shopca_rs.experiments.runner import survey

PAPER = Path(os.environ.get("SHOPCA_PAPER", Path(__file__).parents[2] / "shared" / "paper"))
ARGUMENTS = ("table1", "--datasets", "iris", "wine", "--offline", "--seeds", 1)
RUNS = 72
HEADER = "table,dataset,method,ari,fm,v_measure,lambda\n"
# Rows of the paper's Tables 1 and 2; the last one is not printed anywhere.
IRIS = HEADER + (
    "1,iris,PCA,0.6254,0.7542,0.6722,\n"
    "1,iris,SHOPCA,0.7312,0.8222,0.7701,55.19\n"
    "1,wine,PCA,0.6583,0.7734,0.6986,\n"
    "1,wine,SHOPCA,0.6764,0.7926,0.7252,12.46\n"
    "2,iris,ISOMAP,0.7074,0.8084,0.7772,\n"
    "2,iris,SHOPCA,0.1,0.2,0.3,99.00\n"
)


def reproduce(*arguments):
    """Run the command as on a machine that names no folders."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("SHOPCA_DATA", raising=False)
        patch.delenv("SHOPCA_PAPER", raising=False)
        return main(["reproduce", *map(str, arguments)])


@pytest.fixture(scope="module")
def paper(tmp_path_factory):
    folder = tmp_path_factory.mktemp("paper")
    (folder / "published_tables.csv").write_text(IRIS)
    return folder


@pytest.fixture(scope="module")
def done(tmp_path_factory, paper):
    """One experiment on the data sets that need no files: its output folder."""
    output = tmp_path_factory.mktemp("output")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.argv", ["shopca", "reproduce", "table1", "--datasets", "iris", "wine"])
        code = reproduce(*ARGUMENTS, "--paper", paper, "-o", output, "--jobs", 2)
    assert code == 0
    return output


def test_the_report_opens_with_the_command_that_made_it(done):
    head = (done / "report.md").read_text().split("## ")[1]
    assert "    shopca reproduce table1 --datasets iris wine\n" in head


def test_every_protocol_has_its_section_and_every_picture_is_there(done):
    text = (done / "report.md").read_text()
    for title in (
        "In short",
        "Side by side",
        "The published protocol",
        "The written protocol",
        "The fair protocol",
    ):
        assert f"\n## {title}\n" in text
    for name in ("lambda", "published", "ranking", "differences", "embeddings"):
        assert f"(report/{name}.png)" in text
        assert (done / "report" / f"{name}.png").read_bytes().startswith(b"\x89PNG")


def test_the_published_numbers_of_iris_are_marked_as_equal(done):
    text = (done / "report.md").read_text()
    assert "| iris | 55.19 | **55.19** | **55.19** | **55.19** |  |" in text
    row = next(line for line in text.splitlines() if line.startswith("| iris | SHOPCA | 0.7312"))
    assert row.count("**0.7312 / 0.8222 / 0.7701**") == 3


def test_a_number_that_differs_from_print_is_not_marked_and_has_a_reason(done):
    text = (done / "report.md").read_text()
    row = next(line for line in text.splitlines() if line.startswith("| wine | SHOPCA | 0.6764"))
    assert "**0.5231" not in row  # the average over bases, a function of the data
    assert row.rstrip(" |").endswith("b")


def test_the_csv_has_a_row_for_every_run(done):
    with (done / "report" / "results.csv").open() as file:
        rows = list(csv.DictReader(file))
    keys = ("protocol", "data_set", "method", "components", "seed")
    runs = {tuple(row[key] for key in keys) for row in rows}
    # Under the fair rules seven linear methods: iris in two dimensions, wine in 2, 5 and 10. With outliers
    # five methods, three times.
    assert len(rows) == len(runs) == RUNS == 2 * (4 + 3) + 7 * (1 + 3) + 2 * 5 * 3
    published = {
        row["data_set"]: row for row in rows if row["protocol"] == "published" and row["method"] == "pca"
    }
    assert float(published["iris"]["complete_ari"]) == pytest.approx(0.6254, abs=5e-5)
    fair = next(row for row in rows if row["protocol"] == "fair")
    assert fair["ward_nmi"] == fair["ward_v_measure"]
    averaged = ("ward_ari", "ward_v_measure", "kmeans_ari", "knn_accuracy")
    assert float(fair["avg4"]) == pytest.approx(sum(float(fair[name]) for name in averaged) / 4, abs=1e-5)


def test_the_same_command_again_computes_nothing_and_writes_the_same_report(done, paper, capsys, monkeypatch):
    before = (done / "report.md").read_text()
    stamps = {path: path.stat().st_mtime_ns for path in (done / "results").rglob("*.json")}
    monkeypatch.setattr("sys.argv", ["shopca", "reproduce", "table1", "--datasets", "iris", "wine"])
    assert reproduce(*ARGUMENTS, "--paper", paper, "-o", done) == 0
    assert f"{RUNS} of {RUNS} runs were already done" in capsys.readouterr().err
    assert (done / "report.md").read_text() == before
    assert {path: path.stat().st_mtime_ns for path in (done / "results").rglob("*.json")} == stamps


def test_a_data_set_that_cannot_be_had_is_listed_as_missing(tmp_path, capsys):
    code = reproduce(
        "table1",
        "--protocol",
        "published",
        "--datasets",
        "iris",
        "har",
        "--offline",
        "-o",
        tmp_path,
        "--jobs",
        1,
    )
    assert code == 0
    assert "har is missing" in capsys.readouterr().err
    text = (tmp_path / "report.md").read_text()
    assert "1 of 2 data sets were available" in text
    assert "| har | 10299 × 561, 6 | **missing** |" in text
    assert "nothing to compare with" in text


def test_umap_runs_with_its_seeds_and_shows_their_spread(tmp_path, paper):
    if find_spec("umap") is None:
        pytest.skip("umap-learn is not installed")
    (paper / "published_tables.csv").write_text(IRIS + "3,iris,UMAP,0.6312,0.7606,0.7039,\n")
    code = reproduce(
        *("table3", "--protocol", "published", "--datasets", "iris", "--seeds", 2, "--offline"),
        *("--paper", paper, "-o", tmp_path, "--jobs", 1, "--quiet"),
    )
    (paper / "published_tables.csv").write_text(IRIS)
    assert code == 0
    text = (tmp_path / "report.md").read_text()
    assert "UMAP runs with 2 seeds" in text
    row = next(line for line in text.splitlines() if line.startswith("| iris | UMAP | 0.6312"))
    assert "(ARI " in row
    assert row.rstrip(" |").endswith("s")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--datasets", "irs"], "Did you mean iris"),
        (["table3", "--datasets", "wine"], "must be in the requested table"),
        (["--data", "no/such/folder"], "--data must be a folder"),
        (["--paper", "no/such/folder"], "published_tables.csv cannot be read"),
        (
            ["--report", "no/such/folder/report.md", "--datasets", "iris"],
            "--report must be in an existing folder",
        ),
        (["--jobs", "0"], "must be a whole number from 1"),
        (["--seeds", "many"], "must be a whole number from 1"),
        (["--memory", "-1"], "must be a number of GiB above 0"),
        (["table4"], "invalid choice"),
        (["--protocol", "unfair"], "invalid choice"),
    ],
)
def test_what_cannot_be_run_is_one_line_and_exit_code_2(arguments, sentence, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert reproduce(*arguments) == 2
    error = capsys.readouterr().err
    assert sentence in error
    assert error.count("\n") == 1


def test_printed_tables_that_are_none_are_refused(tmp_path):
    (tmp_path / "published_tables.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match="must have the columns"):
        read_printed(tmp_path)
    (tmp_path / "published_tables.csv").write_text(HEADER + "1,iris,PCA,high,0.7,0.6,\n")
    with pytest.raises(ValueError, match="with numbers"):
        read_printed(tmp_path)


def test_without_a_folder_nothing_is_printed():
    assert read_printed(None) == []


def test_the_printed_tables_have_all_their_rows():
    if not PAPER.is_dir():
        pytest.skip(f"{PAPER} is not there; set SHOPCA_PAPER to the folder with published_tables.csv")
    rows = read_printed(PAPER)
    assert [sum(row.table == table for row in rows) for table in (1, 2, 3)] == [60, 50, 56]
    assert all((row.weight is not None) == (row.method == "shopca") for row in rows)


def result(method, seed=0, details=None, **scores):
    return Result(Run("published", "iris", method, seed), "key", scores, details or {})


@pytest.fixture(scope="module")
def found():
    return list(survey(["iris"], None, openml=False))


def indices(ari, fm, v):
    return {"complete_ari": ari, "complete_fm": fm, "complete_v_measure": v, "complete_nmi": v}


def test_equal_means_equal_to_the_last_printed_digit(found):
    row = Printed(1, "iris", "pca", (0.6254, 0.7542, 0.6722))
    near = lines("published", [result("pca", **indices(0.62536, 0.75418, 0.67224))], found, [row])[0]
    far = lines("published", [result("pca", **indices(0.62534, 0.75418, 0.67224))], found, [row])[0]
    assert near.equal("pca")
    assert not far.equal("pca")
    assert not near.equal("isomap")


def test_the_difference_of_lambda_leaves_out_what_rounding_in_print_explains(found):
    row = Printed(1, "iris", "shopca", (0.1, 0.2, 0.3), 10.0)
    made = [result("shopca-numpy", details={"lambda": 10.004}, **indices(0.1, 0.2, 0.3))]
    line = lines("published", made, found, [row])[0]
    assert line.difference("shopca-numpy") == 0
    made = [result("shopca-numpy", details={"lambda": 9.695}, **indices(0.1, 0.2, 0.3))]
    line = lines("published", made, found, [row])[0]
    assert line.difference("shopca-numpy") == pytest.approx(-0.03)
    assert line.difference("shopca-average") is None


def test_seeds_are_averaged_and_their_range_is_kept(found):
    row = Printed(3, "iris", "umap", (0.6, 0.7, 0.8))
    made = [result("umap", seed, **indices(ari, 0.7, 0.8)) for seed, ari in enumerate((0.5, 0.7))]
    line = lines("published", made, found, [row])[0]
    assert line.ours["umap"][0] == pytest.approx(0.6)
    assert line.spread["umap"] == (0.5, 0.7)
    assert line.causes == "s"


def test_the_fair_table_has_only_data_sets_on_which_no_method_failed(done):
    entries = list(survey(["iris", "wine"], None, openml=False))
    finished = list(Results(done / "results"))
    whole = fair_table(finished, entries)
    assert whole.data_sets == ["iris", "wine"]
    lacking = [one for one in finished if one.run != Run("fair", "wine", "shopca")]
    assert fair_table(lacking, entries).data_sets == ["iris"]
    tests = against_pca(whole, MEASURES["fair"])
    assert len(tests) == 7 * (len(whole.methods) - 1)
    assert all(test.adjusted >= test.comparison.p for test in tests)
    assert whole.subset(["wine"]).values["ward_ari"]["pca"] == whole.values["ward_ari"]["pca"][1:]


def test_only_data_sets_with_more_features_than_that_are_compared_in_five_dimensions(done):
    entries = list(survey(["iris", "wine"], None, openml=False))
    assert fair_table(list(Results(done / "results")), entries, 5).data_sets == ["wine"]
