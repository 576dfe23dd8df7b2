"""Pictures of a fitted estimator: its eigengap, spectrum, embedding and curvature.

Each function draws on the Axes given as `ax`, or on a new one, and returns it. matplotlib is imported when
the first of them is called: ``pip install "shopca-rs[plot]"``.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted  # type: ignore[import-untyped]

from .operators import curvatures
from .spectrum import Criterion, as_grid, default_grid, eigengap, spectra

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from .base import CurvedPCA

# More classes than this have no colours a person can tell apart.
_MOST_CLASSES = 20


def plot_eigengap(
    estimator: CurvedPCA, *, ax: Axes | None = None, alpha_grid: ArrayLike | None = None, **line_kw: Any
) -> Axes:
    """Draw the eigengap along α, and the α of the fit.

    Parameters
    ----------
    estimator : SHOPCA or ShapeOperatorEigenmaps
        A fitted one.
    ax : matplotlib Axes, default=None
        Where to draw; a new one if None.
    alpha_grid : array-like of shape (n_alphas,), default=None
        Positive, finite values of α; those of the fit, or 50 from 0.1 to 100 if it had only one.
    **line_kw
        For the curve, as `Axes.plot` takes them.

    Returns
    -------
    ax : matplotlib Axes
        With the picture.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from shopca_rs import SHOPCA, plot_eigengap
    >>> plot_eigengap(SHOPCA().fit(load_iris().data)).get_xscale()
    'log'
    """
    ax = _axes(ax)
    grid = _drawn_grid(estimator, alpha_grid)
    Sigma, S, _ = estimator._operators()
    criterion: Criterion = getattr(estimator, "criterion", "mass")
    gaps = eigengap(spectra(Sigma, S, grid), estimator.n_components_, criterion)
    style: dict[str, Any] = {"color": "C0", "marker": "o", "markersize": 3.5, "linewidth": 1.5} | line_kw
    ax.plot(grid, gaps, **style)
    _mark_alpha(estimator, ax)
    ax.set(xscale="log", xlabel="α", title=f"Eigengap behind component {estimator.n_components_}")
    ax.set_ylabel("gap / sum of all |e|" if criterion == "mass" else "gap / |e|")
    ax.grid(alpha=0.25, linewidth=0.6)
    return ax


def plot_spectrum(
    estimator: CurvedPCA,
    *,
    ax: Axes | None = None,
    alpha_grid: ArrayLike | None = None,
    n_eigenvalues: int = 10,
    normalize: bool = True,
    **line_kw: Any,
) -> Axes:
    """Draw the eigenvalues of Σ_curv along α; those of the components in colour.

    Parameters
    ----------
    estimator : SHOPCA or ShapeOperatorEigenmaps
        A fitted one.
    ax : matplotlib Axes, default=None
        Where to draw; a new one if None.
    alpha_grid : array-like of shape (n_alphas,), default=None
        Positive, finite values of α; those of the fit, or 50 from 0.1 to 100 if it had only one.
    n_eigenvalues : int, default=10
        How many of the leading eigenvalues to draw, at least those of the components.
    normalize : bool, default=True
        Divide by the sum of all |e|, so that the distance between two lines is the eigengap of the criterion
        "mass". Otherwise the eigenvalues themselves, on a symmetric logarithmic scale.
    **line_kw
        For the lines, as `Axes.plot` takes them.

    Returns
    -------
    ax : matplotlib Axes
        With the picture. Real parts; where two lines run as one their eigenvalues are a complex pair.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from shopca_rs import SHOPCA, plot_spectrum
    >>> len(plot_spectrum(SHOPCA().fit(load_iris().data), n_eigenvalues=3).lines) >= 3
    True
    """
    ax = _axes(ax)
    grid = _drawn_grid(estimator, alpha_grid)
    Sigma, S, _ = estimator._operators()
    e = spectra(Sigma, S, grid)
    m = estimator.n_components_
    values = e.real / np.abs(e).sum(axis=1, keepdims=True).clip(np.finfo(float).tiny) if normalize else e.real
    for j in reversed(range(min(max(n_eigenvalues, m + 1), e.shape[1]))):
        leading = j < m
        style: dict[str, Any] = {
            "color": f"C{j % 10}" if leading else "0.7",
            "linewidth": 1.8 if leading else 1.0,
        }
        if leading:
            style["label"] = f"component {j + 1}"
        elif j == m:
            style["label"] = "the others"
        ax.plot(grid, values[:, j], **(style | line_kw))
    ax.axhline(0, color="0.4", linewidth=0.7)
    _mark_alpha(estimator, ax)
    ax.set(xscale="log", xlabel="α", title="Spectrum of the curved covariance")
    if normalize:
        ax.set_ylabel("e / sum of all |e|")
    else:
        ax.set_yscale("symlog", linthresh=float(max(np.abs(e[0]).max() * 1e-2, np.finfo(float).tiny)))
        ax.set_ylabel("e")
    if m <= 10:
        handles, labels = ax.get_legend_handles_labels()
        ax.legend(handles[::-1], labels[::-1], fontsize="small", frameon=False)
    ax.grid(alpha=0.25, linewidth=0.6)
    return ax


def plot_embedding(
    estimator: CurvedPCA,
    X: Any,
    y: ArrayLike | None = None,
    *,
    ax: Axes | None = None,
    components: tuple[int, int] = (0, 1),
    cmap: Any = None,
    legend: bool = True,
    **scatter_kw: Any,
) -> Axes:
    """Draw the embedding of X, coloured by labels or numbers.

    Parameters
    ----------
    estimator : SHOPCA or ShapeOperatorEigenmaps
        A fitted one.
    X : array-like of shape (n_samples, n_features)
        Points to embed.
    y : array-like of shape (n_samples,), default=None
        Labels (text, or up to 20 different whole numbers) give a legend; other numbers a colour bar.
    ax : matplotlib Axes, default=None
        Where to draw; a new one if None.
    components : tuple of two int, default=(0, 1)
        Which components to draw. A single component is drawn against the row number.
    cmap : str or Colormap, default=None
        Colours for `y`; "tab10" or "tab20" for labels, "viridis" for numbers if None.
    legend : bool, default=True
        Draw the legend or the colour bar.
    **scatter_kw
        As `Axes.scatter` takes them.

    Returns
    -------
    ax : matplotlib Axes
        With the picture.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from shopca_rs import SHOPCA, plot_embedding
    >>> X, y = load_iris(return_X_y=True)
    >>> plot_embedding(SHOPCA(alpha=1).fit(X), X, y).get_xlabel()
    'component 1 (90.7% of variance)'
    """
    ax = _axes(ax)
    x, z = _coordinates(estimator, X, components, ax)
    style: dict[str, Any] = {"s": _size(len(x)), "linewidths": 0, "alpha": 0.85} | scatter_kw
    if y is None:
        style.setdefault("color", "C0")
        ax.scatter(x, z, **style)
        return ax
    labels = as_labels(y, len(x))
    if labels.dtype.kind == "f":
        points = ax.scatter(x, z, c=labels, cmap=cmap or "viridis", **style)
        if legend:
            _figure(ax).colorbar(points, ax=ax)
        return ax
    classes, codes = np.unique(labels, return_inverse=True)
    colours = _colours(len(classes), cmap)
    # One call for all points in their own order, so that no class lies on top of another.
    ax.scatter(x, z, c=[colours[code] for code in codes], **style)
    if legend:
        _legend(ax, [str(name) for name in classes], colours)
    return ax


def plot_curvature(
    estimator: CurvedPCA,
    X: Any,
    *,
    ax: Axes | None = None,
    components: tuple[int, int] = (0, 1),
    cmap: Any = "viridis",
    **scatter_kw: Any,
) -> Axes:
    """Draw the embedding of X, coloured by the mean curvature at each point.

    The curvature is that of X itself in the space where the shape operator was estimated, with the k of the
    fit: the trace of the point's shape operator divided by the dimension. It is never positive, and far below
    zero where the neighbours are widely spread. The colours span the 2nd to the 98th percentile.

    Parameters
    ----------
    estimator : SHOPCA or ShapeOperatorEigenmaps
        A fitted one.
    X : array-like of shape (n_samples, n_features)
        Points, more than k.
    ax : matplotlib Axes, default=None
        Where to draw; a new one if None.
    components : tuple of two int, default=(0, 1)
        Which components to draw. A single component is drawn against the row number.
    cmap : str or Colormap, default="viridis"
        Colours.
    **scatter_kw
        As `Axes.scatter` takes them.

    Returns
    -------
    ax : matplotlib Axes
        With the picture.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from shopca_rs import SHOPCA, plot_curvature
    >>> X = load_iris().data
    >>> len(plot_curvature(SHOPCA().fit(X), X).collections)
    1
    """
    ax = _axes(ax)
    x, z = _coordinates(estimator, X, components, ax)
    mean = curvatures(
        estimator._scores(X),
        estimator.n_neighbors_,
        degenerate=estimator.degenerate,
        algorithm=estimator.algorithm,
        n_jobs=estimator.n_jobs,
    ).mean
    low, high = np.percentile(mean, [2, 98])
    style: dict[str, Any] = {
        "s": _size(len(x)),
        "linewidths": 0,
        "alpha": 0.9,
        "vmin": low,
        "vmax": high,
    } | scatter_kw
    # The most curved on top: they are few.
    order = np.argsort(-mean, kind="stable")
    points = ax.scatter(x[order], z[order], c=mean[order], cmap=cmap, **style)
    _figure(ax).colorbar(points, ax=ax, label="mean curvature", extend="both")
    return ax


@contextmanager
def needing_matplotlib() -> Iterator[None]:
    """Say how to get matplotlib where an import of it fails."""
    try:
        yield
    except ImportError as error:
        raise ImportError(
            "The pictures need matplotlib, which cannot be imported. "
            'Install it with pip install "shopca-rs[plot]".'
        ) from error


def as_pyplot() -> Any:
    """Return matplotlib.pyplot, or say how to get it."""
    with needing_matplotlib():
        import matplotlib.pyplot as plt
    return plt


def _axes(ax: Axes | None) -> Axes:
    plt = as_pyplot()
    return plt.subplots()[1] if ax is None else ax


def _figure(ax: Axes) -> Any:
    return ax.get_figure()


def _drawn_grid(estimator: CurvedPCA, alpha_grid: ArrayLike | None) -> NDArray[np.float64]:
    check_is_fitted(estimator)
    grid = as_grid(estimator.alpha_grid_ if alpha_grid is None else alpha_grid)
    grid = np.sort(grid[(grid > 0) & np.isfinite(grid)])
    if len(grid) < 2 and alpha_grid is not None:
        raise ValueError("alpha_grid must hold at least two positive, finite numbers to draw a line.")
    return grid if len(grid) > 1 else default_grid()


def _mark_alpha(estimator: CurvedPCA, ax: Axes) -> None:
    alpha = estimator.alpha_
    if alpha == 0 or np.isinf(alpha):
        place, where = (0.01, "left") if alpha == 0 else (0.99, "right")
        text = "fitted: α = 0 (PCA) ←" if alpha == 0 else "fitted: α = ∞ →"
        ax.text(
            place, 0.02, text, transform=ax.transAxes, ha=where, va="bottom", color="C3", fontsize="small"
        )
        return
    ax.axvline(alpha, color="C3", linestyle="--", linewidth=1.2)
    left = np.log(alpha) < np.log(default_grid()[[0, -1]]).mean()
    ax.annotate(
        f"α = {alpha:.3g}",
        (alpha, 1),
        xycoords=("data", "axes fraction"),
        xytext=(4 if left else -4, -4),
        textcoords="offset points",
        ha="left" if left else "right",
        va="top",
        color="C3",
        fontsize="small",
    )


def _coordinates(
    estimator: CurvedPCA, X: Any, components: tuple[int, int], ax: Axes
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return what to draw, and name the axes after it."""
    check_is_fitted(estimator)
    Z = np.asarray(estimator.transform(X))
    m = Z.shape[1]
    names = [
        f"component {j + 1} ({ratio:.1%} of variance)"
        for j, ratio in enumerate(estimator.explained_variance_ratio_)
    ]
    ax.set_title(f"{type(estimator).__name__}, α = {estimator.alpha_:.3g}".replace("inf", "∞"))
    if m == 1:
        ax.set(xlabel="row", ylabel=names[0])
        return np.arange(len(Z)), Z[:, 0]
    if len(components) != 2 or not all(0 <= j < m for j in components):
        raise ValueError(f"components must be two numbers from 0 to {m - 1}, got {components!r}.")
    first, second = components
    ax.set(xlabel=names[first], ylabel=names[second])
    return Z[:, first], Z[:, second]


