"""The benchmark of curvature runs, its judge is right, and its page has a place for every table."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path

import matplotlib.image
import numpy as np
import pytest
from shopca_rs import second_fundamental_form

# At the end: a file there has the name of a standard module.
sys.path.append(str(Path(__file__).parents[1] / "benches"))
import curvature
import curvature_cases as cases
import curvature_comparison as comparison
import curvature_report as report
import curvature_speed as speed
import curvature_tables as tables

ROOT = Path(__file__).parents[1]
DOCUMENT = (ROOT / "docs" / "curvature.md").read_text("utf-8")
PICTURES = {"convergence-n.png", "convergence-k.png", "convergence-noise.png", "mean-operator.png"}


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """All parts at tiny sizes, and their folder."""
    folder = tmp_path_factory.mktemp("curvature")
    return curvature.main(["--small", "--data", str(folder), "--out", str(folder)]), folder


def rows(block):
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in block.split("\n") if line[:1] == "|"]


def test_every_part_writes_a_table_with_as_many_cells_as_its_header(tiny):
    page, folder = tiny
    names = {
        "accuracy",
        "values",
        "edges",
        "best",
        "slopes",
        "dimensions",
        "operator",
        "comparison",
        "tables",
    }
    assert set(page.blocks) == names | {"speed", "search"}
    for name, block in page.blocks.items():
        widths = {len(cells) for cells in rows(block)}
        assert len(widths) == 1, name
        assert len(rows(block)) > 2, name
    text = (folder / "curvature.md").read_text("utf-8")
    # Below a table there may be notes, which stand elsewhere on the page.
    parts = {(name, part) for name, block in page.blocks.items() for part in block.split("\n\n")}
    assert {name for name, part in parts if part not in text} == set()


def test_the_pictures_are_drawn_and_the_page_shows_them(tiny):
    _, folder = tiny
    assert {path.name for path in folder.glob("*.png")} == PICTURES
    assert {Path(link).name for link in re.findall(r"\]\((curvature/[^)]+)\)", DOCUMENT)} == PICTURES
    for name in PICTURES:
        assert matplotlib.image.imread(ROOT / "docs" / "curvature" / name).shape[0] > 300


def test_the_page_has_one_place_for_every_table_and_is_filled_there(tiny, tmp_path):
    page, folder = tiny
    copy = tmp_path / "curvature.md"
    copy.write_text(DOCUMENT, encoding="utf-8")
    page.fill(copy, folder)
    filled = copy.read_text("utf-8")
    assert all(block in filled for block in page.blocks.values())
    # What stands between the places is left alone.
    between = re.compile(r"<!-- (\w+): .*?<!-- end -->", re.DOTALL)
    assert between.sub(r"\1", filled) == between.sub(r"\1", DOCUMENT)
    copy.write_text("no place", encoding="utf-8")
    with pytest.raises(ValueError, match="must have one place for the table accuracy, got 0"):
        page.fill(copy, folder)


def test_the_errors_are_those_of_a_form_made_wrong_on_purpose():
    case = cases.cloud("sphere", 300, 0.0)
    bent = case.estimate(case.rows, 30)
    assert max(cases.errors(bent, case.shape, case.rows)) < 1e-3
    wrong = replace(bent, form=1.1 * bent.form)
    np.testing.assert_allclose(cases.errors(wrong, case.shape, case.rows), 0.1, rtol=1e-2)


def test_where_the_mean_curvature_vanishes_its_error_is_relative_to_the_form():
    shape = cases.shapes.catenoid(50, np.random.default_rng(0))
    rows = np.arange(50)
    size = cases.lengths(shape.form)
    assert cases.mean_error(0.2 * size, shape, rows) == pytest.approx(0.2)


@pytest.mark.parametrize(("name", "euler"), [("sphere", 2), ("ellipsoid", 2), ("torus", 0), ("cylinder", 0)])
def test_the_true_meshes_have_the_topology_of_their_surfaces(name, euler):
    faces = comparison.triangulation(cases.cloud(name, 800, 0.0))
    edges = np.unique(
        np.sort(np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]]), 1), axis=0
    )
    assert len(np.unique(faces)) - len(edges) + len(faces) == euler


def test_a_table_without_enough_rows_is_refused_in_its_row():
    X = np.random.default_rng(0).normal(size=(60, 12))
    assert "refused: too few rows" in tables.verdict(tables.Table("normal", X, 1, 8), 20)


def test_a_sphere_is_curvature_and_pure_noise_is_none():
    case = cases.cloud("sphere", 1000, 0.001)
    assert "curvature where se is well below it" in tables.verdict(tables.Table("sphere", case.X, 1), 50)
    X = np.random.default_rng(0).normal(size=(1000, 6))
    assert "no curvature" in tables.verdict(tables.Table("normal", X, 1, 4), 50)


def test_the_slope_of_a_power_law_is_its_exponent():
    panel = report.Panel("", "n", [report.Curve("square", [(n, 3.0 * n**-2) for n in (10, 20, 50)])])
    assert report.exponents(panel)["square"] == pytest.approx(-2)


def test_the_peak_of_a_call_counts_what_it_returns():
    bytes_returned = second_fundamental_form(speed.clean_torus(2000)).form.nbytes
    assert speed.peak("second_fundamental_form", 20_000) > 10 * bytes_returned
