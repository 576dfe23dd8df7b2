"""The embedding of points, coloured by the curvature of the surface they lie on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..arguments import as_points
from ..estimators.component_models import final_input, final_step
from ..geometry.quantities import Curvature, as_curvature
from .coloring import draw_colored, draw_legend
from .drawing import as_axes, as_colormap
from .embedding import embedding_coordinates

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_curvature(
    estimator: Any,
    X: Any,
    curvature: Curvature | None = None,
    *,
    color: str = "mean",
    ax: Axes | None = None,
    components: tuple[int, int] = (0, 1),
    cmap: Any = None,
    **scatter_kw: Any,
) -> Axes:
    """Draw the embedding of X, coloured by the curvature at each point.

    The curvature is that of the surface the rows of X lie on, in the columns and units of X as passed to the
    estimator. It is not that of the embedding or of the components that `max_features` keeps. Colours
    span the 2nd to the 98th percentile, with arrows on the colour bar if points are beyond it. Points
    whose standard error exceeds |II| are hollow and grey, flagged points are grey crosses.

    Parameters
    ----------
    estimator : estimator or Pipeline
        Fitted: SHOPCA, LPP, scikit-learn's PCA or any other transformer, or a pipeline of them. For a
        pipeline, the curvature is that of the input of its last step.
    X : array-like of shape (n_samples, n_features)
        Points.
    curvature : Curvatures or SecondFundamentalForm, default=None
        What `curvatures` or `second_fundamental_form` returned for X; computed with their defaults if None.
    color : {"mean", "gaussian", "scalar", "standard_error"}, default="mean"
        What the colours show. Colours of signed quantities are centred on 0.
    ax : matplotlib Axes, default=None
        Where to draw; a new one if None.
    components : tuple of two int, default=(0, 1)
        Which components to draw. A single component is drawn against the row number.
    cmap : str or Colormap, default=None
        Colours; "RdBu_r" for signed quantities, otherwise "viridis" if None.
    **scatter_kw
        Passed to `Axes.scatter`.

    Returns
    -------
    ax : matplotlib Axes
        The plot.

    See Also
    --------
    plot_cloud : The points themselves, in three dimensions.

    Examples
    --------
    >>> import numpy as np
    >>> from shopca_rs import SHOPCA, curvatures, plot_curvature
    >>> sphere = np.random.default_rng(0).normal(size=(500, 3))
    >>> sphere /= np.linalg.norm(sphere, axis=1, keepdims=True)
    >>> ax = plot_curvature(SHOPCA().fit(sphere), sphere, curvatures(sphere), color="gaussian")
    >>> ax.get_figure().axes[1].get_ylabel()
    'Gaussian curvature'
    """
    x, z, titles = embedding_coordinates(estimator, X, components)
    colormap = as_colormap(cmap)
    jobs = getattr(final_step(estimator), "n_jobs", None)
    bent = as_curvature(curvature, as_points(final_input(estimator, X)), color, n_jobs=jobs)
    ax = as_axes(ax)
    ax.set(**titles)
    draw_colored(ax, (x, z), bent, color, colormap, scatter_kw)
    draw_legend(ax)
    return ax
