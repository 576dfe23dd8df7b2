"""shopca curvature: what it writes and what it says."""

from __future__ import annotations

import csv
import io
import json
import re

import nasty
import numpy as np
import pandas as pd
import pyarrow.parquet
import pytest
import shapes
from command_line import (  # noqa: F401
    EVERY_FORMAT,
    KINDS,
    PAPER,
    SCALED,
    X,
    call,
    cloud,
    data,
    done,
    read_back,
    refused,
    shopca,
)
from shopca_rs import curvatures, operator_curvatures
from sklearn.preprocessing import StandardScaler

SURFACE = [
    "mean",
    "scalar",
    "gaussian",
    "principal_1",
    "principal_2",
    "squared_norm",
    "standard_error",
    "valid",
]


def same_as(frame, bent):
    """The columns of a table are the curvatures of the library."""
    for name in ("mean", "scalar", "gaussian", "squared_norm", "standard_error", "valid"):
        assert np.array_equal(frame[name], getattr(bent, name), equal_nan=name != "valid")
    return True


@pytest.mark.parametrize("suffix", EVERY_FORMAT)
def test_curvatures_are_those_of_the_points_as_they_are(suffix, cloud, done, tmp_path):
    path, points = cloud
    output = tmp_path / f"c{suffix}"
    err = done("curvature", path, "-o", output, "--label", "side")
    bent = curvatures(points)
    if suffix == ".npy":
        frame = pd.DataFrame(np.load(output), columns=SURFACE)
    else:
        frame = read_back(output)
        assert list(frame.columns)[: len(SURFACE)] == SURFACE
    assert same_as(frame, bent)
    assert np.array_equal(frame[["principal_1", "principal_2"]], bent.principal)
    assert f"600 rows × 3 columns (as they are), m = 2 (estimated), k = {bent.n_neighbors}, " in err
    assert f"{bent.stages} stages, order {bent.order}, noise {np.median(bent.noise):.3g} (" in err
    assert f"0 points flagged: mean curvature from {bent.mean.min():.4g} to {bent.mean.max():.4g}, " in err


@pytest.mark.parametrize(
    ("options", "choices"),
    [
        (["--neighbors", 40], {"n_neighbors": 40}),
        (["--neighbors", "auto", "--stages", "auto", "--order", "auto", "--intrinsic-dim", "auto"], {}),
        (["--intrinsic-dim", 2, "--order", 2], {"intrinsic_dim": 2, "order": 2}),
        (["--stages", 2], {"stages": 2}),
        (["--orient"], {"orient": True}),
        (["--no-standardize"], {}),
    ],
    ids=str,
)
def test_every_option_of_curvature_is_a_parameter_of_the_library(options, choices, cloud, done, tmp_path):
    path, points = cloud
    done("curvature", path, "-o", tmp_path / "c.csv", "--drop", "side", *options)
    assert same_as(read_back(tmp_path / "c.csv"), curvatures(points, **choices))


def test_curvature_is_standardised_only_if_asked_for(cloud, done, tmp_path):
    path, points = cloud
    err = done("curvature", path, "-o", tmp_path / "c.csv", "--drop", "side", "--standardize")
    assert "(standardised), m = 2" in err
    assert same_as(read_back(tmp_path / "c.csv"), curvatures(StandardScaler().fit_transform(points)))


@pytest.mark.parametrize(
    "command",
    [
        ["curvature", "--intrinsic-dim", 2],
        ["curvature", "--operator", "paper", "--no-standardize"],
        ["embed", "--no-standardize"],
        ["embed", "--no-standardize", "--method", "lpp"],
        ["embed", "--no-standardize", "--color", "curvature", "--plot", "z.png"],
    ],
    ids=str,
)
def test_columns_of_unlike_sizes_are_mentioned_once_unless_they_are_standardised(
    command, cloud, done, tmp_path, monkeypatch
):
    _, points = cloud
    monkeypatch.chdir(tmp_path)
    call = (command[0], "x.npy", "-o", "c.csv", *command[1:])
    np.save("x.npy", points * [1, 1000, 1])
    err = done(*call)
    assert err.count("ranges of the columns differ") == 1
    assert "from column2 to column1: the largest columns dominate the distances between rows. Give " in err
    assert "ranges of the columns differ" not in done(*call, "--standardize")
    np.save("x.npy", points * [1, 100, 1])
    assert "ranges of the columns differ" not in done(*call)


