"""AnnData objects: results are stored under scanpy's kind of names. Skipped where anndata is missing."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
import shopca_rs
from nasty import continuous
from shopca_rs import LPP, SHOPCA
from shopca_rs.integrations import anndata as cells

anndata = pytest.importorskip("anndata")

pytestmark = pytest.mark.filterwarnings("ignore")

X = continuous(90, 60, seed=2)
MARKED = np.arange(60) % 2 == 0


@pytest.fixture
def adata():
    made = anndata.AnnData(X.copy())
    made.layers["counts"] = scipy.sparse.csr_matrix(np.abs(X))
    made.obsm["X_pca"] = X[:, :5].copy()
    return made


@pytest.mark.parametrize(
    ("function", "make", "key"), [(cells.shopca, SHOPCA, "shopca"), (cells.lpp, LPP, "lpp")]
)
def test_embedding_and_loadings_are_those_of_the_estimator(adata, function, make, key):
    assert function(adata, 3, n_neighbors=6) is None
    model = make(3, n_neighbors=6).fit(X)
    assert np.array_equal(adata.obsm[f"X_{key}"], model.transform(X))
    assert np.array_equal(adata.varm[f"{key}_loadings"], model.components_.T)
    stored = adata.uns[key]
    assert stored["n_neighbors"] == 6
    assert stored["params"]["n_components"] == 3
    assert np.array_equal(stored["variance_ratio"], model.explained_variance_ratio_)
    if make is SHOPCA:
        assert stored["alpha"] == model.alpha_


def test_genes_that_are_left_out_have_loadings_of_zero(adata):
    adata.var["highly_variable"] = MARKED
    cells.shopca(adata)
    assert np.array_equal(adata.obsm["X_shopca"], SHOPCA().fit_transform(X[:, MARKED]))
    assert not adata.varm["shopca_loadings"][~MARKED].any()
    assert adata.varm["shopca_loadings"][MARKED].all()
    cells.shopca(adata, use_highly_variable=False, key_added="all")
    assert np.array_equal(adata.obsm["X_all"], SHOPCA().fit_transform(X))


def test_a_sparse_layer_is_taken_as_it_is(adata):
    cells.lpp(adata, layer="counts")
    expected = LPP().fit_transform(np.abs(X))
    assert np.allclose(adata.obsm["X_lpp"], expected, atol=1e-7 * np.abs(expected).max())


def test_a_copy_leaves_the_object_alone(adata):
    changed = cells.shopca(adata, copy=True)
    assert "X_shopca" in changed.obsm
    assert "X_shopca" not in adata.obsm


def test_curvature_goes_to_the_cells_and_quality_to_uns(adata):
    cells.curvature(adata, n_neighbors=30, intrinsic_dim=2)
    expected = shopca_rs.curvatures(X[:, :5], 30, intrinsic_dim=2)
    assert np.array_equal(adata.obs["curvature_mean"], expected.mean, equal_nan=True)
    assert np.array_equal(adata.obs["curvature_valid"], expected.valid)
    assert adata.uns["curvature"] == {"use_rep": "X_pca", "intrinsic_dim": 2, "n_neighbors": 30}
    cells.shopca(adata)
    cells.quality(adata, use_rep="X", n_neighbors=7)
    stored = adata.uns["quality"]["X_shopca"]
    assert stored["trustworthiness"] == shopca_rs.quality(X, adata.obsm["X_shopca"], 7).trustworthiness


def test_the_object_can_be_written_and_read_again(adata, tmp_path):
    cells.shopca(adata)
    cells.lpp(adata)
    cells.curvature(adata, n_neighbors=30, intrinsic_dim=2)
    cells.quality(adata)
    adata.write_h5ad(tmp_path / "cells.h5ad")
    again = anndata.read_h5ad(tmp_path / "cells.h5ad")
    assert np.array_equal(again.obsm["X_lpp"], adata.obsm["X_lpp"])
    assert again.uns["shopca"]["alpha"] == adata.uns["shopca"]["alpha"]


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda adata: cells.shopca(X), TypeError, "adata must be an AnnData object"),
        (lambda adata: cells.shopca(adata, layer="raw"), ValueError, 'one of "counts", got'),
        (
            lambda adata: cells.shopca(adata, use_highly_variable=True),
            ValueError,
            "highly_variable_genes first",
        ),
        (lambda adata: cells.quality(adata, "X_tsne"), ValueError, r'obsm \("X_pca"\), got'),
        (lambda adata: cells.curvature(adata, copy=1), TypeError, "copy must be True or False"),
    ],
)
def test_what_is_missing_is_told_in_a_sentence(adata, call, error, words):
    with pytest.raises(error, match=words):
        call(adata)


def test_real_cells_are_embedded():
    scanpy = pytest.importorskip("scanpy")
    blood = scanpy.datasets.pbmc68k_reduced()
    cells.shopca(blood)
    cells.lpp(blood)
    for basis in ("X_shopca", "X_lpp", "X_umap"):
        cells.quality(blood, basis)
    kept = {basis: stored["trustworthiness"] for basis, stored in blood.uns["quality"].items()}
    assert kept["X_umap"] > kept["X_shopca"] > 0.7
    # Genes that were not used have no loadings.
    assert not blood.varm["lpp_loadings"][~blood.var["highly_variable"]].any()
