"""
Second fundamental form in four and five dimensions
===================================================

In R³ a surface has one normal direction. In R⁴ and R⁵ it has two and three, and how it bends is a vector
for each tangent direction: II(x, x). As x turns once around, II(x, x) draws an ellipse in the normal space,
twice. On the Clifford torus in R⁴ it is a segment, on the Veronese surface in R⁵ a circle.
"""

import matplotlib.pyplot as plt
import numpy as np
from shopca_rs import second_fundamental_form

rng = np.random.default_rng(0)
u, v = rng.uniform(0, 2 * np.pi, (2, 3000))
clifford = np.c_[np.cos(u), np.sin(u), np.cos(v), np.sin(v)] / np.sqrt(2)

x, y, z = rng.normal(size=(3, 3000))
x, y, z = (x, y, z) / np.sqrt(x**2 + y**2 + z**2)
veronese = np.sqrt(3) * np.c_[x * y, x * z, y * z, (x**2 - y**2) / 2, (x**2 + y**2 - 2 * z**2) / np.sqrt(12)]

angle = np.linspace(0, np.pi, 200)
tangents = np.c_[np.cos(angle), np.sin(angle)]

figure, axes = plt.subplots(1, 2, figsize=(10, 4.6), layout="constrained")
surfaces = {"Clifford torus in R⁴": clifford, "Veronese surface in R⁵": veronese}
for ax, (name, cloud) in zip(axes, surfaces.items(), strict=True):
    bent = second_fundamental_form(cloud, points=[0])
    curve = np.einsum("ta,tb,abd->td", tangents, tangents, bent.form[0])
    H = bent.mean_curvature_vector[0]
    # Two coordinates of the normal space in which the ellipse lies flat.
    _, sizes, plane = np.linalg.svd(curve - H, full_matrices=False)
    ax.plot(*((curve - H) @ plane[:2].T).T)
    ax.plot(0, 0, "o", label=f"H, of length {np.linalg.norm(H):.4f}")
    ax.set(title=name, xlim=(-1.2, 1.2), ylim=(-1.2, 1.2), aspect="equal")
    ax.legend(loc="upper right")
    scalar = bent.scalar_curvature[0].round(4) + 0.0
    print(f"{name}: scalar curvature {scalar:.4f}, |II|² {bent.squared_norm[0]:.4f}")

# %%
# The Clifford torus is flat: its scalar curvature is 0 although it bends. The Veronese surface has 2/3, the
# value of a sphere of radius √3, of which it is the image. Both are minimal surfaces of the unit sphere, so
# their mean curvature vectors are those of the sphere, of length 1.
