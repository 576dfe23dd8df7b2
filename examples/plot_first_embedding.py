"""
A first embedding
=================

Iris has four columns. PCA, SHOPCA and LPP each map them to two by one matrix. The three classes have
different colours here, but no method sees them.
"""

import matplotlib.pyplot as plt
from shopca_rs import LPP, SHOPCA, plot_embedding, quality
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

iris = load_iris()
X = StandardScaler().fit_transform(iris.data)
species = iris.target_names[iris.target]

figure, axes = plt.subplots(1, 3, figsize=(12, 4), layout="constrained")
for ax, model in zip(axes, (PCA(2), SHOPCA(2), LPP(2)), strict=True):
    Z = model.fit_transform(X)
    plot_embedding(model, X, species, ax=ax)
    ax.set_title(f"{type(model).__name__}, trustworthiness {quality(X, Z).trustworthiness:.3f}")

# %%
# SHOPCA subtracts local variance from the covariance: Σ + λS̄. On iris the criterion chooses a large
# weight, and trustworthiness falls: the picture keeps the gaps between groups and drops a direction in
# which neighbours differ. With ``alpha=0`` the picture is that of PCA. :meth:`~shopca_rs.SHOPCA.summary`
# says what was chosen.

print(SHOPCA(2).fit(X).summary())
