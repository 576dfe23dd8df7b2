"""The estimators of the kind `numbers`: what a fit promises whatever the data."""

from __future__ import annotations

import numpy as np
from shopca_rs import LPP, SHOPCA, ShapeOperatorEigenmaps, mean_shape_operator
from sklearn.decomposition import PCA

from .clouds import choose, cloud, promised, squared_span, wrapped
from .judging import JOBS, algorithms
from .trial import Refused

ZERO = "The (mean shape operator|local scatter) is zero"
NAMELESS = "X does not have valid feature names"

SHARED = (
    "components_",
    "mean_",
    "eigenvalues_",
    "explained_variance_",
    "explained_variance_ratio_",
    "covariance_",
)
FITTED = (
    *SHARED,
    "mean_shape_operator_",
    "mean_shape_operator_error_",
    "curved_covariance_",
    "scale_",
    "eigengaps_",
    "skew_ratio_",
    "imaginary_ratio_",
)
FITTED_LPP = (*SHARED, "degree_covariance_", "local_scatter_", "resolution_")


def estimator(rng, trial):
    """Fit SHOPCA with random options."""
    options = {
        "alpha": choose(rng, "auto", "auto", 0, 1, 10.0 ** rng.uniform(-8, 8), np.inf),
        "alpha_grid": choose(rng, None, None, [0, 1e-3, np.inf]),
        "criterion": choose(rng, "mass", "eigenvalue"),
    }
    _fit(rng, trial, SHOPCA, options)


def eigenmaps(rng, trial):
    """Fit Shape Operator Eigenmaps with random options."""
    _fit(rng, trial, ShapeOperatorEigenmaps, {})


def projections(rng, trial):
    """Fit LPP with random options and weights."""
    given, X, options, context = _case(rng)
    n, d = X.shape
    options |= {
        "ridge": choose(rng, 0.003, 0.003, 0, 10.0 ** rng.uniform(-12, 3)),
        "resolution": bool(rng.integers(2)),
        "max_features": choose(rng, "auto", None, int(rng.integers(1, d + 1))),
    }
    weights = choose(rng, None, None, 2.0 ** rng.integers(-3, 4, n))
    context = trial.context = f"{context}, {options}{'' if weights is None else ', weighted'}"

    def allowed(error):
        if "local scatter is singular" in str(error):
            return type(error) is ValueError and options["ridge"] < 1e-9
        return type(error) is ValueError and "Rescale" in str(error) and _is_extreme(X)

    def fit(**where):
        model = LPP(**options, **where)
        return trial.call(model.fit, given, sample_weight=weights, allowed=allowed, said=ZERO)

    model = fit(n_jobs=choose(rng, *JOBS))
    for name in FITTED_LPP:
        trial.check(np.isfinite(getattr(model, name)).all(), f"{name} is not finite", context)
    trial.check((np.diff(model.eigenvalues_) <= 0).all(), "eigenvalues not descending", context)
    trial.check((model.eigenvalues_ >= 0).all(), "negative ratio", context)
    _check_signs(trial, model, context)
    kept = len(model.local_scatter_)
    other = fit(n_jobs=choose(rng, *JOBS), algorithm=choose(rng, *algorithms(kept)))
    same = all(np.array_equal(getattr(model, name), getattr(other, name)) for name in FITTED_LPP)
    trial.check(same, "threads or algorithm change bits", context)
    trial.call(model.summary)
    _check_maps(trial, model, X, context)
    distances = trial.call(model.mahalanobis, X, said=NAMELESS)
    _check_metric(trial, distances, context)


def _case(rng):
    """Return a random table as given and as numbers, options that all estimators have, and words for them."""
    n = int(choose(rng, rng.integers(3, 20), rng.integers(10, 120)))
    d = int(choose(rng, rng.integers(1, 8), rng.integers(1, 60)))
    X, words = cloud(rng, n, d)
    given, X, wrapping = wrapped(rng, X)
    options = {
        "n_components": choose(rng, None, 1, min(2, n, d), int(rng.integers(1, min(n, d) + 1)), 0.9),
        "n_neighbors": choose(rng, "log2", "log", int(rng.integers(2, n))),
    }
    return given, X, options, f"n={n} d={d} {words}, {wrapping}"


def _is_extreme(X):
    return not promised(X) or squared_span(X) > 1e300 or np.abs(X).max() > 1e150


