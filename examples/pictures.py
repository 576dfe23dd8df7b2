"""The pictures of docs/pictures.md: wine with some labels missing, and 200 000 rows.

Run it with ``python examples/pictures.py docs``; it writes two PNG files there.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from PIL import Image
from shopca_rs import LPP, SHOPCA, plot_biplot, plot_embedding, plot_loadings, plot_scree
from sklearn.datasets import load_digits, load_wine
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler


def draw_wine(path: Path) -> None:
    """Draw what one model of wine is made of, and two others beside it."""
    wine = load_wine(as_frame=True)
    labels = np.array(["Barolo", "Grignolino", "Barbera"], dtype=object)[wine.target]
    labels[::5] = None
    shopca, lpp, pca = (
        make_pipeline(StandardScaler(), last).fit(wine.data) for last in (SHOPCA(), LPP(), PCA())
    )
    figure, axes = plt.subplots(2, 2, figsize=(12, 9), layout="constrained")
    plot_embedding(shopca, wine.data, labels, ax=axes[0, 0], label="wine")
    plot_biplot(shopca, wine.data, labels, ax=axes[0, 1], legend=False)
    plot_loadings(shopca, ax=axes[1, 0])
    plot_scree({"SHOPCA": shopca, "LPP": lpp, "PCA": pca}, ax=axes[1, 1])
    save(figure, path)


def draw_many(path: Path) -> None:
    """Draw ten classes, and so many points that they hide each other."""
    digits = load_digits()
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, 6 * np.pi, 200_000)
    spiral = np.column_stack([angle * np.cos(angle), angle * np.sin(angle), rng.normal(size=200_000)])
    spiral += rng.normal(scale=0.4, size=spiral.shape)
    figure, axes = plt.subplots(1, 3, figsize=(15, 4.5), layout="constrained", width_ratios=[1.2, 1.1, 1])
    plot_embedding(LPP().fit(digits.data), digits.data, digits.target, ax=axes[0], label="digit")
    flat = PCA(2).fit(spiral)
    plot_embedding(flat, spiral, ax=axes[1])
    plot_embedding(flat, spiral, np.floor(angle / (2 * np.pi)), ax=axes[2], label="turn")
    save(figure, path)


def save(figure: Figure, path: Path) -> None:
    """Write a small file: 256 colours are enough."""
    figure.savefig(path, dpi=75)
    plt.close(figure)
    Image.open(path).convert("RGB").quantize(256, method=Image.Quantize.FASTOCTREE).save(path, optimize=True)


def main(folder: Path) -> None:
    """Write both."""
    folder.mkdir(parents=True, exist_ok=True)
    draw_wine(folder / "pictures-wine.png")
    draw_many(folder / "pictures-many.png")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "build"))
