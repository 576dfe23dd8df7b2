"""Plots of fitted models, of their quality and stability, and of the curvature of points.

Each function draws on the Axes given as `ax`, or on a new one, and returns it. matplotlib is imported when
the first of them is called: ``pip install "shopca-rs[plot]"``.
"""

from .alphas import plot_eigengap, plot_spectrum
from .biplot import plot_biplot
from .cloud import plot_cloud
from .curvature import plot_curvature
from .drawing import as_pyplot
from .embedding import plot_embedding
from .loadings import plot_loadings
from .quality import plot_quality
from .scree import plot_scree
from .stability import plot_stability

__all__ = [
    "as_pyplot",
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
]
