"""Whether an installed wheel computes: neighbours, the eigensolver, an embedding and curvature."""

import numpy as np
from shopca_rs import SHOPCA, curvatures, operator_curvatures

points = np.random.default_rng(0).normal(size=(1000, 3))
points /= np.linalg.norm(points, axis=1, keepdims=True)
assert np.allclose(curvatures(points).mean, 1, atol=1e-3)
assert (operator_curvatures(points, 10).principal <= 0).all()
assert SHOPCA(2).fit_transform(points).shape == (1000, 2)
print("works")
