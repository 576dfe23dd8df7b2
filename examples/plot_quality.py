"""
Can this embedding be trusted?
==============================

`quality` compares the neighbourhoods of the data with those of any embedding. Here three linear maps,
Isomap and t-SNE show 500 digits.
"""

import matplotlib.pyplot as plt
from shopca_rs import LPP, SHOPCA, plot_quality, quality
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.manifold import TSNE, Isomap

X = load_digits().data[:500]
embeddings = {
    "PCA": PCA(2).fit_transform(X),
    "SHOPCA": SHOPCA(2, alpha=1).fit_transform(X),
    "LPP": LPP(2).fit_transform(X),
    "Isomap": Isomap(n_neighbors=10).fit_transform(X),
    "t-SNE": TSNE(random_state=0, max_iter=500).fit_transform(X),
}
results = {name: quality(X, Z) for name, Z in embeddings.items()}
for name, found in results.items():
    print(f"{name:7} trustworthiness {found.trustworthiness:.3f}  continuity {found.continuity:.3f}")

# %%
# R_NX is 1 where all K neighbours are kept and 0 where as few are kept as by chance. t-SNE keeps small
# neighbourhoods, the linear maps lose them. No method wins at every size.

figure, ax = plt.subplots(figsize=(8, 4.5), layout="constrained")
plot_quality(results, ax=ax)
