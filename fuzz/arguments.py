"""The kind `arguments`: wrong values for every parameter of every public callable."""

from __future__ import annotations

import copy
import inspect
import os
import resource
import sys
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import shopca_rs
import sklearn
from matplotlib.axes import Axes
from shopca_rs import spectrum
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from . import values
from .clouds import choose
from .trial import Refused, Trial

OURS = str(Path(shopca_rs.__file__).parent)
VALIDATION = str(Path(sklearn.__file__).parent)
DRAWING = str(Path(matplotlib.__file__).parent)

# More than any of these calls needs, less than a machine has.
MEMORY = 6 * 2**30

X = np.random.default_rng(0).normal(size=(30, 4)) * [1.0, 2.0, 3.0, 5.0]
X.flags.writeable = False
NEIGHBORS = shopca_rs.k_neighbors(X, 5)[0]
LABELS = np.arange(30) % 3
FITTED = shopca_rs.SHOPCA(2, alpha=0.01).fit(X)
SIGMA, S = FITTED.covariance_, FITTED.mean_shape_operator_
FITTED_LPP = shopca_rs.LPP(2).fit(X)
DISTANCE = FITTED.metric()
GRID = [0.1, 1.0, 10.0]
CURVE = np.linspace(0.5, 0.0, 28)
ANGLES = np.tile([1.0, 2.0], (6, 1))

# One valid value for each parameter name.
VALID = {
    "X": X,
    "Y": X[:5],
    "Z": X[:, :2],
    "k": 5,
    "neighbors": NEIGHBORS,
    "queries": X[:5],
    "points": np.arange(5),
    "alpha_grid": GRID,
    "names": LABELS.astype(str),
    "x": X[0],
    "y": X[1],
    "estimator": FITTED,
    "model": FITTED,
    "alphas": GRID,
    "gaps": [0.1, 0.5, 0.3],
    "spectrum": [3.0, 2.0, 1.0],
    "m": 2,
    "matrix": SIGMA,
    "covariance": SIGMA,
    "shape_operator": S,
    "components": FITTED.components_,
    "alpha": 0.5,
    "sample_weight": np.arange(30.0),
    "numerator": SIGMA,
    "denominator": SIGMA,
    "path": "page.html",
    "curvature": shopca_rs.curvatures(X, 20, intrinsic_dim=2),
    "results": SimpleNamespace(r_nx=CURVE, auc=0.3, standard_error=SimpleNamespace(r_nx=0 * CURVE)),
    "result": SimpleNamespace(
        angles=ANGLES,
        disjoint_angles=ANGLES[:3],
        reference=SimpleNamespace(values=FITTED.components_, features=list("abcd")),
        loadings_std=np.full((2, 4), 0.1),
        random_angle=70.0,
        n_samples=30,
        n_drawn=15,
        estimator=FITTED,
        verdict="stable",
    ),
}


# Warnings of ours.
PROMISED = "|".join(
    (
        r"The (mean shape operator|local scatter) is zero",
        r"n_neighbors = \d+ is few",
        r"\d+ of \d+ points",
        r"The points seem to fill",
    )
)


def prepare():
    """Make a request for too much memory fail instead of filling the machine."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def try_case(rng):
    """Call one function with one or two wrong arguments."""
    name = choose(rng, *TARGETS)
    function = TARGETS[name]
    parameters = _parameters(function)
    wrong = [choose(rng, *parameters) for _ in range(choose(rng, 1, 1, 1, 2))] if parameters else []
    options = _valid(function, name)
    words = {}
    for parameter in wrong:
        words[parameter], options[parameter] = values.wrong_value(
            rng, VALID.get(parameter, options.get(parameter))
        )
    context = f"{name}({', '.join(f'{key}={value}' for key, value in words.items())})"
    trial = Trial(name, context=context)
    try:
        result = trial.call(function, **options, allowed=acceptable, said=PROMISED)
    except Refused:
        pass
    else:
        trial.outcome = "answered"
        trial.check(finite(result), f"{name}: not finite", f"{context}: {result}")
    plt.close("all")
    for file in os.listdir():
        os.unlink(file)
    return trial


def acceptable(error):
    """Tell whether an exception is a sentence of ours, or scikit-learn's verdict on its input."""
    if isinstance(error, MemoryError):
        return True
    if isinstance(error, RuntimeError):
        return str(error).startswith("could not start")
    if not isinstance(error, ValueError | TypeError | NotFittedError | OSError):
        return False
    trace = error.__traceback__
    while trace.tb_next is not None:
        trace = trace.tb_next
    file = trace.tb_frame.f_code.co_filename
    if file.startswith(OURS):
        return str(error).endswith((".", "?"))
    # Colours are left to matplotlib, and an object may raise what it likes.
    return file.startswith((VALIDATION, DRAWING, values.__file__)) and not isinstance(error, OSError)


