"""Every parameter of everything public gets what it is not for: it is refused in a sentence, or works."""

from __future__ import annotations

import inspect

import matplotlib
import numpy as np
import pytest
import shopca_rs
from shopca_rs import LPP, SHOPCA, ShapeOperatorEigenmaps, diagnostics, spectrum, varying
from shopca_rs.estimators import metric
from shopca_rs.report import findings, writer
from wrong import EVERYTHING, TABLE, complaint

matplotlib.use("agg")

FITTED = SHOPCA(alpha=0.5, n_neighbors=5).fit(TABLE)
SIGMA, S = FITTED.covariance_, FITTED.mean_shape_operator_
BOTH = {"covariance": SIGMA, "shape_operator": S}
METRIC = SHOPCA(alpha=0).fit(TABLE).metric()
BENT = shopca_rs.curvatures(TABLE, 20, intrinsic_dim=2)
FITTED_LPP = LPP(n_neighbors=5).fit(TABLE)
REFITTED = shopca_rs.stability(FITTED_LPP, TABLE, n_resamples=2)


def fitting(make):
    return lambda X=TABLE, **parameters: make(**parameters).fit(X)


def selecting(
    X,
    estimator=FITTED_LPP,
    n_neighbors=(5,),
    n_components=(1,),
    n_resamples=2,
    fraction=0.5,
    quality_neighbors=5,
    random_state=0,
    n_jobs=None,
    progress=None,
):
    return shopca_rs.select(**locals())


