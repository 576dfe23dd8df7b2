"""
How many dimensions do the data have?
=====================================

Points in many columns may lie on a curve or a surface. `intrinsic_dimension` estimates its dimension in
three ways. Curvature needs it, and a wrong one gives nonsense.
"""

import matplotlib.pyplot as plt
import numpy as np
from shopca_rs import intrinsic_dimension
from sklearn.datasets import load_digits, load_wine, make_swiss_roll
from sklearn.preprocessing import StandardScaler

rng = np.random.default_rng(0)
ball = rng.normal(size=(2000, 6))
sphere = ball / np.linalg.norm(ball, axis=1, keepdims=True)
roll = make_swiss_roll(2000, random_state=0)[0]
clouds = {
    "swiss roll (2)": roll,
    "swiss roll, noise": roll + rng.normal(scale=0.3, size=roll.shape),
    "sphere in R⁶ (5)": sphere,
    "sphere in R⁵⁰ (5)": sphere @ np.linalg.qr(rng.normal(size=(50, 6)))[0].T,
    "wine": StandardScaler().fit_transform(load_wine().data),
    "digits": load_digits().data,
}
methods = ("mle", "pca", "two_nn")
estimates = np.array([[intrinsic_dimension(X, method=m).estimate for m in methods] for X in clouds.values()])
for name, row in zip(clouds, estimates, strict=True):
    print(f"{name:18}", *(f"{m} {value:5.2f}" for m, value in zip(methods, row, strict=True)))

# %%
# The number of columns does not matter, noise does: it fills all of them. On real tables the estimators
# disagree, and with six or more dimensions most tables have too few rows for curvature.

figure, ax = plt.subplots(figsize=(8.5, 4.2), layout="constrained")
for shift, method in enumerate(methods):
    ax.bar(np.arange(len(clouds)) + 0.27 * (shift - 1), estimates[:, shift], 0.25, label=method)
ax.set_xticks(range(len(clouds)), list(clouds), rotation=20, ha="right")
ax.set_ylabel("estimated dimension")
ax.legend()
