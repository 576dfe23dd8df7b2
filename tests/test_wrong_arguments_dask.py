"""Every parameter of everything public on dask gets what it is not for, as tests/test_wrong_arguments.py."""

from __future__ import annotations

import dask
import dask.array as da
import numpy as np
import pytest
from shopca_rs.dask import (
    LPP,
    SHOPCA,
    continuity,
    curvatures,
    from_npy,
    intrinsic_dimension,
    mean_shape_operator,
    quality,
    second_fundamental_form,
    trustworthiness,
)
from wrong import EVERYTHING, LISTS, TABLE, complaint

X = da.from_array(TABLE, chunks=(11, 4))
FITTED = SHOPCA(alpha=0).fit(X)


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


def complaints(function, values=EVERYTHING):
    found = {name: complaint(function, value=value) for name, value in values.items()}
    return {name: text for name, text in found.items() if text}


@pytest.mark.parametrize("parameter", SHOPCA().get_params())
def test_the_estimator_refuses_what_it_cannot_use_in_a_sentence(parameter):
    assert complaints(lambda value: SHOPCA(**({"sample": 9} | {parameter: value})).fit(X)) == {}


@pytest.mark.parametrize("parameter", LPP().get_params())
def test_lpp_refuses_what_it_cannot_use_in_a_sentence(parameter):
    assert complaints(lambda value: LPP(**{parameter: value}).fit(X)) == {}


@pytest.mark.parametrize(
    "parameter",
    [
        *("k", "include_self", "degenerate", "algorithm", "mode", "sample", "random_state", "return_error"),
        "sample_weight",
    ],
)
def test_the_operator_refuses_what_it_cannot_use_in_a_sentence(parameter):
    given = {"k": 5, "sample": 9}
    assert (
        complaints(lambda value: dask.compute(mean_shape_operator(X, **(given | {parameter: value})))) == {}
    )


@pytest.mark.parametrize(
    "parameter",
    [
        *("n_neighbors", "intrinsic_dim", "stages", "order", "orient", "points", "algorithm", "mode"),
        "random_state",
    ],
)
@pytest.mark.parametrize("function", [curvatures, second_fundamental_form])
def test_curvature_refuses_what_it_cannot_use_in_a_sentence(function, parameter):
    given = {"n_neighbors": 9, "intrinsic_dim": 2, "order": 2, "points": [3, 5]}
    assert complaints(lambda value: function(X, **(given | {parameter: value})).compute()) == {}


@pytest.mark.parametrize("parameter", ["method", "n_neighbors", "points", "algorithm", "mode"])
def test_the_intrinsic_dimension_refuses_what_it_cannot_use_in_a_sentence(parameter):
    assert complaints(lambda value: intrinsic_dimension(X, **({"points": [3, 5]} | {parameter: value}))) == {}


def curvature_of(X, mode):
    return curvatures(X, 9, intrinsic_dim=2, order=2, mode=mode).mean


METHODS = {
    "fit": SHOPCA().fit,
    "fit sharded": SHOPCA(mode="sharded").fit,
    "fit with PCA first": SHOPCA(max_features=2).fit,
    "fit_transform": SHOPCA().fit_transform,
    "LPP.fit": LPP().fit,
    "LPP.fit sharded": LPP(mode="sharded").fit,
    "LPP.from_plain": LPP.from_plain,
    "transform": FITTED.transform,
    "inverse_transform": FITTED.inverse_transform,
    "mahalanobis": FITTED.mahalanobis,
    "mean_shape_operator": lambda X: mean_shape_operator(X, 5, mode="replicated"),
    "mean_shape_operator sharded": lambda X: mean_shape_operator(X, 5, mode="sharded"),
    "from_plain": SHOPCA.from_plain,
    "curvatures": lambda X: curvature_of(X, "replicated"),
    "curvatures sharded": lambda X: curvature_of(X, "sharded"),
    "intrinsic_dimension": intrinsic_dimension,
}


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_what_is_no_dask_collection_is_refused_in_a_sentence_or_taken_as_in_memory(method):
    assert complaints(lambda value: dask.compute(method(value))) == {}


ARRAYS = {name: value for name, value in LISTS.items() if isinstance(value, np.ndarray)}


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_an_array_that_is_no_table_of_numbers_is_refused_in_a_sentence(method):
    assert complaints(lambda value: dask.compute(method(da.from_array(value, chunks=-1))), ARRAYS) == {}


def test_a_file_is_opened_by_a_path_and_a_number_of_rows_alone(tmp_path):
    path = tmp_path / "points.npy"
    np.save(path, TABLE)
    assert complaints(lambda value: from_npy(path, value)) == {}
    no_files = {
        name: value for name, value in EVERYTHING.items() if name not in ("text", "a number as text", "path")
    }
    assert complaints(lambda value: from_npy(value), no_files) == {}
    with pytest.raises(FileNotFoundError, match="nowhere"):
        from_npy(tmp_path / "nowhere.npy")


@pytest.mark.parametrize("parameter", ["X", "Z", "n_neighbors", "sample", "random_state", "mode"])
@pytest.mark.parametrize("function", [trustworthiness, continuity, quality])
def test_quality_refuses_what_it_cannot_use_in_a_sentence(function, parameter):
    given = {"X": X, "Z": X[:, :2], "sample": 9}
    assert complaints(lambda value: function(**(given | {parameter: value}))) == {}
