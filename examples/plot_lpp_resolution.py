"""
A column with few values, and LPP's resolution term
===================================================

LPP looks for directions along which neighbours differ little. A column that takes few values is equal for
most neighbours: it seems to have no local variance, and without a correction it can win every ratio.
``resolution=True``, the default, adds back the variance that rounding to few values has lost.
"""

import matplotlib.pyplot as plt
import numpy as np
from shopca_rs import LPP, plot_embedding, plot_loadings, resolution
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

iris = load_iris(as_frame=True)
species = iris.target_names[iris.target]
# A coin that says nothing about the flowers.
table = iris.data.assign(coin=np.random.default_rng(0).integers(0, 2, len(iris.data)))

lost = resolution(StandardScaler().fit_transform(table))
for column, variance in zip(table.columns, lost, strict=True):
    print(f"{column:18} {variance:.3f}")

# %%
# Without the term the first component is the coin: two groups that mean nothing. With it the components are
# made of the flowers.

figure, axes = plt.subplots(2, 2, figsize=(11, 7.5), layout="constrained")
for row, corrected in zip(axes, (False, True), strict=True):
    model = make_pipeline(StandardScaler(), LPP(2, resolution=corrected)).fit(table)
    plot_embedding(model, table, species, ax=row[0])
    plot_loadings(model, ax=row[1])
    row[0].set_title(f"resolution={corrected}")

# %%
# The more columns a table has, the less one of them decides who is whose neighbour, and the smaller is the
# effect.
