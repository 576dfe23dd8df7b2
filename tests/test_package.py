import importlib.metadata
import importlib.resources
import inspect
from inspect import Parameter

import numpy as np
import pytest
import shopca_rs

REQUIRED = Parameter.empty
SHARED = {"degenerate": "average", "algorithm": "auto", "neighbors": None, "n_jobs": None, "progress": None}
SIGNATURES = {
    "mean_shape_operator": {"X": REQUIRED, "k": REQUIRED}
    | SHARED
    | {"sample": None, "random_state": 0, "return_error": False},
    "shape_sum": {"X": REQUIRED, "k": REQUIRED, "points": None}
    | {"degenerate": "average", "algorithm": "auto", "n_jobs": None},
    "local_shape_operators": {"X": REQUIRED, "k": REQUIRED, "points": None} | SHARED,
    "curvatures": {"X": REQUIRED, "k": REQUIRED} | SHARED,
    "k_neighbors": {
        "X": REQUIRED,
        "k": REQUIRED,
        "queries": None,
        "algorithm": "auto",
        "n_jobs": None,
        "progress": None,
    },
}


@pytest.mark.parametrize("name", shopca_rs.__all__)
def test_every_public_name_exists(name):
    assert getattr(shopca_rs, name) is not None


def test_the_contract_is_public():
    assert len(set(shopca_rs.__all__)) == len(shopca_rs.__all__)
    assert set(SIGNATURES) | {"Curvatures", "__version__"} <= set(shopca_rs.__all__)


@pytest.mark.parametrize("name", SIGNATURES)
def test_signatures_are_those_of_the_contract(name):
    parameters = inspect.signature(getattr(shopca_rs, name)).parameters
    assert {key: parameter.default for key, parameter in parameters.items()} == SIGNATURES[name]
    assert list(parameters) == list(SIGNATURES[name])
    for key, parameter in parameters.items():
        expected = Parameter.POSITIONAL_OR_KEYWORD if key in ("X", "k") else Parameter.KEYWORD_ONLY
        assert parameter.kind is expected, key


def test_options_are_refused_by_position():
    with pytest.raises(TypeError, match="positional"):
        shopca_rs.mean_shape_operator(np.eye(5), 2, "average")


def test_curvatures_is_a_tuple_with_names():
    result = shopca_rs.curvatures(np.random.default_rng(0).normal(size=(20, 3)), 5)
    principal, mean, gaussian = result
    assert type(result) is shopca_rs.Curvatures
    assert result._fields == ("principal", "mean", "gaussian")
    assert (principal.shape, mean.shape, gaussian.shape) == ((20, 3), (20,), (20,))
    assert np.array_equal(result.principal, principal)


def test_the_version_is_that_of_the_installed_package():
    assert shopca_rs.__version__ == importlib.metadata.version("shopca-rs")


@pytest.mark.parametrize("file", ["py.typed", "_core.pyi"])
def test_types_ship_with_the_package(file):
    assert importlib.resources.files("shopca_rs").joinpath(file).is_file()


@pytest.mark.parametrize("library", ["matplotlib", "plotly", "pandas", "polars", "tqdm"])
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