FUNCTIONS = {
    "mean_shape_operator": (shopca_rs.mean_shape_operator, {"X": TABLE, "k": 5, "sample": 9}),
    "shape_sum": (shopca_rs.shape_sum, {"X": TABLE, "k": 5}),
    "local_shape_operators": (shopca_rs.local_shape_operators, {"X": TABLE, "k": 5}),
    "operator_curvatures": (shopca_rs.operator_curvatures, {"X": TABLE, "k": 5}),
    "curvatures": (shopca_rs.curvatures, {"X": TABLE, "n_neighbors": 20, "intrinsic_dim": 2}),
    "second_fundamental_form": (
        shopca_rs.second_fundamental_form,
        {"X": TABLE, "n_neighbors": 20, "intrinsic_dim": 2},
    ),
    "intrinsic_dimension": (shopca_rs.intrinsic_dimension, {"X": TABLE, "n_neighbors": 5}),
    "k_neighbors": (shopca_rs.k_neighbors, {"X": TABLE, "k": 5}),
    "resolution": (shopca_rs.resolution, {"X": TABLE}),
    "trustworthiness": (shopca_rs.trustworthiness, {"X": TABLE, "Z": TABLE[:, :2], "sample": 9}),
    "continuity": (shopca_rs.continuity, {"X": TABLE, "Z": TABLE[:, :2]}),
    "quality": (shopca_rs.quality, {"X": TABLE, "Z": TABLE[:, :2], "sample": 9}),
    "transform": (FITTED.transform, {}),
    "inverse_transform": (FITTED.inverse_transform, {}),
    "mahalanobis": (SHOPCA(alpha=0).fit(TABLE).mahalanobis, {"X": TABLE}),
    "SHOPCA.fit": (SHOPCA().fit, {"X": TABLE}),
    "LPP.fit": (LPP().fit, {"X": TABLE}),
    "LPP.transform": (FITTED_LPP.transform, {}),
    "LPP.inverse_transform": (FITTED_LPP.inverse_transform, {}),
    "LPP.mahalanobis": (FITTED_LPP.mahalanobis, {"X": TABLE}),
    "kneighbors": (shopca_rs.NearestNeighbors().fit(TABLE).kneighbors, {"X": TABLE}),
    "kneighbors_graph": (shopca_rs.NearestNeighbors().fit(TABLE).kneighbors_graph, {"X": TABLE}),
    "metric": (METRIC, {"x": TABLE[0], "y": TABLE[1]}),
    "metric.pairwise": (METRIC.pairwise, {"X": TABLE}),
    "CurvedMetric": (metric.CurvedMetric, {}),
    "whitening": (
        metric.whitening,
        BOTH | {"curved": SIGMA, "alpha": 0.0},
    ),
    "largest_alpha": (metric.largest_alpha, BOTH),
    "symmetric_part": (spectrum.symmetric_part, {}),
    "covariance_scale": (spectrum.covariance_scale, BOTH),
    "curved_covariance": (
        spectrum.curved_covariance,
        BOTH | {"alpha": 1.0},
    ),
    "eigenvalues": (spectrum.eigenvalues, {}),
    "spectra": (spectrum.spectra, BOTH | {"alphas": [1.0]}),
    "eigengap": (spectrum.eigengap, {"spectrum": [3.0, 2.0, 1.0], "m": 1}),
    "choose_alpha": (spectrum.choose_alpha, {"alphas": [1.0, 2.0], "gaps": [0.1, 0.2]}),
    "leading_directions": (spectrum.leading_directions, {"matrix": SIGMA, "m": 2}),
    "leading_ratios": (
        spectrum.leading_ratios,
        {"numerator": SIGMA, "denominator": SIGMA, "m": 2},
    ),
    "fix_signs": (spectrum.fix_signs, {}),
    "on_varying_directions": (varying.on_varying_directions, BOTH),
    "skew_ratio": (diagnostics.skew_ratio, {}),
    "imaginary_ratio": (diagnostics.imaginary_ratio, {}),
    "bauer_fike_bound": (diagnostics.bauer_fike_bound, {"shape_operator": S, "lambda_": 1.0}),
    "relative_error": (diagnostics.relative_error, {"shape_operator": S, "standard_error": abs(S)}),
    "angles_to_pca": (diagnostics.angles_to_pca, {"covariance": SIGMA, "directions": np.eye(4)[:, :2]}),
    "stability": (
        shopca_rs.stability,
        {"estimator": LPP(n_neighbors=5), "X": TABLE, "n_resamples": 2, "sign_flip": True},
    ),
    "select": (selecting, {"X": TABLE}),
    "loadings": (shopca_rs.loadings, {}),
    "loadings.top": (FITTED.loadings_.top, {}),
}
PLOTS = {
    "plot_eigengap": (shopca_rs.plot_eigengap, {"estimator": FITTED}),
    "plot_spectrum": (shopca_rs.plot_spectrum, {"estimator": FITTED}),
    "plot_embedding": (shopca_rs.plot_embedding, {"estimator": FITTED, "X": TABLE, "y": TABLE[:, 0]}),
    "plot_curvature": (shopca_rs.plot_curvature, {"estimator": FITTED, "X": TABLE, "curvature": BENT}),
    "plot_cloud": (shopca_rs.plot_cloud, {"X": TABLE, "curvature": BENT}),
    "plot_biplot": (shopca_rs.plot_biplot, {"estimator": FITTED, "X": TABLE, "y": TABLE[:, 0]}),
    "plot_scree": (shopca_rs.plot_scree, {"estimator": FITTED}),
    "plot_quality": (shopca_rs.plot_quality, {"results": shopca_rs.quality(TABLE, TABLE[:, :2])}),
    "plot_loadings": (shopca_rs.plot_loadings, {"estimator": FITTED}),
    "plot_stability": (shopca_rs.plot_stability, {"result": REFITTED}),
    "plot_quality of an embedding": (
        shopca_rs.plot_quality,
        {"results": TABLE[:, :2], "X": TABLE, "sample": 9},
    ),
    "plot_stability of loadings": (shopca_rs.plot_stability, {"result": REFITTED, "kind": "loadings"}),
}
# Pictures of several parts, which take no options for matplotlib.
WITHOUT_OPTIONS = {"plot_loadings", "plot_stability", "plot_stability of loadings"}
ESTIMATORS = {
    "SHOPCA": (fitting(SHOPCA), ["X", *SHOPCA().get_params()]),
    "SHOPCA with a sample": (
        lambda **parameters: fitting(SHOPCA)(**{"sample": 9, **parameters}),
        ["n_components", "random_state", "max_features"],
    ),
    "ShapeOperatorEigenmaps": (
        fitting(ShapeOperatorEigenmaps),
        ["X", *ShapeOperatorEigenmaps().get_params()],
    ),
    "LPP": (fitting(LPP), ["X", *LPP().get_params()]),
    "NearestNeighbors": (
        fitting(shopca_rs.NearestNeighbors),
        ["X", *shopca_rs.NearestNeighbors().get_params()],
    ),
    "KNeighborsTransformer": (
        lambda X=TABLE, **parameters: shopca_rs.KNeighborsTransformer(**parameters).fit_transform(X),
        ["X", *shopca_rs.KNeighborsTransformer().get_params()],
    ),
    "published": (fitting(SHOPCA.published), ["n_components", "alpha_grid"]),
}


def parameters_of(table):
    for name, (function, given) in table.items():
        for parameter in inspect.signature(function).parameters.values():
            if parameter.kind is not parameter.VAR_KEYWORD:
                yield pytest.param(function, given, parameter.name, id=f"{name}-{parameter.name}")


def complaints(function, given, parameter):
    values = EVERYTHING.items()
    if parameter == "progress":
        # What a callable raises is its own affair.
        values = [(name, value) for name, value in values if not callable(value)]
    found = {name: complaint(function, **(given | {parameter: value})) for name, value in values}
    return {name: text for name, text in found.items() if text}


