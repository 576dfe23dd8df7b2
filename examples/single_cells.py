"""700 blood cells under PCA, SHOPCA, LPP and UMAP, with quality, markers and curvature.

``python examples/single_cells.py PICTURE.png`` needs scanpy, whose wheel has the data; it prints the tables
of docs/single-cells.md.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import numpy as np
import scanpy
from domain_maps import maps, picture, table
from shopca_rs import curvatures, intrinsic_dimension
from shopca_rs.integrations import anndata as shopca_anndata


def main(file: Path) -> None:
    """Print the tables and draw the picture."""
    warnings.simplefilter("ignore")
    cells = scanpy.datasets.pbmc68k_reduced()
    shopca_anndata.shopca(cells)
    shopca_anndata.lpp(cells)
    chosen = cells.var["highly_variable"].to_numpy()
    X, y = np.asarray(cells.X[:, chosen], dtype=float), cells.obs["bulk_labels"].astype(str).to_numpy()
    embedded, _ = maps(X)
    assert np.allclose(embedded["SHOPCA"], cells.obsm["X_shopca"], atol=1e-3)
    fit = cells.uns["shopca"]
    print(
        f"{X.shape[0]} cells × {X.shape[1]} genes; SHOPCA: α = {fit['alpha']:.3g}, k = {fit['n_neighbors']}\n"
    )
    print(table(X, y, embedded))
    print("\n| map | component | genes with the largest loadings |\n|---|---|---|")
    for name in ("shopca", "lpp"):
        loadings = cells.varm[f"{name}_loadings"]
        for j, column in enumerate(loadings.T):
            genes = [
                f"{'−' if column[at] < 0 else ''}{cells.var_names[at]}" for at in np.argsort(-abs(column))[:8]
            ]
            print(f"| {name.upper()} | {j} | {', '.join(genes)} |")
    points = cells.obsm["X_pca"][:, :10].astype(float)
    found = intrinsic_dimension(points)
    bent = curvatures(points)
    known = bent.valid & np.isfinite(bent.mean)
    print(
        f"\nCurvature on ten principal components: intrinsic dimension {found.estimate:.1f}, fitted with "
        f"{bent.intrinsic_dim}, k = {bent.n_neighbors}, valid at {known.mean():.0%} of the cells, "
        f"share of noise {bent.noise_share:.2f}."
    )
    print("\n| cells | number | median mean curvature | its median standard error |\n|---|---|---|---|")
    for label in np.unique(y):
        these = known & (y == label)
        if these.sum() >= 10:
            numbers = f"{np.median(bent.mean[these]):.3g} | {np.median(bent.standard_error[these]):.3g}"
            print(f"| {label} | {(y == label).sum()} | {numbers} |")
    picture(embedded, y, np.where(known, bent.mean, np.nan), "mean curvature", file)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
