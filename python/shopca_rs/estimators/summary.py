"""A fitted estimator in words."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..diagnostics import angles_to_pca, relative_error
from ..spectrum import eigengap


def at_grid_end(estimator: Any) -> bool:
    """Tell whether α was chosen at an end of its grid: a larger grid may have a better one."""
    grid = estimator.alpha_grid_
    return len(grid) > 1 and estimator.alpha_ in (grid.min(), grid.max())


def summary(estimator: Any) -> str:
    """Describe a fitted estimator in a few lines; see `SHOPCA.summary` and `LPP.summary`."""
    m, d = estimator.components_.shape
    kept = len(estimator.covariance_)
    through = f", through {kept} principal components" if kept < d else ""
    rule = f' (rule "{estimator.n_neighbors}")' if isinstance(estimator.n_neighbors, str) else ""
    own = ", and the point itself" if getattr(estimator, "include_self", False) else ""
    variance = f"{estimator.explained_variance_ratio_.sum():.1%} of the total"
    lines = [
        f"{type(estimator).__name__}: {_count(d, 'feature')} to {_count(m, 'component')}{through}",
        f"  neighbours       k = {estimator.n_neighbors_}{rule}{own}",
        *(_of_ratios(estimator, m) if hasattr(estimator, "local_scatter_") else _of_curvature(estimator)),
        f"  from PCA         {_angles(estimator)}",
        f"  variance         {variance}, summed over the components",
        *estimator.loadings_.lines(),
    ]
    return "\n".join(lines)


def _of_curvature(estimator: Any) -> list[str]:
    weight = f"alpha = {estimator.alpha_:.4g}, lambda = {estimator.lambda_:.4g}"
    return [
        *_sample(estimator),
        f"  mixing           {weight}{_how(estimator)}",
        f"  eigengap         {_gap(estimator)}",
        f"  skew ratio       {estimator.skew_ratio_:.3g} (0 is a symmetric shape operator)",
        f"  spectrum         {_realness(estimator.imaginary_ratio_)}",
        f"  eigenvalue shift at most {estimator.bauer_fike_bound_:.4g} (Bauer-Fike)",
    ]


def _of_ratios(estimator: Any, m: int) -> list[str]:
    if estimator._is_pca:
        return ["  local scatter    zero (PCA: neighbours do not differ)"]
    values = estimator.eigenvalues_
    ratios = ", ".join(f"{ratio:.4g}" for ratio in values[: min(m, 6)]) + (", …" if m > 6 else "")
    following = f", the next {values[m]:.4g}" if m < len(values) else ""
    ridge = float(estimator.ridge)
    return [
        f"  local scatter    {_resolution_share(estimator, ridge):.1%} of it resolution, ridge {ridge:g}",
        f"  ratios           {ratios}{following} (global to local variance)",
    ]


def _resolution_share(estimator: Any, ridge: float) -> float:
    r, basis = estimator.resolution_, estimator._basis
    own = r.sum() if basis is None else (basis**2 * r).sum()
    # tr B = tr G (1 + ε n_kept)
    B = estimator.local_scatter_
    return float(own / np.trace(B) * (1 + ridge * len(B)))


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")


def _sample(estimator: Any) -> list[str]:
    n, m = estimator.n_samples_, estimator.sample_
    if m == n:
        return []
    error = relative_error(estimator.mean_shape_operator_, estimator.mean_shape_operator_error_)
    return [f"  sample           {m} of {n} points, relative error of the shape operator about {error:.2g}"]


def _how(estimator: Any) -> str:
    grid = estimator.alpha_grid_
    if estimator.alpha_ == 0 and estimator.scale_ == 0:
        return " (PCA: no curvature was found)"
    if len(grid) == 1:
        return " (given)"
    place = ", at the end of its grid" if at_grid_end(estimator) else ""
    return f' (best of {len(grid)} by criterion "{estimator.criterion}"{place})'


def chosen_gap(estimator: Any) -> float:
    """Return the eigengap at the α of a fit."""
    if estimator._eigengaps is None:
        return float(eigengap(estimator.eigenvalues_, estimator.n_components_, estimator._criterion))
    return float(estimator._eigengaps[np.flatnonzero(estimator.alpha_grid_ == estimator.alpha_)[0]])


def _gap(estimator: Any) -> str:
    chosen = chosen_gap(estimator)
    if len(estimator.alpha_grid_) == 1:
        return f"{chosen:.4g}"
    return f"{chosen:.4g} (median over the grid {np.median(estimator.eigengaps_):.4g})"


def _realness(ratio: float) -> str:
    if ratio == 0:
        return "real"
    return f"complex: imaginary parts up to {ratio:.2%} of the largest eigenvalue"


def _angles(estimator: Any) -> str:
    rows, basis = estimator.components_, estimator._basis
    angles = angles_to_pca(estimator.covariance_, (rows if basis is None else rows @ basis.T).T)
    listed = ", ".join(f"{angle:.1f}°" for angle in angles[:6])
    return f"principal angles {listed}" + (", …" if len(angles) > 6 else "")
