"""
New rows and reconstruction
===========================

A linear map also applies to new rows: ``transform`` is one matrix product, and ``inverse_transform`` goes
back to pixels. Neither exists for t-SNE. Here each map is learned from half of the digits, and the other
half is compressed to ten numbers and restored.
"""

import matplotlib.pyplot as plt
import numpy as np
from shopca_rs import LPP, SHOPCA
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.model_selection import train_test_split

train, test = train_test_split(load_digits().data, test_size=0.5, random_state=0)
models = {"PCA": PCA(10), "SHOPCA, α = 0.3": SHOPCA(10, alpha=0.3), "LPP": LPP(10)}
restored = {}
for name, model in models.items():
    restored[name] = model.fit(train).inverse_transform(model.transform(test))
    lost = np.mean((test - restored[name]) ** 2) / test.var(axis=0).mean()
    print(f"{name:16} loses {lost:.0%} of the variance of new rows")

# %%
# PCA loses least, because that is what it minimises. The others give up some variance for neighbourhoods.

figure, axes = plt.subplots(4, 8, figsize=(9, 5), layout="constrained")
for row, (name, images) in zip(axes, {"new digits": test, **restored}.items(), strict=True):
    row[0].set_ylabel(name, rotation=0, ha="right", va="center")
    for ax, image in zip(row, images, strict=False):
        ax.imshow(image.reshape(8, 8), cmap="gray_r", vmin=0, vmax=16)
        ax.set(xticks=[], yticks=[])
