"""What one outlier does to PCA and SHOPCA: the table and the picture of docs/outliers.md.

Run it with ``python examples/outliers.py docs``; it prints the table and writes a PNG file there.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from numpy.typing import NDArray
from scipy.linalg import subspace_angles
from shopca_rs import SHOPCA, plot_embedding
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

Matrix = NDArray[np.float64]

MODELS = {
    "PCA": PCA(2),
    "SHOPCA": SHOPCA(),
    "SHOPCA, include_self": SHOPCA(include_self=True),
    "SHOPCA, α = 1": SHOPCA(alpha=1),
    "SHOPCA, α = 1, include_self": SHOPCA(alpha=1, include_self=True),
}
DATA = {"iris": load_iris, "wine": load_wine, "breast cancer": load_breast_cancer}
FACTORS = (3, 5, 10)
ROWS = 50
# The outlier of the picture: a row of wine, and how many times farther from the mean it is put.
PICTURED, FAR = 100, 10


def with_outlier(X: Matrix, row: int, factor: float) -> Matrix:
    """Return standardised data with one row that many times farther from the mean."""
    moved = X.copy()
    moved[row] *= factor
    return moved


def angle(model: Any, X: Matrix, row: int, factor: float) -> float:
    """Return the largest angle between the planes without a row and with it as an outlier, in degrees."""
    without = clone(model).fit(np.delete(X, row, axis=0)).components_
    among = clone(model).fit(with_outlier(X, row, factor)).components_
    return float(np.degrees(subspace_angles(without.T, among.T)).max())


def print_table() -> None:
    """Print the median angle over some rows, for each data set, factor and model."""
    print("| data | rows × columns | factor |", " | ".join(MODELS), "|")
    print("|---|---|---|" + "---|" * len(MODELS))
    for name, load in DATA.items():
        X = StandardScaler().fit_transform(load().data)
        rows = np.random.RandomState(0).permutation(len(X))[:ROWS]
        for factor in FACTORS:
            angles = [np.median([angle(model, X, row, factor) for row in rows]) for model in MODELS.values()]
            cells = " | ".join(f"{each:.1f}°" for each in angles)
            print(f"| {name} | {len(X)} × {X.shape[1]} | {factor} | {cells} |", flush=True)


def draw(path: Path) -> None:
    """Draw all rows of wine but one, by models fitted without that row and with it as an outlier."""
    wine = load_wine()
    X = StandardScaler().fit_transform(wine.data)
    labels = np.array(["Barolo", "Grignolino", "Barbera"])[wine.target]
    others = np.arange(len(X)) != PICTURED
    figure, axes = plt.subplots(2, len(MODELS), figsize=(13, 5.6), layout="constrained")
    for (name, model), (above, below) in zip(MODELS.items(), axes.T, strict=True):
        without = clone(model).fit(X[others])
        among = clone(model).fit(with_outlier(X, PICTURED, FAR))
        turned = angle(model, X, PICTURED, FAR)
        for fitted, ax in ((without, above), (among, below)):
            plot_embedding(fitted, X[others], labels[others], ax=ax, legend=ax is axes[0, -1])
            ax.set(xlabel="", ylabel="")
        first, _, rest = name.rpartition(", ")
        above.set_title(f"{first}\n{rest}" if first else f"{rest}\n")
        below.set_title(f"turned by {turned:.0f}°")
    axes[0, 0].set_ylabel("fitted without the outlier", fontsize=12)
    axes[1, 0].set_ylabel("fitted with it", fontsize=12)
    figure.savefig(path, dpi=96)
    plt.close(figure)


def main() -> None:
    """Print the table, and draw the picture if a directory is given."""
    print_table()
    for directory in sys.argv[1:]:
        draw(Path(directory) / "outliers.png")


if __name__ == "__main__":
    main()
