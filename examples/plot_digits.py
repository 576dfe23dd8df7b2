"""
Handwritten digits with PCA, SHOPCA and LPP
===========================================

1797 images of 8 × 8 pixels, mapped to two dimensions. The digits are one of the data sets that
SHOPCA was published with. Do not expect a gain on other tables: see the :doc:`/faq`.
"""

import matplotlib.pyplot as plt
from shopca_rs import LPP, SHOPCA, plot_embedding
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

digits = load_digits()
models = {"PCA": PCA(2), "SHOPCA, α = 1": SHOPCA(2, alpha=1), "LPP": LPP(2)}

figure, axes = plt.subplots(1, 3, figsize=(13, 4.4), layout="constrained")
for ax, (name, model) in zip(axes, models.items(), strict=True):
    pipeline = make_pipeline(StandardScaler(), model).fit(digits.data)
    plot_embedding(pipeline, digits.data, digits.target, ax=ax, legend=ax is axes[-1])
    ax.set_title(name)

# %%
# How well do seven neighbours in the plane predict the digit? Each map is fitted to the training part
# alone, which a linear map allows: new rows are mapped by the same matrix.

for name, model in models.items():
    pipeline = make_pipeline(StandardScaler(), model, KNeighborsClassifier(7))
    print(f"{name:14}", cross_val_score(pipeline, digits.data, digits.target, cv=5).mean().round(3))
