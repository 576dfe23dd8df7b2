"""
Which features make a component
===============================

A component of a linear map is a sum of features with weights, the loadings. This example reads them on
wine, where the columns have names.
"""

import matplotlib.pyplot as plt
import numpy as np
from shopca_rs import SHOPCA, loadings, plot_biplot, plot_loadings
from sklearn.datasets import load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

wine = load_wine(as_frame=True)
cultivar = np.array(["Barolo", "Grignolino", "Barbera"])[wine.target]
model = make_pipeline(StandardScaler(), SHOPCA(2)).fit(wine.data)

print(loadings(model))

# %%
# The biplot draws the features as arrows: where a point moves if that feature grows by one standard
# deviation.

figure, axes = plt.subplots(1, 2, figsize=(12, 5), layout="constrained")
plot_biplot(model, wine.data, cultivar, ax=axes[0])
plot_loadings(model, ax=axes[1])

# %%
# ``Loadings.to_pandas`` gives a table to sort and filter.

print(loadings(model).to_pandas().round(2).head())