@pytest.mark.parametrize(("function", "given", "parameter"), list(parameters_of(FUNCTIONS)))
def test_a_function_refuses_what_it_cannot_use_in_a_sentence(function, given, parameter):
    assert complaints(function, given, parameter) == {}


@pytest.mark.parametrize(
    ("fit", "parameter"),
    [
        pytest.param(fit, parameter, id=f"{name}-{parameter}")
        for name, (fit, parameters) in ESTIMATORS.items()
        for parameter in parameters
    ],
)
def test_an_estimator_refuses_what_it_cannot_use_in_a_sentence(fit, parameter):
    assert complaints(fit, {}, parameter) == {}


@pytest.fixture
def figures():
    from matplotlib import pyplot as plt

    plt.close("all")
    yield plt.get_fignums
    plt.close("all")


@pytest.mark.parametrize(("function", "given", "parameter"), list(parameters_of(PLOTS)))
def test_a_picture_refuses_what_it_cannot_use_in_a_sentence(function, given, parameter, figures):
    from matplotlib import pyplot as plt

    solid = function is shopca_rs.plot_cloud
    given = given | {"ax": plt.figure().add_subplot(projection="3d" if solid else None)}
    assert complaints(function, given, parameter) == {}


@pytest.mark.parametrize("name", [name for name in PLOTS if name not in WITHOUT_OPTIONS])
@pytest.mark.parametrize("options", [{"nonsense": 1}, {"color": object()}, {"alpha": "x"}, {"zorder": "top"}])
def test_options_for_matplotlib_that_it_does_not_know_are_refused_in_a_sentence(name, options, figures):
    function, given = PLOTS[name]
    assert complaint(function, **given, **options) is None


@pytest.mark.parametrize("name", PLOTS)
def test_a_picture_that_is_refused_leaves_no_empty_figure(name, figures):
    function, given = PLOTS[name]
    for wrong in (
        {"estimator": 5},
        {"alpha_grid": "x"},
        {"X": "x"},
        {"curvature": 3},
        {"components": 7},
        {"result": 3},
        {"results": 3},
        {"names": 3},
        {"cmap": "nonsense"},
    ):
        if next(iter(wrong)) in inspect.signature(function).parameters:
            with pytest.raises((ValueError, TypeError)):
                function(**(given | wrong))
    assert figures() == []


@pytest.mark.parametrize(
    "parameter", ["estimator", "X", "y", "path", "names", "title", "feature_names", "n_steps", "max_points"]
)
@pytest.mark.parametrize(
    "model", [FITTED, shopca_rs.LPP().fit(TABLE)], ids=lambda model: type(model).__name__
)
def test_the_explorer_refuses_what_it_cannot_use_in_a_sentence(model, parameter, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    given = {"estimator": model, "X": TABLE, "path": "page.html", "n_steps": 2}
    assert complaints(shopca_rs.explore, given, parameter) == {}


@pytest.mark.parametrize("parameter", inspect.signature(shopca_rs.write_report).parameters)
def test_the_report_refuses_what_it_cannot_use_in_a_sentence(parameter, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # Fits are enough: what takes the arguments of nobody is left out.
    for name in ("quality", "stability", "curvatures"):
        monkeypatch.setattr(findings, name, lambda *arguments, **options: None)
    monkeypatch.setattr(writer, "draw_all", lambda *parts: None)
    monkeypatch.setattr(writer, "as_page", lambda *parts: "")
    assert complaints(shopca_rs.write_report, {"X": TABLE, "path": "page.html"}, parameter) == {}


@pytest.mark.parametrize("parameter", inspect.signature(shopca_rs.explore_cloud).parameters)
def test_the_page_of_a_cloud_refuses_what_it_cannot_use_in_a_sentence(parameter, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    given = {"X": TABLE, "curvature": BENT, "path": "page.html"}
    assert complaints(shopca_rs.explore_cloud, given, parameter) == {}


@pytest.mark.parametrize("value", [10**400, -(10**400), 10**5000], ids=["huge", "negative", "without a text"])
def test_an_integer_that_no_float_holds_is_named_with_its_parameter(value):
    for call in (
        lambda: SHOPCA(alpha=value).fit(TABLE),
        lambda: SHOPCA(alpha_grid=[value]).fit(TABLE),
        lambda: spectrum.curved_covariance(SIGMA, S, value),
    ):
        with pytest.raises((ValueError, TypeError), match="alpha"):
            call()
    with pytest.raises((ValueError, TypeError), match="X must hold real numbers"):
        FITTED.transform([[value] * 4])
