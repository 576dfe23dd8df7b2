"""
Choosing k and α
================

SHOPCA has two numbers to choose: k, how many neighbours describe the surroundings of a point, and α, how
much these count against the overall variance. Both have defaults that need no labels.
"""

import matplotlib.pyplot as plt
import numpy as np
from shopca_rs import SHOPCA, plot_eigengap, plot_embedding, plot_spectrum, select
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

wine = load_wine()
X = StandardScaler().fit_transform(wine.data)
cultivar = np.array(["Barolo", "Grignolino", "Barbera"])[wine.target]
model = SHOPCA(2).fit(X)

# %%
# ``alpha="auto"`` takes the α with the largest gap behind the second eigenvalue: there the plane is best
# determined. Where eigenvalues cross the gap closes, and the components change places.

figure, axes = plt.subplots(1, 2, figsize=(12, 4), layout="constrained")
plot_eigengap(model, ax=axes[0])
plot_spectrum(model, ax=axes[1])

# %%
# From PCA through the chosen α to the shape operator alone:

figure, axes = plt.subplots(1, 4, figsize=(14, 3.8), layout="constrained")
for ax, alpha in zip(axes, (0, model.alpha_, 3, np.inf), strict=True):
    plot_embedding(SHOPCA(2, alpha=alpha).fit(X), X, cultivar, ax=ax, legend=ax is axes[0])
    ax.set_title(f"α = {alpha:.2g}".replace("inf", "∞"))

# %%
# `select` compares candidates for k and the number of components by how stable they are. It buys
# confidence, not scores: where there is something to predict, use cross-validation.

print(select(X, n_neighbors=[5, 7, 10, 15], n_components=[2, 3], n_resamples=6).summary())
