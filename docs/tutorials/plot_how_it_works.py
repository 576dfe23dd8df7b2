"""
How it works
============

SHOPCA in five steps, each computed in a few lines of NumPy, on a table of two columns that can be drawn.
The last two sections show LPP and curvature in the same way.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Circle, Ellipse
from shopca_rs import LPP, SHOPCA, curvatures, k_neighbors, mean_shape_operator

rng = np.random.default_rng(0)
stripe = rng.integers(0, 3, 300)
X = np.c_[rng.uniform(-3, 3, 300), 1.6 * (stripe - 1) + rng.normal(scale=0.04, size=300)]
X = X - X.mean(axis=0)


def ellipse(ax, center, matrix, color, label=None):
    """Draw the ellipse of a symmetric matrix: two standard deviations along each axis."""
    values, axes = np.linalg.eigh(matrix)
    width, height = 4 * np.sqrt(np.abs(values))
    angle = np.rad2deg(np.arctan2(axes[1, 0], axes[0, 0]))
    ax.add_patch(Ellipse(center, width, height, angle=angle, fill=False, color=color, lw=2, label=label))


# %%
# Each point has a neighbourhood
# ------------------------------
#
# The k nearest neighbours of a point, without the point itself, have a covariance C. Its ellipse shows how
# the data spread around that point. The covariance Σ of all points is the large ellipse.

k = 8
neighbors, _ = k_neighbors(X, k)
local = np.array([np.cov(X[rows], rowvar=False) for rows in neighbors])
overall = np.cov(X, rowvar=False)

figure, ax = plt.subplots(figsize=(9, 4.6), layout="constrained")
ax.plot(*X.T, ".", color="0.6", ms=4)
ellipse(ax, (0, 0), overall, "C0", "Σ, all points")
for number, i in enumerate(range(0, 300, 12)):
    ellipse(ax, X[neighbors[i]].mean(axis=0), local[i], "C1", "C, around a point" if number == 0 else None)
ax.set(aspect="equal")
ax.legend(loc="upper right")

# %%
# The neighbourhood has a shape operator
# --------------------------------------
#
# The paper builds it from all products of two eigenvectors of C, d² of them. As the eigenvectors W are
# orthogonal, that sum has a closed form, S = −½ (C + P Pᵀ C) with P = W∘W, the squares of the entries. So
# −S is half of the local covariance, plus half of it mixed by P Pᵀ: a matrix that depends on the axes of
# the table.


def shape_operator(C):
    """Return S = −½ (C + P Pᵀ C)."""
    P = np.linalg.eigh(C)[1] ** 2
    return -(C + P @ P.T @ C) / 2


operators = np.array([shape_operator(C) for C in local])

# %%
# The mean over all points
# ------------------------
#
# S̄ is the mean of the operators. `mean_shape_operator` computes the same, without ever forming the
# matrices of single points where there are many columns.

mean_operator = operators.mean(axis=0)
print(f"largest difference {np.abs(mean_operator - mean_shape_operator(X, k)).max():.0e}")

figure, axes = plt.subplots(1, 3, figsize=(10, 3.4), layout="constrained")
matrices = {"Σ": overall, "mean of C": local.mean(axis=0), "−S̄": -mean_operator}
for ax, (name, matrix) in zip(axes, matrices.items(), strict=True):
    ax.imshow(matrix, cmap="RdBu", vmin=-abs(matrix).max(), vmax=abs(matrix).max())
    for (row, column), value in np.ndenumerate(matrix):
        color = "white" if abs(value) > 0.6 * abs(matrix).max() else "black"
        ax.text(column, row, f"{value:.3f}", ha="center", va="center", color=color)
    ax.set(title=name, xticks=[0, 1], yticks=[0, 1])

# %%
# Neighbours differ along the stripes and hardly across them, so −S̄ is large along the first axis and small
# along the second.
#
# The covariance is corrected
# ---------------------------
#
# Σ + λS̄ subtracts local variance from the overall variance. λ = α tr Σ / \|tr S̄\|, so that α = 1 weighs both
# alike. PCA projects on the longest axis of Σ, along the stripes, and mixes all three stripes. With α = 1 the
# leading direction is across them.

figure, axes = plt.subplots(1, 2, figsize=(12, 3.8), layout="constrained")
for ax, alpha in zip(axes, (0, 1), strict=True):
    model = SHOPCA(1, alpha=alpha, n_neighbors=k).fit(X)
    Z = model.transform(X)[:, 0]
    ax.hist([Z[stripe == s] for s in range(3)], bins=40, stacked=True)
    direction = model.components_[0].round(2) + 0.0
    ax.set(title=f"α = {alpha}: projection on ({direction[0]}, {direction[1]})", yticks=[])

# %%
# α is chosen by the eigengap
# ---------------------------
#
# As α grows the eigenvalues move. ``alpha="auto"`` takes the α with the largest gap between the eigenvalue
# of the last component and the next one, relative to the sum of all magnitudes. No labels are used. Here
# the two eigenvalues cross at a small α, where the gap closes; the largest gap comes after it, and the
# direction is across the stripes. In general the largest gap marks the best determined direction, which
# need not be the most useful one.

auto = SHOPCA(1, n_neighbors=k).fit(X)
figure, ax = plt.subplots(figsize=(8, 3.6), layout="constrained")
ax.semilogx(auto.alpha_grid_, auto.eigengaps_, ".-")
ax.axvline(auto.alpha_, color="k", lw=1)
x, y = auto.components_[0]
ax.set(xlabel="α", ylabel="eigengap", title=f"chosen: α = {auto.alpha_:.2f}, direction ({x:.2f}, {y:.2f})")

# %%
# LPP takes a ratio
# -----------------
#
# `LPP` divides where SHOPCA subtracts: it looks for the directions with the largest ratio of overall to
# local variance. There is no α to choose, and turning the axes turns the result with them.

lpp = LPP(1).fit(X)
print(lpp.components_[0] / np.linalg.norm(lpp.components_[0]), lpp.eigenvalues_.round(1))

# %%
# Curvature is something else
# ---------------------------
#
# None of this is curvature in the sense of geometry: the operator of a straight stripe is not zero.
# `curvatures` fits a polynomial around each point and reads the curvature off its second derivatives. On a
# curve it is one over the radius of the circle that fits best.

t = rng.uniform(0, 2 * np.pi, 600)
curve = np.c_[2 * np.cos(t), np.sin(t)]
bent = curvatures(curve)
exact = 2 / (4 * np.sin(t) ** 2 + np.cos(t) ** 2) ** 1.5
print(f"largest relative error {np.abs(bent.mean / exact - 1).max():.1e}")

figure, ax = plt.subplots(figsize=(8, 4.6), layout="constrained")
points = ax.scatter(*curve.T, c=bent.mean, s=8)
for i in (np.argmax(bent.mean), np.argmin(np.abs(t - 1.1))):
    center = curve[i] + bent.normal[i] / bent.mean[i]
    ax.add_patch(Circle(center, 1 / bent.mean[i], fill=False, color="C3"))
ax.set(aspect="equal", xlim=(-2.7, 2.7), ylim=(-1.9, 1.3))
figure.colorbar(points, label="curvature", shrink=0.8)
