"""The pages of two domains say what their examples print today. Skipped without the data or scanpy."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import pytest
from shopca_rs import LPP, SHOPCA, trustworthiness
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

ROOT = Path(__file__).parents[1]
LINEAR = {"PCA": PCA(2, svd_solver="full"), "SHOPCA": SHOPCA(2), "LPP": LPP(2)}


def assert_told(page, X):
    """The trustworthiness of the linear maps stands in the table of the page."""
    lines = (ROOT / "docs" / page).read_text("utf-8").splitlines()
    for name, model in LINEAR.items():
        kept = trustworthiness(X, model.fit_transform(X), 10)
        assert any(line.startswith(f"| {name} | {kept:.3f} |") for line in lines), (name, kept)


def test_the_page_of_the_cells_has_the_numbers_of_today():
    scanpy = pytest.importorskip("scanpy")
    cells = scanpy.datasets.pbmc68k_reduced()
    assert_told("single-cells.md", np.asarray(cells.X[:, cells.var["highly_variable"]], dtype=float))


def test_the_page_of_the_pixels_has_the_numbers_of_today():
    file = Path(os.environ.get("SHOPCA_DATA", "")) / "Indian_pines.npz"
    if not file.is_file():
        pytest.skip("no Indian_pines.npz in the folder SHOPCA_DATA")
    assert_told("hyperspectral.md", StandardScaler().fit_transform(np.load(file)["X"].astype(float)))


def test_the_examples_draw_every_map_and_tell_its_quality(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "examples")
    monkeypatch.setitem(sys.modules, "umap", None)
    from domain_maps import maps, picture, table

    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b"], 40)
    X = rng.normal(size=(80, 6)) + 4 * (y == "b")[:, None]
    embedded, models = maps(X)
    assert list(embedded) == list(models) == ["PCA", "SHOPCA", "LPP"]
    assert table(X, y, embedded).count("\n") == 5
    picture(embedded, y, np.where(y == "a", rng.random(80), np.nan), "a number", tmp_path / "maps.png")
    assert (tmp_path / "maps.png").stat().st_size > 10_000
