"""
Would it look the same with other rows?
=======================================

`stability` refits a model to random halves of the rows and measures the angles between the planes.
"""

import matplotlib.pyplot as plt
import numpy as np
from shopca_rs import SHOPCA, plot_stability, stability
from sklearn.datasets import load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

wine = load_wine(as_frame=True).data
noise = np.random.default_rng(0).normal(size=wine.shape)
model = make_pipeline(StandardScaler(), SHOPCA(2))

on_wine = stability(model, wine, sign_flip=True)
on_noise = stability(model, noise)
print(on_wine.summary())

# %%
# On wine the plane moves by some ten degrees. On noise of the same shape it moves about as much as a random
# plane would.

figure, axes = plt.subplots(1, 2, figsize=(11, 4), layout="constrained", sharey=True)
for ax, result, name in zip(axes, (on_wine, on_noise), ("wine", "noise"), strict=True):
    plot_stability(result, ax=ax)
    ax.set_title(f"{name}: {result.verdict}")

# %%
# The loadings with their standard deviations over the refits show which features can be reported.

figure, ax = plt.subplots(figsize=(8, 5.5), layout="constrained")
plot_stability(on_wine, kind="loadings", ax=ax)
