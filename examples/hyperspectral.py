"""Pixels of a hyperspectral image (Indian Pines) under PCA, SHOPCA, LPP and UMAP, with quality and curvature.

``python examples/hyperspectral.py Indian_pines.npz PICTURE.png`` prints the tables of docs/hyperspectral.md.
The file has the bands of the labelled pixels as X, the classes as y and their names as target_names.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import numpy as np
from domain_maps import maps, picture, table
from shopca_rs import curvatures, intrinsic_dimension
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

SAMPLE = 1500


def main(data: Path, file: Path) -> None:
    """Print the tables and draw the picture."""
    warnings.simplefilter("ignore")
    with np.load(data, allow_pickle=False) as stored:
        X, y = stored["X"].astype(float), stored["target_names"][stored["y"]]
    X = StandardScaler().fit_transform(X)
    embedded, models = maps(X)
    print(f"{X.shape[0]} pixels × {X.shape[1]} bands\n\n{table(X, y, embedded)}")
    print(
        "\n| map | component | bands with the largest loadings | share of the variance |\n|---|---|---|---|"
    )
    for name, model in models.items():
        for j, column in enumerate(model.components_):
            bands = sorted(np.argsort(-abs(column))[:6].tolist())
            share = model.explained_variance_ratio_[j]
            print(f"| {name} | {j} | {', '.join(map(str, bands))} | {share:.3f} |")
    points = PCA(10, svd_solver="full").fit_transform(X)
    rows = np.sort(np.random.default_rng(0).permutation(len(X))[:SAMPLE])
    bent = curvatures(points, points=rows)
    known = bent.valid & np.isfinite(bent.mean)
    print(
        f"\nCurvature at {SAMPLE} pixels on ten principal components: intrinsic dimension "
        f"{intrinsic_dimension(points).estimate:.1f}, fitted with {bent.intrinsic_dim}, "
        f"k = {bent.n_neighbors}, valid at {known.mean():.0%}, share of noise {bent.noise_share:.2f}."
    )
    print("\n| class | pixels | median mean curvature | its median standard error |\n|---|---|---|---|")
    for label in np.unique(y):
        these = known & (y[rows] == label)
        numbers = f"{np.median(bent.mean[these]):.3g} | {np.median(bent.standard_error[these]):.3g}"
        print(f"| {label} | {(y == label).sum()} | {numbers} |")
    colors = np.full(len(X), np.nan)
    colors[rows] = np.where(known, bent.mean, np.nan)
    picture(embedded, y, colors, "mean curvature", file)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