def _fit(rng, trial, kind, options):
    given, X, shared, context = _case(rng)
    n, d = X.shape
    options |= shared | {
        "symmetric": bool(rng.integers(2)),
        "max_features": choose(rng, None, 25, int(rng.integers(1, d + 1))),
        "degenerate": choose(rng, "average", "lapack"),
        "sample": choose(rng, None, None, int(rng.integers(2, n + 1))),
        "random_state": int(rng.integers(2**32)),
    }
    context = trial.context = f"{context}, {options}"

    def allowed(error):
        known = ("Rescale", "is so large that", "A distance needs", "Input X contains infinity")
        return type(error) is ValueError and any(part in str(error) for part in known) and _is_extreme(X)

    def fit(table, **where):
        return trial.call(kind(**options, **where).fit, table, allowed=allowed, said=ZERO)

    model = fit(given, n_jobs=choose(rng, *JOBS))
    for name in FITTED:
        trial.check(np.isfinite(getattr(model, name)).all(), f"{name} is not finite", context)
    _check_spectrum(trial, model, context)
    other = fit(given, n_jobs=choose(rng, *JOBS), algorithm=choose(rng, *algorithms(len(model.covariance_))))
    same = all(np.array_equal(getattr(model, name), getattr(other, name)) for name in FITTED)
    trial.check(same, "threads or algorithm change bits", context)
    if model._basis is None and model.sample_ == n:
        S = trial.call(mean_shape_operator, X, model.n_neighbors_, degenerate=model.degenerate)
        trial.check(np.array_equal(S, model.mean_shape_operator_), "another S̄ than the function's", context)
    trial.call(model.summary)
    if model.alpha_ == 0 and model._basis is None:
        _check_pca(trial, model, X, context)
    _check_maps(trial, model, X, context)
    _check_distance(trial, model, X, context)


def _check_spectrum(trial, model, context):
    real = model.eigenvalues_.real
    trial.check((np.diff(real) <= 0).all(), "eigenvalues not descending", context)
    lengths = np.linalg.norm(model.components_, axis=1)
    trial.check(np.allclose(lengths, 1, atol=1e-10), "components not of unit length", f"{context}: {lengths}")
    _check_signs(trial, model, context)


def _check_signs(trial, model, context):
    largest = np.take_along_axis(model.components_, np.abs(model.components_).argmax(axis=1)[:, None], axis=1)
    trial.check((largest > 0).all(), "signs of components", context)
    trial.check((model.explained_variance_ >= 0).all(), "negative variance", context)


def _check_maps(trial, model, X, context):
    Z = trial.call(model.transform, X, said=NAMELESS)
    trial.check(np.isfinite(Z).all(), "transform is not finite", context)
    back = trial.call(model.inverse_transform, Z)
    trial.check(np.isfinite(back).all(), "inverse_transform is not finite", context)
    again = trial.call(model.transform, back, said=NAMELESS)
    size = np.abs(X - model.mean_).max() + np.abs(X).max() * 1e-3
    # SHOPCA's components have unit length, LPP's that of the inverse of a deviation.
    size *= np.linalg.norm(model.components_, 2)
    condition = np.linalg.cond(model.components_)
    if condition < 1e6 and size > 0:
        off = np.abs((again - Z) / size).max()
        trial.check(off < 1e-10 * condition, "inverse_transform is no inverse", f"{context}: {off:.1e}")


def _check_distance(trial, model, X, context):
    def allowed(error):
        return type(error) is ValueError and str(error).startswith("A distance needs")

    try:
        distances = trial.call(model.mahalanobis, X, allowed=allowed, said=NAMELESS)
    except Refused:
        trial.outcome = "judged"
        return
    _check_metric(trial, distances, context)


def _check_metric(trial, distances, context):
    trial.check(np.isfinite(distances).all(), "distances are not finite", context)
    trial.check((distances >= 0).all() and not np.diag(distances).any(), "distances of no metric", context)


def _check_pca(trial, model, X, context):
    """α = 0 is scikit-learn's PCA, up to the signs and directions that rounding decides."""
    size = np.ptp(X, axis=0).max()
    # PCA centres in double precision: far from the origin it loses what is to be compared.
    if not size > 1e-6 * np.abs(X).max():
        return
    scale = np.frexp(size)[1]
    pca = PCA(svd_solver="full").fit(np.ldexp(X, -scale))
    variance = pca.explained_variance_
    m = min(len(model.components_), len(variance))
    got = np.ldexp(model.explained_variance_.astype(np.longdouble), -2 * scale)[:m]
    off = np.abs(got - variance[:m]).max() / variance[0]
    trial.check(off < 1e-10, "alpha=0 has other variances than PCA", f"{context}: {off:.1e}")
    gaps = np.abs(np.diff(np.append(variance, 0))) / variance[0]
    for j in range(m):
        if min(gaps[j], gaps[j - 1] if j else 1) > 1e-4:
            cosine = abs(model.components_[j] @ pca.components_[j])
            trial.check(
                abs(cosine - 1) < 1e-9, "alpha=0 has other components than PCA", f"{context}: {cosine}"
            )
