"""
Curvature of a torus
====================

`curvatures` estimates the curvature of the surface that points lie on. On a torus all values are known:
with radii R and r and the angle v around the tube, the Gaussian curvature is cos v / (r (R + r cos v)).
"""

import matplotlib.pyplot as plt
import numpy as np
from shopca_rs import curvatures, plot_cloud

rng = np.random.default_rng(0)
R, r = 2.0, 1.0
u, v = rng.uniform(0, 2 * np.pi, (2, 3000))
torus = np.c_[(R + r * np.cos(v)) * np.cos(u), (R + r * np.cos(v)) * np.sin(u), r * np.sin(v)]
bent = curvatures(torus)
print(bent)

figure, ax = plt.subplots(figsize=(7, 5), layout="constrained", subplot_kw={"projection": "3d"})
plot_cloud(torus, bent, color="gaussian", ax=ax)

# %%
# The outside bends like a ball, the inside like a saddle. With noise of 1 % of the tube's radius the
# estimate is noisier, and its standard error says so.

exact = np.cos(v) / (r * (R + r * np.cos(v)))
noisy = curvatures(torus + rng.normal(scale=0.01 * r, size=torus.shape))
order = np.argsort(v)

figure, axes = plt.subplots(1, 2, figsize=(11, 4), layout="constrained", sharey=True)
for ax, result, title in zip(axes, (bent, noisy), ("without noise", "noise of 1 %"), strict=True):
    ax.plot(v, result.gaussian, ".", ms=3, alpha=0.5, label="estimated")
    ax.plot(v[order], exact[order], "k", lw=1, label="exact")
    ax.set(title=f"{title}, k = {result.n_neighbors}", xlabel="angle v around the tube")
axes[0].set_ylabel("Gaussian curvature")
axes[0].legend()
