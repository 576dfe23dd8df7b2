"""
The parameters
==============

What k, α, LPP's ridge, ``degenerate`` and ``sample`` change, on three tables: wine (178 × 13), breast
cancer (569 × 30) and digits (1797 × 64).
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.linalg import subspace_angles
from shopca_rs import LPP, SHOPCA, mean_shape_operator, plot_embedding
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.preprocessing import StandardScaler

loaders = {"wine": load_wine, "breast cancer": load_breast_cancer, "digits": load_digits}
tables = {name: StandardScaler().fit_transform(load().data) for name, load in loaders.items()}
labels = {name: load().target for name, load in loaders.items()}


def draw(models):
    """Draw every table under every model, one column for each model."""
    _, axes = plt.subplots(3, len(models), figsize=(2.7 * len(models), 7.6), layout="constrained")
    for row, (table, X) in zip(axes, tables.items(), strict=True):
        for ax, model in zip(row, models.values(), strict=True):
            plot_embedding(model.fit(X), X, labels[table], ax=ax, legend=False, s=5)
            ax.set(xlabel="", ylabel="", xticks=[], yticks=[], title="")
        row[0].set_ylabel(table, fontsize=14)
    for ax, title in zip(axes[0], models, strict=True):
        ax.set_title(title, fontsize=14)


# %%
# k, the number of neighbours
# ---------------------------
#
# ``n_neighbors="log2"`` takes round(log2 n): 7, 9 and 11 here. The choice matters little over a wide range,
# because S̄ averages over all points. With k near n every neighbourhood is the whole table, S̄ is nearly a
# function of Σ, and little is left to tell apart.

draw({f"k = {k}": SHOPCA(2, alpha=1, n_neighbors=k) for k in (3, 8, 25, 100)})

# %%
# α, local against overall variance
# ---------------------------------
#
# α = 0 is PCA, α = ∞ the shape operator alone. Up to about 1 the picture changes slowly. With more, the
# components are directions of little local spread, and these can be noise: the first one of digits at α = ∞
# is mostly a pixel that is set in a single image, which lies far out. Check ``explained_variance_ratio_``.

draw({f"α = {alpha}".replace("inf", "∞"): SHOPCA(2, alpha=alpha) for alpha in (0, 0.3, 1, 3, np.inf)})

# %%
# The criterion for ``alpha="auto"`` takes the largest gap between the eigenvalues of the components and the
# next one:

figure, axes = plt.subplots(1, 3, figsize=(12, 3.2), layout="constrained")
for ax, (table, X) in zip(axes, tables.items(), strict=True):
    model = SHOPCA(2).fit(X)
    ax.semilogx(model.alpha_grid_, model.eigengaps_)
    ax.axvline(model.alpha_, color="k", lw=1)
    ax.set(title=f"{table}: α = {model.alpha_:.2g}", xlabel="α")
axes[0].set_ylabel("eigengap")

# %%
# The ridge of LPP
# ----------------
#
# LPP looks for the largest ratio of overall to local variance. Without a ridge, directions in which
# neighbours happen to differ little win, the more so the more columns there are. The ridge adds a share of
# the mean local variance to every direction; a large one leads to PCA. The default is 0.003.

draw({f"ridge = {ridge:g}": LPP(2, ridge=ridge) for ridge in (1e-5, 0.003, 0.1, 10)})

# %%
# ``degenerate``
# --------------
#
# Where k ≤ d the neighbours do not determine all eigenvectors of their covariance, and the paper's operator
# depends on which of them the eigensolver happens to return. The default averages over all of them, in
# closed form. ``"lapack"`` takes those of the solver. How much does that choice move S̄, in per cent of its
# norm?

for table, X in tables.items():
    for k in (5, 60):
        average, lapack = (mean_shape_operator(X, k, degenerate=way) for way in ("average", "lapack"))
        change = np.linalg.norm(average - lapack) / np.linalg.norm(average)
        print(f"{table:14} k = {k:2}, d = {X.shape[1]:2}: {change:.2%}")

# %%
# Where every neighbourhood has more points than the table columns, as wine with k = 60, both are equal. The
# pictures are hardly affected. What the average buys is that the result is a function of the data: the same
# on every machine.

draw(
    {
        f"degenerate: {way}": SHOPCA(2, alpha=1, degenerate=way, max_features=None)
        for way in ("average", "lapack")
    }
)

# %%
# ``sample``
# ----------
#
# S̄ is a mean over points, so a random part of them is enough to estimate it. The error falls with the
# square root of the sample size, and ``mean_shape_operator_error_`` states it. The right panel shows by how
# many degrees the plane of the components turns.

figure, axes = plt.subplots(1, 2, figsize=(11, 3.8), layout="constrained")
for table, X in tables.items():
    full = SHOPCA(2, alpha=1).fit(X)
    sizes = [size for size in (25, 50, 100, 200, 400, 800, 1600) if size < len(X)]
    errors, angles = [], []
    for size in sizes:
        fits = [SHOPCA(2, alpha=1, sample=size, random_state=seed).fit(X) for seed in range(5)]
        off = [np.linalg.norm(fit.mean_shape_operator_ - full.mean_shape_operator_) for fit in fits]
        errors.append(np.median(off) / np.linalg.norm(full.mean_shape_operator_))
        turned = [subspace_angles(fit.components_.T, full.components_.T).max() for fit in fits]
        angles.append(np.rad2deg(np.median(turned)))
    axes[0].loglog(sizes, errors, "o-", label=table)
    axes[1].semilogx(sizes, angles, "o-")
axes[0].set(title="error of the operator", xlabel="sample", ylabel="relative error of S̄")
axes[1].set(title="error of the plane", xlabel="sample", ylabel="largest angle to the full fit, degrees")
axes[0].legend()