def _size(n: int) -> float:
    return float(np.clip(6000 / max(n, 1), 6, 30))


def as_labels(y: ArrayLike, n: int) -> NDArray[Any]:
    """Return labels as text or whole numbers, anything to be drawn on a scale as floats."""
    labels = np.asarray(y)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.shape != (n,):
        raise ValueError(f"y must have one entry for each of the {n} rows of X, got shape {labels.shape}.")
    if labels.dtype.kind in "iu" and len(np.unique(labels)) > _MOST_CLASSES:
        return labels.astype(np.float64)
    return labels if labels.dtype.kind in "iuf" else labels.astype(str)


def _colours(count: int, cmap: Any) -> list[Any]:
    import matplotlib

    if cmap is None and count <= 10:
        return list(matplotlib.colormaps["tab10"].colors[:count])  # type: ignore[attr-defined]
    if cmap is None and count <= _MOST_CLASSES:
        return list(matplotlib.colormaps["tab20"].colors[:count])  # type: ignore[attr-defined]
    chosen = matplotlib.colormaps[cmap or "viridis"] if isinstance(cmap, str | None) else cmap
    return [chosen(place) for place in np.linspace(0, 1, count)]


def _legend(ax: Axes, names: list[str], colours: list[Any]) -> None:
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], marker="o", linestyle="", markersize=5, color=colour) for colour in colours]
    columns = 1 if len(names) <= _MOST_CLASSES else int(np.ceil(len(names) / _MOST_CLASSES))
    legend = ax.legend(
        handles,
        [f"class {j}" for j in range(len(names))],
        fontsize="small",
        frameon=False,
        loc="upper left",
        bbox_to_anchor=(1.0, 1.0),
        borderaxespad=0.2,
        handletextpad=0.2,
        ncols=columns,
    )
    for text, name in zip(legend.get_texts(), names, strict=True):
        # Labels are data: neither mathematics between dollar signs nor hidden by a leading underscore.
        text.set_parse_math(False)
        text.set_text(name)
