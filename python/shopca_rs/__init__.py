"""Shape Operator PCA: PCA whose covariance is bent by the data's local curvature."""

from importlib.metadata import version

from .operators import (
    Curvatures,
    curvatures,
    k_neighbors,
    local_shape_operators,
    mean_shape_operator,
)

__version__ = version("shopca-rs")

__all__ = [
    "Curvatures",
    "__version__",
    "curvatures",
    "k_neighbors",
    "local_shape_operators",
    "mean_shape_operator",
]
