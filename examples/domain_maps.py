"""Several maps of one table to the plane, side by side: shared by the examples of two domains."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from shopca_rs import LPP, SHOPCA, quality
from shopca_rs.integrations.neighbors import umap_neighbors
from sklearn.decomposition import PCA
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.neighbors import KNeighborsClassifier

matplotlib.use("Agg")
import matplotlib.pyplot as plt


def maps(X: np.ndarray) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Return the embeddings of the rows by each method, and the linear models."""
    models = {"PCA": PCA(2, svd_solver="full"), "SHOPCA": SHOPCA(2), "LPP": LPP(2)}
    embedded = {name: model.fit_transform(X) for name, model in models.items()}
    try:
        import umap
    except ImportError:
        return embedded, models
    chosen = umap.UMAP(n_neighbors=15, random_state=0, n_jobs=1, precomputed_knn=umap_neighbors(X, 15))
    embedded["UMAP"] = chosen.fit_transform(X)
    return embedded, models


def table(X: np.ndarray, y: np.ndarray, embedded: dict[str, np.ndarray]) -> str:
    """Return quality against X and the accuracy of ten neighbours in the plane, as Markdown."""
    lines = [
        "| map | trustworthiness | continuity | AUC of R_NX | accuracy of 10 neighbours |",
        "|---|---|---|---|---|",
    ]
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    for name, Z in {"all columns": X, **embedded}.items():
        right = (cross_val_predict(KNeighborsClassifier(10), Z, y, cv=folds) == y).mean()
        kept = quality(X, Z)
        numbers = f"{kept.trustworthiness:.3f} | {kept.continuity:.3f} | {kept.auc:.3f} | {right:.3f}"
        lines.append(f"| {name} | {numbers} |")
    return "\n".join(lines)


def picture(
    embedded: dict[str, np.ndarray], y: np.ndarray, curvature: np.ndarray, what: str, file: Path
) -> None:
    """Draw every map coloured by class, and the one by SHOPCA once more by curvature."""
    panels = [*embedded.items(), ("SHOPCA", embedded["SHOPCA"])]
    figure, axes = plt.subplots(2, 3, figsize=(11, 7.2), layout="constrained")
    classes = np.unique(y)
    colors = plt.get_cmap("tab10" if len(classes) <= 10 else "tab20")(np.arange(len(classes)))
    for ax in axes.flat[len(panels) :]:
        ax.set_axis_off()
    key = axes.flat[len(panels)]  # an empty panel for what explains the colours
    for ax, (name, Z) in zip(axes.flat, panels, strict=False):
        ax.set(title=name, xticks=[], yticks=[])
        if ax is axes.flat[len(panels) - 1]:
            ax.set_title(f"SHOPCA, coloured by {what}")
            known = np.isfinite(curvature)
            ax.scatter(*Z[~known].T, s=5, color="0.8", linewidths=0)
            top = np.quantile(curvature[known], 0.98)
            drawn = ax.scatter(*Z[known].T, s=6, c=curvature[known], vmax=top, cmap="viridis", linewidths=0)
            figure.colorbar(drawn, cax=key.inset_axes((0.0, 0.1, 0.06, 0.8)), label=what, extend="max")
            continue
        for color, label in zip(colors, classes, strict=True):
            ax.scatter(*Z[y == label].T, s=6, color=color, label=str(label), linewidths=0)
    handles, labels = axes.flat[0].get_legend_handles_labels()
    key.legend(handles, labels, loc="center left", bbox_to_anchor=(0.25, 0.5), markerscale=3, frameon=False)
    figure.savefig(file, dpi=100)
    plt.close(figure)