def test_columns_whose_sizes_do_not_fit_in_a_number_are_no_error(done, tmp_path):
    np.save(tmp_path / "x.npy", nasty.continuous(30, 3) * [1, 1e-160, 1e150])
    err = done("embed", tmp_path / "x.npy", "-o", tmp_path / "z.csv", "--no-standardize")
    assert "from column1 to column2" in err


@pytest.mark.parametrize("command", ["embed", "curvature"])
def test_a_column_that_numbers_the_rows_is_mentioned(command, cloud, done, tmp_path):
    path, _ = cloud
    table = pd.read_csv(path)
    table.assign(no=np.arange(len(table))).to_csv(tmp_path / "ids.csv", index=False)
    call = (command, tmp_path / "ids.csv", "-o", tmp_path / "c.csv", "--label", "side")
    assert "note: Found a possible identifier, a different whole number in each row: no (0 … " in done(*call)
    assert "identifier" not in done(*call, "--drop", "no")


def test_principal_curvatures_and_the_gaussian_one_are_there_where_they_exist(cloud, done, tmp_path):
    path, _ = cloud
    done("curvature", path, "-o", tmp_path / "c.csv", "--drop", "side", "--no-principal")
    assert list(pd.read_csv(tmp_path / "c.csv").columns) == [n for n in SURFACE if "principal" not in n]
    done("curvature", path, "-o", tmp_path / "c.csv", "--drop", "side", "--intrinsic-dim", 1)
    assert list(pd.read_csv(tmp_path / "c.csv").columns) == ["mean", "scalar", *SURFACE[5:]]


@pytest.fixture
def flagged(tmp_path):
    """A table some of whose points have only copies of themselves for neighbours."""
    points = shapes.sphere(200, np.random.default_rng(0)).points
    points = np.concatenate([points, np.tile([[3.0, 0.0, 0.0]], (40, 1))])
    np.save(tmp_path / "x.npy", points)
    return tmp_path / "x.npy"


def test_flagged_points_have_empty_cells_nulls_or_nan(flagged, done, tmp_path):
    command = ("curvature", flagged, "--neighbors", 20, "--intrinsic-dim", 2)
    for suffix in EVERY_FORMAT:
        err = done(*command, "-o", tmp_path / f"c{suffix}")
        assert "note: 40 of 240 points have neighbours that do not determine a fit" in err
        assert "they are flagged and have no curvature" in err
        assert "40 points flagged: mean curvature from 0.99" in err
    assert (tmp_path / "c.csv").read_text().splitlines()[-1] == ",,,,,,,false"
    table = pyarrow.parquet.read_table(tmp_path / "c.parquet")
    assert table.column("mean").null_count == 40
    assert table.column("valid").type == pyarrow.bool_()
    values = np.load(tmp_path / "c.npy")
    assert np.isnan(values[200:, :-1]).all()
    assert np.array_equal(values[:, -1], np.arange(240) < 200)
    assert np.array_equal(np.load(tmp_path / "c.npz")["X"], values, equal_nan=True)


def test_points_that_are_all_flagged_are_no_error(done, tmp_path):
    np.save(tmp_path / "x.npy", np.repeat(np.eye(3), 30, axis=0))
    err = done(
        *("curvature", tmp_path / "x.npy", "-o", tmp_path / "c.csv"),
        *("--neighbors", 12, "--intrinsic-dim", 2),
    )
    assert err.splitlines()[-1].endswith("order 2, 90 points flagged")
    assert pd.read_csv(tmp_path / "c.csv")["mean"].isna().all()


def test_a_sample_that_cannot_carry_its_dimension_is_told_so(done, tmp_path):
    np.save(tmp_path / "x.npy", nasty.wide(60, 40))
    err = done(
        *("curvature", tmp_path / "x.npy", "-o", tmp_path / "c.csv"),
        *("--neighbors", 59, "--intrinsic-dim", 7),
    )
    frame = pd.read_csv(tmp_path / "c.csv")
    share = (frame["standard_error"] ** 2 > frame["squared_norm"]).mean()
    assert share > 0.5
    assert f"For {share:.0%} of the points the standard error exceeds |II|" in err
    assert "too small or too noisy for its dimension m = 7." in err


