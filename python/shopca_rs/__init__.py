"""Shape Operator PCA: PCA whose covariance is bent by the data's local curvature."""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from .operators import (
    Curvatures,
    curvatures,
    k_neighbors,
    local_shape_operators,
    mean_shape_operator,
    shape_sum,
)

if TYPE_CHECKING:
    from .estimator import SHOPCA, ShapeOperatorEigenmaps
    from .explorer import explore
    from .plotting import plot_curvature, plot_eigengap, plot_embedding, plot_spectrum

__version__ = version("shopca-rs")

__all__ = [
    "SHOPCA",
    "Curvatures",
    "ShapeOperatorEigenmaps",
    "__version__",
    "curvatures",
    "explore",
    "k_neighbors",
    "local_shape_operators",
    "mean_shape_operator",
    "plot_curvature",
    "plot_eigengap",
    "plot_embedding",
    "plot_spectrum",
    "shape_sum",
]

# Imported on first use: scikit-learn alone takes longer to import than everything else together.
_LATER = {
    "SHOPCA": "estimator",
    "ShapeOperatorEigenmaps": "estimator",
    "explore": "explorer",
    "plot_curvature": "plotting",
    "plot_eigengap": "plotting",
    "plot_embedding": "plotting",
    "plot_spectrum": "plotting",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_LATER[name]}", __name__), name)


def __dir__() -> list[str]:
    return __all__
