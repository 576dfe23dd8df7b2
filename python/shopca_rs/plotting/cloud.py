"""A point cloud in three dimensions, coloured by its curvature, with its principal directions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arguments import as_flag
from ..geometry.forms import SecondFundamentalForm
from ..geometry.quantities import Curvature, as_curvature, doubtful
from .coloring import draw_colored, draw_legend
from .drawing import as_colormap, as_flat_axes, as_solid_axes, literal
from .views import View, as_view

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]

# Directions are drawn at this many points, spread over the cloud.
DIRECTIONS = 200
# Principal curvatures with a smaller relative difference do not determine their directions.
UMBILIC = 0.01
LEAST, BETWEEN, GREATEST = "least principal curvature", "between them", "greatest principal curvature"
LINES = {LEAST: "black", BETWEEN: "0.45", GREATEST: "magenta"}


def plot_cloud(
    X: ArrayLike,
    curvature: Curvature | None = None,
    *,
    color: str = "mean",
    directions: bool = False,
    feature_names: ArrayLike | None = None,
    ax: Axes | None = None,
    cmap: Any = None,
    **scatter_kw: Any,
) -> Axes:
    """Draw a point cloud, coloured by its curvature.

    Points in three columns are drawn as they are, those in two on flat Axes, those in more on their first
    three principal components. Colours span the 2nd to the 98th percentile, with arrows on the colour bar
    if there are points beyond it. Points whose standard error exceeds |II| are hollow and grey, flagged
    points are grey crosses.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Points as rows, in at least 2 columns.
    curvature : Curvatures or SecondFundamentalForm, default=None
        What `curvatures` or `second_fundamental_form` returned for X; computed with their defaults if None.
    color : {"mean", "gaussian", "scalar", "standard_error"}, default="mean"
        What the colours show. Colours of signed quantities are centred on 0.
    directions : bool, default=False
        Draw the principal directions at about 200 points, where they are determined: that of the least
        principal curvature black, that of the greatest magenta. They need a SecondFundamentalForm of a
        hypersurface (d = m + 1).
    feature_names : array-like of shape (d,), default=None
        Names of the columns, for the axes; those of a data frame if None.
    ax : matplotlib Axes, default=None
        Where to draw, 3-D except for two columns; a new one if None.
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
    explore_cloud : The same as an interactive page for a browser.

    Examples
    --------
    >>> import numpy as np
    >>> from shopca_rs import plot_cloud
    >>> sphere = np.random.default_rng(0).normal(size=(500, 3))
    >>> sphere /= np.linalg.norm(sphere, axis=1, keepdims=True)
    >>> plot_cloud(sphere).get_title()
    '500 points, m = 2'
    """
    view = as_view(X, feature_names)
    as_flag(directions, "directions")
    colormap = as_colormap(cmap)
    bent = as_curvature(curvature, view.points, color, directions=directions)
    segments = _segments(view, bent) if directions else None
    flat = view.coordinates.shape[1] == 2
    axes: Any = as_flat_axes(ax) if flat else as_solid_axes(ax)
    if not flat:
        # Draw in a fixed order from every viewpoint: grey points, coloured points, lines.
        axes.computed_zorder = False
    draw_colored(axes, tuple(view.coordinates.T), bent, color, colormap, scatter_kw)
    if segments is not None:
        _draw_segments(axes, segments)
    draw_legend(axes)
    if flat:
        axes.set_aspect("equal", adjustable="datalim")
    else:
        _equal_units(axes)
    for axis, name in zip("xyz", view.names, strict=False):
        literal(getattr(axes, f"{axis}axis").label, name)
    title = f"{len(bent)} points, m = {bent.intrinsic_dim}"
    axes.set_title("\n".join(filter(None, [title, view.remark])))
    return axes  # type: ignore[no-any-return]


def _equal_units(ax: Any) -> None:
    """Give all three axes one unit, few ticks where they are short, and room for their names."""
    from matplotlib.ticker import MaxNLocator

    ranges = np.array([np.ptp(ax.get_xlim()), np.ptp(ax.get_ylim()), np.ptp(ax.get_zlim())])
    ax.set_box_aspect(ranges / ranges.max(), zoom=0.9)
    for axis, share in zip((ax.xaxis, ax.yaxis, ax.zaxis), ranges / ranges.max(), strict=True):
        axis.set_major_locator(MaxNLocator(max(round(6 * share), 2)))


def _segments(view: View, bent: Curvature) -> dict[str, Floats]:
    """Return lines at some points along the principal directions that are determined there."""
    if not isinstance(bent, SecondFundamentalForm):
        raise ValueError(
            "directions need the result of second_fundamental_form as curvature; curvatures has none."
        )
    values, vectors = bent.principal_curvatures, bent.principal_directions
    d, m = vectors.shape[1:]
    if d != view.points.shape[1]:
        raise ValueError(
            f"curvature must be that of X, which has {view.points.shape[1]} columns, got one in {d}."
        )
    trusted = np.flatnonzero(bent.valid & ~doubtful(bent))
    if len(trusted) == 0:
        return {}
    chosen = trusted[_spread(view.coordinates[trusted], DIRECTIONS)]
    places = view.coordinates[chosen]
    # A third of the usual distance between two of them.
    gaps = np.linalg.norm(places[:, None] - places, axis=2)
    np.fill_diagonal(gaps, np.inf)
    half = 0.35 * float(np.median(gaps.min(axis=1))) if len(chosen) > 1 else 0.1 * float(np.ptp(places) or 1)
    apart = np.maximum(bent.standard_error[chosen], UMBILIC * np.abs(values[chosen]).max(axis=1))
    steps = np.diff(values[chosen], axis=1)
    found: dict[str, list[Floats]] = {}
    for j in range(m):
        clear = np.ones(len(chosen), dtype=bool)
        for step in (j - 1, j):
            if 0 <= step < m - 1:
                clear &= steps[:, step] > apart
        along = half * vectors[chosen, :, j] @ view.axes
        lines = np.stack([places - along, places + along], axis=1)[clear]
        found.setdefault(LEAST if j == 0 else GREATEST if j == m - 1 else BETWEEN, []).append(lines)
    return {name: np.concatenate(lines) for name, lines in found.items()}


def _spread(places: Floats, count: int) -> NDArray[np.intp]:
    """Return points far from each other: each is the one farthest from those before it."""
    chosen = [0]
    distance = ((places - places[0]) ** 2).sum(axis=1)
    while len(chosen) < min(count, len(places)):
        chosen.append(int(np.argmax(distance)))
        distance = np.minimum(distance, ((places - places[chosen[-1]]) ** 2).sum(axis=1))
    return np.array(chosen)


def _draw_segments(ax: Any, segments: dict[str, Floats]) -> None:
    from matplotlib.collections import LineCollection
    from mpl_toolkits.mplot3d.art3d import Line3DCollection  # type: ignore[import-untyped]

    for name, lines in segments.items():
        if len(lines) == 0:
            continue
        solid = lines.shape[2] == 3
        kind: Any = Line3DCollection if solid else LineCollection
        collection = kind(lines, colors=LINES[name], linewidths=1.0, zorder=3, label=name)
        (ax.add_collection3d if solid else ax.add_collection)(collection)
