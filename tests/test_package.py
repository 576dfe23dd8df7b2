import importlib.metadata
import importlib.resources
import inspect
from inspect import Parameter

import numpy as np
import pytest
import shopca_rs

REQUIRED = Parameter.empty
SHARED = {"include_self": False, "degenerate": "average", "algorithm": "auto", "neighbors": None}
SHARED |= {"n_jobs": None, "progress": None}
GEOMETRY = {
    "X": REQUIRED,
    "n_neighbors": "auto",
    "intrinsic_dim": "auto",
    "stages": "auto",
    "order": "auto",
    "orient": False,
    "points": None,
    "neighbors": None,
    "algorithm": "auto",
    "n_jobs": None,
    "progress": None,
    "random_state": 0,
}
SIGNATURES = {
    "mean_shape_operator": {"X": REQUIRED, "k": REQUIRED}
    | SHARED
    | {"sample": None, "random_state": 0, "return_error": False, "sample_weight": None},
    "shape_sum": {"X": REQUIRED, "k": REQUIRED, "points": None}
    | {"include_self": False, "degenerate": "average", "algorithm": "auto", "n_jobs": None},
    "local_shape_operators": {"X": REQUIRED, "k": REQUIRED, "points": None} | SHARED,
    "operator_curvatures": {"X": REQUIRED, "k": REQUIRED} | SHARED,
    "second_fundamental_form": GEOMETRY,
    "curvatures": GEOMETRY | {"removed": REQUIRED},
    "intrinsic_dimension": {"X": REQUIRED, "method": "mle", "n_neighbors": 20, "points": None}
    | {"algorithm": "auto", "n_jobs": None, "progress": None},
    "trustworthiness": {"X": REQUIRED, "Z": REQUIRED, "n_neighbors": 5, "sample": None, "random_state": 0}
    | {"return_error": False, "n_jobs": None, "progress": None},
    "continuity": {"X": REQUIRED, "Z": REQUIRED, "n_neighbors": 5, "sample": None, "random_state": 0}
    | {"return_error": False, "n_jobs": None, "progress": None},
    "quality": {"X": REQUIRED, "Z": REQUIRED, "n_neighbors": 10, "sample": None, "random_state": 0}
    | {"n_jobs": None, "progress": None},
    "k_neighbors": {
        "X": REQUIRED,
        "k": REQUIRED,
        "queries": None,
        "algorithm": "auto",
        "n_jobs": None,
        "progress": None,
    },
    "loadings": {"model": REQUIRED},
    "resolution": {"X": REQUIRED, "sample_weight": None},
    "stability": {"estimator": REQUIRED, "X": REQUIRED, "n_resamples": 20, "fraction": 0.5}
    | {"bootstrap": False, "sign_flip": False, "random_state": 0, "n_jobs": None, "progress": None},
    "select": {"X": REQUIRED, "estimator": None, "n_neighbors": None, "n_components": None}
    | {"n_resamples": 10, "fraction": 0.5, "quality_neighbors": 10}
    | {"random_state": 0, "n_jobs": None, "progress": None},
    "write_report": {"X": REQUIRED, "y": None, "path": "report.html", "feature_names": None, "label": None}
    | {"title": None, "preparation": "The columns are used as given.", "notes": ()}
    | {"n_components": 2, "n_neighbors": "log2", "sample": 2000, "n_jobs": None, "progress": False},
}


@pytest.mark.parametrize("name", shopca_rs.__all__)
def test_every_public_name_exists(name):
    assert getattr(shopca_rs, name) is not None


def test_the_contract_is_public():
    assert len(set(shopca_rs.__all__)) == len(shopca_rs.__all__)
    assert set(SIGNATURES) | {"Curvatures", "OperatorCurvatures", "__version__"} <= set(shopca_rs.__all__)


@pytest.mark.parametrize("name", SIGNATURES)
def test_signatures_are_those_of_the_contract(name):
    parameters = inspect.signature(getattr(shopca_rs, name)).parameters
    assert {key: parameter.default for key, parameter in parameters.items()} == SIGNATURES[name]
    assert list(parameters) == list(SIGNATURES[name])
    for key, parameter in parameters.items():
        by_position = (
            key in ("X", "Z", "k", "model")
            or (key == "sample_weight" and name == "resolution")
            or (key == "estimator" and name == "stability")
            or (key == "n_neighbors" and name not in ("intrinsic_dimension", "select", "write_report"))
            or (key in ("y", "path") and name == "write_report")
        )
        if parameter.kind is not Parameter.VAR_KEYWORD:
            expected = Parameter.POSITIONAL_OR_KEYWORD if by_position else Parameter.KEYWORD_ONLY
            assert parameter.kind is expected, key


def test_options_are_refused_by_position():
    with pytest.raises(TypeError, match="positional"):
        shopca_rs.mean_shape_operator(np.eye(5), 2, "average")


def test_operator_curvatures_are_a_tuple_with_names():
    result = shopca_rs.operator_curvatures(np.random.default_rng(0).normal(size=(20, 3)), 5)
    principal, mean, gaussian = result
    assert type(result) is shopca_rs.OperatorCurvatures
    assert result._fields == ("principal", "mean", "gaussian")
    assert (principal.shape, mean.shape, gaussian.shape) == ((20, 3), (20,), (20,))
    assert np.array_equal(result.principal, principal)


def test_the_version_is_that_of_the_installed_package():
    assert shopca_rs.__version__ == importlib.metadata.version("shopca-rs")


@pytest.mark.parametrize("file", ["py.typed", "_core.pyi"])
def test_types_ship_with_the_package(file):
    assert importlib.resources.files("shopca_rs").joinpath(file).is_file()


def test_importing_every_module_imports_no_library_for_pictures(run_python):
    code = (
        "import sys, shopca_rs; shopca_rs.SHOPCA; import shopca_rs.plotting, shopca_rs.explorer\n"
        "print([m for m in ('matplotlib', 'plotly') if m in sys.modules])"
    )
    assert run_python(code).strip() == "[]"


def test_importing_the_package_alone_imports_nothing_heavy(run_python):
    # scikit-learn imports pandas and most of SciPy: more than a second before the first line of ours.
    code = (
        "import sys, shopca_rs\n"
        "print([m for m in ('sklearn', 'scipy', 'pandas', 'matplotlib', 'plotly') if m in sys.modules])"
    )
    assert run_python(code).strip() == "[]"


@pytest.mark.parametrize(
    "library",
    [
        "matplotlib",
        "plotly",
        "pandas",
        "polars",
        "tqdm",
        "umap",
        "openTSNE",
        "anndata",
        "scanpy",
        "onnx",
        "sklearn",
    ],
)
def test_import_leaves_optional_libraries_alone(library, run_python):
    code = "import sys, shopca_rs; print(sys.argv[1] in sys.modules)"
    assert run_python(code, library).strip() == "False"


@pytest.mark.parametrize("name", SIGNATURES)
@pytest.mark.parametrize("section", ["Parameters", "Returns", "Examples"])
def test_public_functions_are_documented(name, section):
    documentation = inspect.getdoc(getattr(shopca_rs, name))
    assert f"\n{section}\n{'-' * len(section)}\n" in documentation


@pytest.mark.parametrize("name", SIGNATURES)
def test_documentation_names_every_parameter(name):
    function = getattr(shopca_rs, name)
    described = inspect.getdoc(function).split("Returns\n-------")[0]
    for parameter in inspect.signature(function).parameters:
        assert parameter in described
