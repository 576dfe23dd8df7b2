"""
What outliers do to the map
===========================

Two per cent of the rows of wine are moved away from the mean by a growing factor. How far does the plane of
each method turn from that of the clean rows?
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.linalg import subspace_angles
from shopca_rs import LPP, SHOPCA
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

X = StandardScaler().fit_transform(load_wine().data)
models = {"PCA": PCA(2), "SHOPCA, α = 1": SHOPCA(2, alpha=1), "LPP": LPP(2)}
factors = [1, 2, 3, 4, 5]


def turned(model, factor, seed):
    """Return the largest angle between the plane of the clean rows and that with outliers, in degrees."""
    rows = np.random.default_rng(seed).choice(len(X), round(0.02 * len(X)), replace=False)
    spoiled = X.copy()
    spoiled[rows] *= factor
    clean, other = (model.fit(table).components_.T.copy() for table in (X, spoiled))
    return np.rad2deg(subspace_angles(clean, other).max())


figure, ax = plt.subplots(figsize=(8, 4.4), layout="constrained")
for name, model in models.items():
    angles = [[turned(model, factor, seed) for seed in range(8)] for factor in factors]
    ax.plot(factors, np.median(angles, axis=1), "o-", label=name)
    print(f"{name:14}", *(f"{angle:5.1f}°" for angle in np.median(angles, axis=1)))
ax.set(xlabel="factor by which 2 % of the rows are moved", ylabel="largest angle to the clean plane, degrees")
ax.legend()

# %%
# Every map turns, and those that use neighbourhoods turn more than PCA. The neighbourhood of a point does not
# contain the point itself, so an isolated row adds to the covariance and hardly to the mean shape operator,
# and the leading axis follows it. Look at the rows farthest out before you trust a map, with any method.