def test_curvature_proposes_no_number_of_neighbours_that_the_table_does_not_have(refused, done, tmp_path):
    np.save(tmp_path / "x.npy", nasty.wide(40, 60))
    for options in ([], ["--neighbors", 39], ["--neighbors", 10]):
        line = refused("curvature", tmp_path / "x.npy", *options)
        assert "The table must have at least" in line
        assert re.search(r"(Use|Give) a smaller --intrinsic-dim( if \d+ was estimated)?\.$", line)
        assert "Give --neighbors" not in line
    few = ["--neighbors", 39, "--intrinsic-dim", 6]
    err = done("curvature", tmp_path / "x.npy", "-o", tmp_path / "c.csv", *few)
    assert "--neighbors 39 is few for a fit" in err
    assert "below 41 neighbours, more than 40 rows have." in err
    err = done(
        "curvature", tmp_path / "x.npy", "-o", tmp_path / "c.csv", "--operator", "paper", "--no-principal"
    )
    assert "Other values need at least 62 rows." in err
    assert "Give --neighbors" not in err


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--neighbors", "log2"], "--neighbors must be auto or a number, got log2"),
        (["--operator", "paper", "--neighbors", "auto"], "--neighbors must be log2, log or a number with"),
        (["--operator", "paper", "--orient"], "--orient must come with --operator surface"),
        (["--operator", "paper", "--intrinsic-dim", 2], "--intrinsic-dim must come with --operator surface"),
        (["--operator", "paper", "--stages", "auto"], "--stages must come with --operator surface"),
        (["--operator", "paper", "--order", 3], "--order must come with --operator surface"),
        (["--operator", "paper", "--color", "mean", "--plot", "c.png"], "--color must come with --operator"),
        (["--operator", "paper", "--explore", "c.html"], "--explore must come with --operator surface"),
        (["--degenerate", "average"], "--degenerate must come with --operator paper"),
        (["--color", "mean"], "--color must come with --plot or --explore"),
        (["--explore", "c.txt"], "must end in .html"),
    ],
    ids=str,
)
def test_an_option_that_does_not_apply_is_refused_before_the_work(options, text, cloud, refused, monkeypatch):
    monkeypatch.setattr("shopca_rs.cli.tables.read_table", lambda *_, **__: pytest.fail("the work has begun"))
    assert text in refused("curvature", cloud[0], *options)


def test_what_curvature_refuses_is_in_the_words_of_its_options(cloud, refused, data):
    path, _ = cloud
    assert "--neighbors must be at most n − 1 = 599" in refused("curvature", path, "--neighbors", 600)
    assert "--intrinsic-dim must be from 1 to d − 1 = 2" in refused("curvature", path, "--intrinsic-dim", 3)
    sideless = ("curvature", path, "--drop", "side", "--intrinsic-dim", 1)
    assert "Leave --orient out." in refused(*sideless, "--orient")
    assert "--color must be" in refused(*sideless, "--color", "gaussian", "--plot", path.parent / "c.png")
    assert "The table must have at least 2 columns" in refused("curvature", path, "--drop", "side", "x", "y")


@pytest.mark.parametrize("columns", [2, 3, 6])
def test_the_cloud_can_be_drawn_and_explored(columns, done, tmp_path):
    rng = np.random.default_rng(0)
    points = {
        2: shapes.sphere(80, rng, 1),
        3: shapes.sphere(150, rng),
        6: shapes.embed(shapes.sphere(150, rng), rng, 6),
    }
    np.save(tmp_path / "x.npy", points[columns].points)
    done("curvature", tmp_path / "x.npy", "--plot", tmp_path / "c.svg", "--explore", tmp_path / "c.html")
    picture, page = (tmp_path / "c.svg").read_text("utf-8"), (tmp_path / "c.html").read_text("utf-8")
    assert "<svg" in picture
    assert "Curvature of x.npy" in page
    assert ("first 3 of 6 principal components" in page) == (columns == 6)


