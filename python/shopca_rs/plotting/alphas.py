"""The eigengap and the spectrum of a fit as functions of α."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arguments import as_count, as_flag, as_grid
from ..classes import PALETTE
from ..estimators.component_models import final_step
from ..estimators.type_checks import as_fitted
from ..spectrum import Criterion, default_grid, eigengap, spectra
from .drawing import as_axes, draw, thin_grid

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..estimators.curved_pca import CurvedPCA

# The colour of the α of the fit.
MARK = PALETTE[1]


def plot_eigengap(
    estimator: Any, *, ax: Axes | None = None, alpha_grid: ArrayLike | None = None, **line_kw: Any
) -> Axes:
    """Draw the eigengap as a function of α, and mark the fitted α.

    Parameters
    ----------
    estimator : SHOPCA, ShapeOperatorEigenmaps or Pipeline
        A fitted one, or a fitted pipeline that ends with one.
    ax : matplotlib Axes, default=None
        Where to draw; a new one if None.
    alpha_grid : array-like of shape (n_alphas,), default=None
        Positive, finite values of α; those of the fit, or 50 from 0.1 to 100 if it had only one.
    **line_kw
        Passed to `Axes.plot`.

    Returns
    -------
    ax : matplotlib Axes
        The plot.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from shopca_rs import SHOPCA, plot_eigengap
    >>> plot_eigengap(SHOPCA().fit(load_iris().data)).get_xscale()
    'log'
    """
    estimator = as_fitted(final_step(estimator))
    grid = _drawn_grid(estimator, alpha_grid)
    ax = as_axes(ax)
    Sigma, S, _ = estimator._operators()
    criterion: Criterion = getattr(estimator, "criterion", "mass")
    gaps = eigengap(spectra(Sigma, S, grid), estimator.n_components_, criterion)
    style: dict[str, Any] = {
        "color": PALETTE[0],
        "marker": "o",
        "markersize": 3.5,
        "linewidth": 1.5,
    } | line_kw
    draw(ax.plot, line_kw, grid, gaps, **style)
    _mark_alpha(estimator, ax)
    ax.set(xscale="log", xlabel="α", title=f"Eigengap after component {estimator.n_components_}")
    ax.set_ylabel("gap / sum of all |e|" if criterion == "mass" else "gap / |e|")
    thin_grid(ax)
    return ax


def plot_spectrum(
    estimator: Any,
    *,
    ax: Axes | None = None,
    alpha_grid: ArrayLike | None = None,
    n_eigenvalues: int = 10,
    normalize: bool = True,
    **line_kw: Any,
) -> Axes:
    """Draw the eigenvalues of Σ_curv as functions of α; those of the components in colour.

    Parameters
    ----------
    estimator : SHOPCA, ShapeOperatorEigenmaps or Pipeline
        A fitted one, or a fitted pipeline that ends with one.
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
        Passed to `Axes.plot`.

    Returns
    -------
    ax : matplotlib Axes
        The plot. It shows real parts; where two lines coincide, their eigenvalues are a complex pair.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from shopca_rs import SHOPCA, plot_spectrum
    >>> len(plot_spectrum(SHOPCA().fit(load_iris().data), n_eigenvalues=3).lines) >= 3
    True
    """
    estimator = as_fitted(final_step(estimator))
    grid = _drawn_grid(estimator, alpha_grid)
    most = as_count(n_eigenvalues, "n_eigenvalues", 1)
    as_flag(normalize, "normalize")
    ax = as_axes(ax)
    Sigma, S, _ = estimator._operators()
    e = spectra(Sigma, S, grid)
    m = estimator.n_components_
    values = e.real / np.abs(e).sum(axis=1, keepdims=True).clip(np.finfo(float).tiny) if normalize else e.real
    for j in reversed(range(min(max(most, m + 1), e.shape[1]))):
        leading = j < m
        style: dict[str, Any] = {
            "color": PALETTE[j % len(PALETTE)] if leading else "0.7",
            "linewidth": 1.8 if leading else 1.0,
            "linestyle": ["-", "--"][j // len(PALETTE) % 2] if leading else "-",
        }
        if leading:
            style["label"] = f"component {j + 1}"
        elif j == m:
            style["label"] = "the others"
        draw(ax.plot, line_kw, grid, values[:, j], **(style | line_kw))
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
    thin_grid(ax)
    return ax


def _drawn_grid(estimator: CurvedPCA, alpha_grid: ArrayLike | None) -> NDArray[np.float64]:
    grid = as_grid(estimator.alpha_grid_ if alpha_grid is None else alpha_grid)
    grid = np.sort(grid[(grid > 0) & np.isfinite(grid)])
    if len(grid) < 2 and alpha_grid is not None:
        raise ValueError(
            f"alpha_grid must hold at least two positive, finite numbers to draw a line, got {len(grid)}."
        )
    return grid if len(grid) > 1 else default_grid()


def _mark_alpha(estimator: CurvedPCA, ax: Axes) -> None:
    alpha = estimator.alpha_
    if alpha == 0 or np.isinf(alpha):
        place, where = (0.01, "left") if alpha == 0 else (0.99, "right")
        text = "fitted: α = 0 (PCA) ←" if alpha == 0 else "fitted: α = ∞ →"
        ax.text(
            place, 0.02, text, transform=ax.transAxes, ha=where, va="bottom", color=MARK, fontsize="small"
        )
        return
    ax.axvline(alpha, color=MARK, linestyle="--", linewidth=1.2)
    left = np.log(alpha) < np.log(default_grid()[[0, -1]]).mean()
    ax.annotate(
        f"α = {alpha:.3g}",
        (alpha, 1),
        xycoords=("data", "axes fraction"),
        xytext=(4 if left else -4, -4),
        textcoords="offset points",
        ha="left" if left else "right",
        va="top",
        color=MARK,
        fontsize="small",
    )
