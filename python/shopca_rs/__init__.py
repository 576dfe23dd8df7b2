"""Shape Operator PCA: PCA whose covariance is bent by the data's local geometry."""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from .estimators.feature_resolution import resolution
from .evaluation.embedding_quality import Quality, QualityError, continuity, quality, trustworthiness
from .geometry.dimension import IntrinsicDimension, intrinsic_dimension
from .geometry.forms import Curvatures, SecondFundamentalForm
from .geometry.second_form import curvatures, second_fundamental_form
from .neighbors import k_neighbors
from .operators import (
    OperatorCurvatures,
    local_shape_operators,
    mean_shape_operator,
    operator_curvatures,
    shape_sum,
)

if TYPE_CHECKING:
    from .estimators.loading_table import Loadings, loadings
    from .estimators.lpp import LPP
    from .estimators.neighbors import KNeighborsTransformer, NearestNeighbors
    from .estimators.shopca import SHOPCA, ShapeOperatorEigenmaps
    from .evaluation.component_stability import stability
    from .evaluation.selection import Selection, select
    from .evaluation.stability_result import Stability
    from .explorer.cloud_page import explore_cloud
    from .explorer.path_page import explore
    from .plotting import (
        plot_biplot,
        plot_cloud,
        plot_curvature,
        plot_eigengap,
        plot_embedding,
        plot_loadings,
        plot_quality,
        plot_scree,
        plot_spectrum,
        plot_stability,
    )
    from .report import write_report

__version__ = version("shopca-rs")

__all__ = [
    "LPP",
    "SHOPCA",
    "Curvatures",
    "IntrinsicDimension",
    "KNeighborsTransformer",
    "Loadings",
    "NearestNeighbors",
    "OperatorCurvatures",
    "Quality",
    "QualityError",
    "SecondFundamentalForm",
    "Selection",
    "ShapeOperatorEigenmaps",
    "Stability",
    "__version__",
    "continuity",
    "curvatures",
    "explore",
    "explore_cloud",
    "intrinsic_dimension",
    "k_neighbors",
    "loadings",
    "local_shape_operators",
    "mean_shape_operator",
    "operator_curvatures",
    "plot_biplot",
    "plot_cloud",
    "plot_curvature",
    "plot_eigengap",
    "plot_embedding",
    "plot_loadings",
    "plot_quality",
    "plot_scree",
    "plot_spectrum",
    "plot_stability",
    "quality",
    "resolution",
    "second_fundamental_form",
    "select",
    "shape_sum",
    "stability",
    "trustworthiness",
    "write_report",
]

# Imported on first use: scikit-learn alone takes longer to import than everything else together.
_LATER = {
    "KNeighborsTransformer": "estimators.neighbors",
    "LPP": "estimators.lpp",
    "Loadings": "estimators.loading_table",
    "NearestNeighbors": "estimators.neighbors",
    "SHOPCA": "estimators.shopca",
    "Selection": "evaluation.selection",
    "ShapeOperatorEigenmaps": "estimators.shopca",
    "Stability": "evaluation.stability_result",
    "explore": "explorer.path_page",
    "explore_cloud": "explorer.cloud_page",
    "loadings": "estimators.loading_table",
    "plot_biplot": "plotting",
    "plot_cloud": "plotting",
    "plot_curvature": "plotting",
    "plot_eigengap": "plotting",
    "plot_embedding": "plotting",
    "plot_loadings": "plotting",
    "plot_quality": "plotting",
    "plot_scree": "plotting",
    "plot_spectrum": "plotting",
    "plot_stability": "plotting",
    "select": "evaluation.selection",
    "stability": "evaluation.component_stability",
    "write_report": "report",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_LATER[name]}", __name__), name)


def __dir__() -> list[str]:
    return __all__
