"""Whether a stable choice of k scores better: ``python benches/selection.py FOLDER`` of .npz data sets.

For each data set (standardised, PCA to 25 columns if there are more, at most 400 rows) LPP and SHOPCA map to
two dimensions with four numbers of neighbours. The one that `select` recommends is compared with the default
and with the mean of the four, by trustworthiness and by what labels say: V-measure of Ward's clusters and
7-NN accuracy. The last column is the mean over the data sets of Spearman's correlation, over the four,
between agreement and score.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import numpy as np
from scipy.stats import spearmanr
from shopca_rs import LPP, SHOPCA, select
from shopca_rs.experiments.protocols import as_written
from shopca_rs.experiments.scores import cluster_scores, neighbor_accuracy
from shopca_rs.experiments.statistics import compare
from sklearn.manifold import trustworthiness

MOST_ROWS = 400
LEFT_OUT = ("cardiotocography",)  # its columns contain the labels


def scored(model, X, y):
    Z = model.fit_transform(X)
    return (
        trustworthiness(X, Z, n_neighbors=10),
        cluster_scores(Z, y, "ward")["v_measure"],
        neighbor_accuracy(Z, y),
    )


def measure(kind, path):
    """Return agreements and scores of the candidates, and the scores of the recommended and default k."""
    data = np.load(path, allow_pickle=False)
    y = np.unique(data["y"], return_inverse=True)[1]
    rows = np.sort(np.random.RandomState(0).permutation(len(y))[:MOST_ROWS])
    X, y = as_written(data["X"][rows].astype(np.float64)), y[rows]
    if X.shape[1] < 3:
        return None
    found = select(X, estimator=kind(), n_components=[2], quality_neighbors=None, n_jobs=1)
    scores = [scored(kind(2, n_neighbors=row["n_neighbors"]), X, y) for row in found.table]
    agreements = [row["agreement"] for row in found.table]
    best = scores[found.table.index(found.best)]
    return agreements, np.array(scores), best, scored(kind(2), X, y)


def main(folder):
    warnings.simplefilter("ignore")
    paths = [path for path in sorted(Path(folder).glob("*.npz")) if path.stem not in LEFT_OUT]
    for kind in (LPP, SHOPCA):
        results = []
        for path in paths:
            try:
                result = measure(kind, path)
            except ValueError as error:
                print(f"{path.stem}: {error}", file=sys.stderr)
                continue
            if result is not None:
                results.append(result)
        print(f"{kind.__name__}, {len(results)} data sets, two dimensions")
        print("score            recommended  default  mean of k  p against default  rank correlation")
        for j, name in enumerate(("trustworthiness", "Ward V", "7-NN accuracy")):
            best, default = (np.array([result[i][j] for result in results]) for i in (2, 3))
            mean = np.array([result[1][:, j].mean() for result in results])
            correlations = [
                spearmanr(result[0], result[1][:, j]).statistic
                for result in results
                if len(set(result[0])) > 1 and len(set(result[1][:, j])) > 1
            ]
            p = compare(best, default).p
            print(
                f"{name:<16} {best.mean():11.4f}  {default.mean():7.4f}  {mean.mean():9.4f}  {p:17.2g}  "
                f"{np.mean(correlations):+16.2f}"
            )


if __name__ == "__main__":
    main(sys.argv[1])