def test_the_embedding_can_be_coloured_by_curvature(cloud, done, refused, tmp_path):
    path, _ = cloud
    assert "--color must come with --plot or --explore" in refused("embed", path, "--color", "curvature")
    outputs = ("--plot", tmp_path / "z.svg", "--explore", tmp_path / "z.html")
    done("embed", path, "--label", "side", "--color", "curvature", *outputs)
    assert "<!-- mean curvature -->" in (tmp_path / "z.svg").read_text("utf-8")
    data = (tmp_path / "z.html").read_text("utf-8").split('<script id="data" type="application/json">')[1]
    colors = json.loads(data.split("</script>")[0])["colors"]["values"]
    bent = curvatures(StandardScaler().fit_transform(cloud[1]))
    known = bent.standard_error**2 <= bent.squared_norm
    assert [color is not None for color in colors] == known.tolist()
    assert colors[int(np.argmax(known))] == pytest.approx(bent.mean[np.argmax(known)], rel=1e-5)


def test_an_embedding_too_small_for_curvature_is_refused_with_the_reason(refused, tmp_path):
    np.save(tmp_path / "x.npy", nasty.wide(40, 60))
    line = refused("embed", tmp_path / "x.npy", "--color", "curvature", "--plot", tmp_path / "z.png")
    assert "--color curvature failed (shopca curvature has more options): The table must have" in line
    assert not (tmp_path / "z.png").exists()


def test_curvatures_of_the_paper_are_those_of_the_standardised_table(data, done, tmp_path):
    done(*PAPER, data, "-o", tmp_path / "c.csv", "--label", "kind", "--neighbors", 7)
    frame = read_back(tmp_path / "c.csv")
    bent = operator_curvatures(SCALED, 7)
    principal = [f"principal_{j}" for j in (1, 2, 3, 4)]
    assert list(frame.columns) == ["mean", "gaussian", *principal, "kind"]
    assert np.array_equal(frame["mean"], bent.mean)
    assert np.array_equal(frame["gaussian"], bent.gaussian)
    assert np.array_equal(frame[principal], bent.principal)
    assert frame["kind"].tolist() == KINDS.tolist()


@pytest.mark.parametrize(("rule", "k"), [("log2", 6), ("log", 4)])
def test_curvature_of_the_paper_knows_the_rules_for_k(rule, k, data, call):
    code, out, err = call(*PAPER, data, "--neighbors", rule, "--no-principal")
    rows = np.array(list(csv.reader(io.StringIO(out)))[1:], dtype=float)
    assert code == 0
    assert np.array_equal(rows[:, 0], operator_curvatures(SCALED, k).mean)
    assert rows.shape == (60, 2)
    assert f"k = {k}: mean curvature from {rows[:, 0].min():.4g} to" in err


def test_curvature_says_where_the_gaussian_one_means_nothing(data, done, tmp_path):
    few = done(*PAPER, data, "-o", tmp_path / "c.csv", "--neighbors", 4)
    assert "k = 4 neighbours span fewer directions than the 4 columns. Give --neighbors 5 or more" in few
    assert not pd.read_csv(tmp_path / "c.csv")["gaussian"].any()
    assert "Gaussian" not in done(*PAPER, data, "-o", tmp_path / "c.csv", "--neighbors", 5)
    assert pd.read_csv(tmp_path / "c.csv")["gaussian"].all()


def test_curvature_of_many_columns_mentions_that_they_are_many(done, tmp_path):
    np.save(tmp_path / "x.npy", nasty.wide(40, 30))
    many = (*PAPER, tmp_path / "x.npy", "-o", tmp_path / "c.npy")
    assert "30 principal curvatures for each row; --no-principal" in done(*many)
    assert np.load(tmp_path / "c.npy").shape == (40, 32)
    assert "--no-principal" not in done(*many, "--no-principal")


@pytest.mark.parametrize("columns", [1, 4])
def test_curvature_of_the_paper_can_be_drawn(columns, done, tmp_path):
    np.save(tmp_path / "x.npy", X[:, :columns])
    done(*PAPER, tmp_path / "x.npy", "--plot", tmp_path / "c.svg")
    assert "<svg" in (tmp_path / "c.svg").read_text("utf-8")
