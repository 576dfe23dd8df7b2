"""The pages that the site embeds live: explorers and a report, written by the package itself."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from shopca_rs import LPP, SHOPCA, explore, explore_cloud, write_report
from sklearn.datasets import load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler


def write_live_pages(folder: Path) -> None:
    """Write explorer.html, neighbors.html, cloud.html and report.html into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    wine = load_wine(as_frame=True)
    labels = np.array(["Barolo", "Grignolino", "Barbera"])[wine.target]
    model = make_pipeline(StandardScaler(), SHOPCA()).fit(wine.data)
    explore(model, wine.data, labels, folder / "explorer.html", title="Wine, from PCA to eigenmaps")
    model = make_pipeline(StandardScaler(), LPP()).fit(wine.data)
    explore(model, wine.data, labels, folder / "neighbors.html", title="Wine, from few neighbours to many")
    explore_cloud(torus(3000), path=folder / "cloud.html", color="gaussian", title="Curvature of a torus")
    standardised = StandardScaler().set_output(transform="pandas").fit_transform(wine.data)
    write_report(
        standardised,
        labels,
        folder / "report.html",
        label="wine",
        title="Wine",
        preparation="The columns were standardised.",
    )


def torus(n: int) -> np.ndarray:
    """Return n random points on a torus with radii 2 and 1."""
    u, v = np.random.default_rng(0).uniform(0, 2 * np.pi, (2, n))
    return np.c_[(2 + np.cos(v)) * np.cos(u), (2 + np.cos(v)) * np.sin(u), np.sin(v)]