def finite(result, depth=0):
    """Tell whether all numbers of a result are finite."""
    # Points that are flagged have numbers of NaN.
    if hasattr(result, "valid"):
        return True
    if isinstance(result, np.ndarray):
        return result.dtype.kind not in "fc" or bool(np.isfinite(result).all())
    if isinstance(result, float | complex):
        # α may be infinite.
        return not np.isnan(result)
    if isinstance(result, shopca_rs.OperatorCurvatures):
        # A determinant may overflow.
        return finite(result.principal) and finite(result.mean) and not np.isnan(result.gaussian).any()
    if isinstance(result, tuple | list):
        return all(finite(part) for part in result)
    if isinstance(result, BaseEstimator) and depth == 0:
        infinite = {"alpha_", "lambda_", "bauer_fike_bound_", "alpha_grid_"}
        fitted = {name: value for name, value in vars(result).items() if name.endswith("_")}
        return all(finite(value, 1) for name, value in fitted.items() if name not in infinite)
    if isinstance(result, Axes):
        result.figure.canvas.draw()
    return True


def _parameters(function):
    kinds = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    return [name for name, p in inspect.signature(function).parameters.items() if p.kind not in kinds]


def _valid(function, name):
    """Return valid values for parameters without a default, and for `curvature`, whose default is slow."""
    options = {
        parameter: VALID[parameter]
        for parameter, p in inspect.signature(function).parameters.items()
        if (p.default is inspect.Parameter.empty or parameter == "curvature") and parameter in VALID
    }
    if name.endswith("inverse_transform"):
        options["X"] = VALID["Z"]
    return options


def _fitting(kind):
    """Return a function that takes the parameters of an estimator and fits it."""

    def fit(**options):
        table = options.pop("X", X)
        return kind(**options).fit(table)

    parameters = list(inspect.signature(kind).parameters.values())
    fit.__signature__ = inspect.Signature(
        [inspect.Parameter("X", inspect.Parameter.KEYWORD_ONLY, default=X)]
        + [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in parameters]
    )
    return fit


def _select(
    X,
    estimator=FITTED,
    n_neighbors=(5,),
    n_components=(1, 2),
    n_resamples=2,
    fraction=0.5,
    quality_neighbors=5,
    random_state=0,
    n_jobs=None,
    progress=None,
):
    """Compare few pairs."""
    return shopca_rs.select(**locals())


def _method(owner, name):
    """Return a function that calls a method on a copy: a fit must not change the cases after it."""

    def call(**options):
        return getattr(copy.deepcopy(owner), name)(**options)

    call.__signature__ = inspect.signature(getattr(owner, name))
    return call


def _targets():
    """Return all public callables and methods by their names."""
    targets = {}
    for name in shopca_rs.__all__:
        value = getattr(shopca_rs, name)
        if isinstance(value, type) and issubclass(value, BaseEstimator):
            targets[name] = _fitting(value)
        elif inspect.isfunction(value):
            targets[name] = value
    # Fewer fits than by default.
    targets["stability"] = partial(shopca_rs.stability, n_resamples=2)
    targets["select"] = _select
    for name, value in inspect.getmembers(spectrum, inspect.isfunction):
        if value.__module__ == spectrum.__name__ and not name.startswith("_"):
            targets[f"spectrum.{name}"] = value
    for owner in (FITTED, FITTED_LPP, FITTED.loadings_, DISTANCE):
        for name, value in inspect.getmembers(owner, inspect.ismethod):
            if value.__func__.__module__.startswith("shopca_rs") and (name[0] != "_" or name == "__call__"):
                targets[f"{type(owner).__name__}.{name}"] = _method(owner, name)
    return {name: function for name, function in targets.items() if _parameters(function)}


TARGETS = _targets()

if sys.platform != "linux":
    del prepare
