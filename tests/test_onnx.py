"""Models in ONNX give what `transform` gives. Skipped where the libraries are missing."""

from __future__ import annotations

import numpy as np
import pytest
from nasty import continuous
from shopca_rs import LPP, SHOPCA, ShapeOperatorEigenmaps
from shopca_rs.integrations.onnx import register_converters, to_onnx
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

X = continuous(120, 40, seed=1)
PRECISIONS = [(np.float32, 1e-6), (np.float64, 1e-12)]
every_estimator = pytest.mark.parametrize("make", [SHOPCA, ShapeOperatorEigenmaps, LPP])
every_precision = pytest.mark.parametrize(("dtype", "tolerance"), PRECISIONS)

pytestmark = pytest.mark.filterwarnings("ignore")


def run(graph, table, name="embedding"):
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run([name], {"X": table})[0]


def assert_close(found, expected, tolerance, dtype):
    assert found.dtype == dtype
    assert np.allclose(found, expected, rtol=0, atol=tolerance * np.abs(expected).max())


@every_estimator
@every_precision
def test_the_graph_of_a_model_is_one_subtraction_and_one_product(make, dtype, tolerance):
    onnx = pytest.importorskip("onnx")
    model = make(3).fit(X)
    graph = to_onnx(model, dtype=dtype)
    onnx.checker.check_model(graph)
    assert [node.op_type for node in graph.graph.node] == ["Sub", "MatMul"]
    assert_close(run(graph, X.astype(dtype)), model.transform(X), tolerance, dtype)


@every_estimator
@every_precision
def test_a_pipeline_is_converted_with_its_first_steps(make, dtype, tolerance):
    pytest.importorskip("skl2onnx")
    pipeline = make_pipeline(StandardScaler(), make(2)).fit(X)
    graph = to_onnx(pipeline, dtype=dtype)
    assert_close(run(graph, X.astype(dtype)), pipeline.transform(X), tolerance, dtype)


def test_skl2onnx_converts_our_step_in_front_of_a_classifier():
    skl2onnx = pytest.importorskip("skl2onnx")
    y = (X[:, 0] > np.median(X[:, 0])).astype(int)
    pipeline = make_pipeline(StandardScaler(), SHOPCA(5), LogisticRegression()).fit(X, y)
    register_converters()
    graph = skl2onnx.to_onnx(pipeline, X[:1].astype(np.float32), options={"zipmap": False})
    assert np.array_equal(run(graph, X.astype(np.float32), "label"), pipeline.predict(X))


@pytest.mark.parametrize(
    ("model", "options", "error", "words"),
    [
        (SHOPCA(), {}, ValueError, "not fitted"),
        (StandardScaler(), {}, TypeError, "must be a SHOPCA"),
        (make_pipeline(StandardScaler()), {}, TypeError, "must be a SHOPCA"),
        (SHOPCA().fit(X), {"dtype": np.float16}, ValueError, "float32 or float64, got float16"),
    ],
)
def test_what_cannot_be_converted_is_refused_in_a_sentence(model, options, error, words):
    with pytest.raises(error, match=words):
        to_onnx(model, **options)


def test_a_missing_library_is_named_with_the_extra(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "onnx.helper", None)
    with pytest.raises(ImportError, match=r"needs onnx. Install the extra: pip install .shopca-rs\[onnx\]"):
        to_onnx(SHOPCA().fit(X))
