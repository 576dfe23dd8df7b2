"""The methods of `shopca embed`: their options, estimators and summaries of the fit."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING, Any

from .options import worth_a_bar

if TYPE_CHECKING:
    from ...estimators.linear_projection import LinearProjection

METHODS = ("shopca", "lpp", "pca", "eigenmaps")

# Options of some methods only: the value if the option is not given, and the methods that have it.
_CURVED = ("shopca", "eigenmaps")
_NEIGHBORS = ("shopca", "eigenmaps", "lpp")
_ABSENT = object()
_OPTIONS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "alpha": ("auto", ("shopca",)),
    "criterion": ("mass", ("shopca",)),
    "include_self": (False, _CURVED),
    "symmetric": (False, _CURVED),
    "degenerate": ("average", _CURVED),
    "sample": (None, _CURVED),
    "explore": (None, _NEIGHBORS),
    "neighbors": ("log2", _NEIGHBORS),
    "max_features": (_ABSENT, _NEIGHBORS),
    "jobs": (None, _NEIGHBORS),
}
_PARAMETERS = {"neighbors": "n_neighbors", "jobs": "n_jobs"}


def check_method(args: Namespace) -> None:
    """Reject options that the method does not have.

    Parameters
    ----------
    args : Namespace
        The arguments.

    Raises
    ------
    ValueError
        With one sentence that names the methods that have the option.
    """
    for name, (absent, methods) in _OPTIONS.items():
        if args.method not in methods and getattr(args, name, absent) != absent:
            having = " or ".join(methods)
            raise ValueError(
                f"--{name.replace('_', '-')} must come with --method {having}, got --method {args.method}. "
                "Leave one of them out."
            )


def make_estimator(args: Namespace, X: Any) -> LinearProjection:
    """Return the estimator of the method with the options that were given.

    Parameters
    ----------
    args : Namespace
        The arguments.
    X : ndarray of shape (n, d)
        What it will be fitted to.

    Returns
    -------
    estimator : SHOPCA, ShapeOperatorEigenmaps or LPP
        Not yet fitted.
    """
    from ...estimators.lpp import LPP
    from ...estimators.shopca import SHOPCA, ShapeOperatorEigenmaps

    if args.method == "pca":
        # At α = 0 the shape operator has no weight: estimate it from two rows, the fewest allowed.
        most = {} if args.components is not None else {"max_features": min(X.shape)}
        return SHOPCA(args.components, alpha=0, sample=2, **most)
    options = {
        _PARAMETERS.get(name, name): getattr(args, name)
        for name, (_, methods) in _OPTIONS.items()
        if args.method in methods and name != "explore" and hasattr(args, name)
    }
    kinds: dict[str, type[LinearProjection]] = {
        "shopca": SHOPCA,
        "eigenmaps": ShapeOperatorEigenmaps,
        "lpp": LPP,
    }
    return kinds[args.method](args.components, **options, verbose=worth_a_bar(args, X))


def told(args: Namespace, model: Any) -> str:
    """Describe a fit in a few words.

    Parameters
    ----------
    args : Namespace
        The arguments.
    model : SHOPCA, ShapeOperatorEigenmaps or LPP
        The fitted estimator.

    Returns
    -------
    words : str
        For the summary.
    """
    if args.method == "pca":
        return f"{model.explained_variance_ratio_.sum():.1%} of the variance"
    if args.method == "lpp":
        ratios = ", ".join(f"{ratio:.4g}" for ratio in model.eigenvalues_[: min(model.n_components_, 6)])
        return f"k = {model.n_neighbors_}, global to local variance {ratios}"

    from ...estimators.summary import at_grid_end, chosen_gap

    end = " (the end of its grid)" if at_grid_end(model) else ""
    return (
        f"k = {model.n_neighbors_}, α = {model.alpha_:.4g}{end}, λ = {model.lambda_:.4g}, "
        f"eigengap {chosen_gap(model):.4g}"
    )


def stored(args: Namespace, model: Any) -> dict[str, Any]:
    """Return the numbers of a fit that are stored with its map.

    Parameters
    ----------
    args : Namespace
        The arguments.
    model : SHOPCA, ShapeOperatorEigenmaps or LPP
        The fitted estimator.

    Returns
    -------
    numbers : dict
        For JSON.
    """
    if args.method == "pca":
        return {"explained_variance_ratio": model.explained_variance_ratio_.tolist()}
    if args.method == "lpp":
        return {"neighbors": model.n_neighbors_, "ratios": model.eigenvalues_.tolist()}
    from ...estimators.summary import chosen_gap

    infinite = model.alpha_ == float("inf")
    return {
        "neighbors": model.n_neighbors_,
        # JSON has no infinity.
        "alpha": "inf" if infinite else model.alpha_,
        "lambda": "inf" if infinite else model.lambda_,
        "eigengap": chosen_gap(model),
    }
