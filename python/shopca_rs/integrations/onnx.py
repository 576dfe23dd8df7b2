"""Fitted models in ONNX: one subtraction and one product.

Needs the extra ``pip install "shopca-rs[onnx]"``.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline  # type: ignore[import-untyped]

from ..estimators.type_checks import as_fitted_projection

# Understood by every runtime since 2022.
OPSET = 17
_IR_VERSION = 8


def to_onnx(model: Any, *, dtype: Any = np.float32, target_opset: int = OPSET) -> Any:
    """Return a fitted model as an ONNX graph with the input "X" and the output "embedding".

    Parameters
    ----------
    model : SHOPCA, ShapeOperatorEigenmaps, LPP or Pipeline
        Fitted. A pipeline with one of them as its last step is converted by skl2onnx, which must be
        installed too.
    dtype : {np.float32, np.float64}, default=np.float32
        Precision of the input, the constants and the output.
    target_opset : int, default=17
        Version of the operators.

    Returns
    -------
    onnx.ModelProto
        The graph (X − mean) componentsᵀ. ``SerializeToString()`` gives the bytes for a runtime.

    Examples
    --------
    >>> from sklearn.datasets import load_iris                       # doctest: +SKIP
    >>> from shopca_rs import SHOPCA                                 # doctest: +SKIP
    >>> graph = to_onnx(SHOPCA().fit(load_iris().data))              # doctest: +SKIP
    >>> import onnxruntime                                           # doctest: +SKIP
    >>> session = onnxruntime.InferenceSession(graph.SerializeToString())          # doctest: +SKIP
    >>> session.run(None, {"X": load_iris().data.astype("float32")})[0].shape      # doctest: +SKIP
    (150, 2)
    """
    precision = np.dtype(dtype)
    if precision not in (np.float32, np.float64):
        raise ValueError(f"dtype must be float32 or float64, got {precision}.")
    if isinstance(model, Pipeline):
        return _pipeline_to_onnx(model, precision, target_opset)
    projection = as_fitted_projection(model)
    helper, numpy_helper = _needed("onnx.helper"), _needed("onnx.numpy_helper")
    kind = helper.np_dtype_to_tensor_dtype(precision)
    m, d = projection.components_.shape
    constants = [
        numpy_helper.from_array(projection.mean_.astype(precision), "mean"),
        numpy_helper.from_array(np.ascontiguousarray(projection.components_.T, precision), "components"),
    ]
    nodes = [
        helper.make_node("Sub", ["X", "mean"], ["centred"]),
        helper.make_node("MatMul", ["centred", "components"], ["embedding"]),
    ]
    inputs = [helper.make_tensor_value_info("X", kind, [None, d])]
    outputs = [helper.make_tensor_value_info("embedding", kind, [None, m])]
    graph = helper.make_graph(nodes, type(model).__name__, inputs, outputs, constants)
    opsets = [helper.make_opsetid("", target_opset)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=_IR_VERSION, producer_name="shopca_rs")


def register_converters() -> None:
    """Register the converters of our estimators with skl2onnx, alone or in a pipeline.

    `to_onnx` does this automatically. Call this before ``skl2onnx.convert_sklearn`` or ``skl2onnx.to_onnx``.

    Examples
    --------
    >>> from shopca_rs.integrations.onnx import register_converters    # doctest: +SKIP
    >>> register_converters()                                          # doctest: +SKIP
    """
    from ..estimators.lpp import LPP
    from ..estimators.shopca import SHOPCA, ShapeOperatorEigenmaps

    update = _needed("skl2onnx").update_registered_converter
    for kind in (SHOPCA, ShapeOperatorEigenmaps, LPP):
        update(kind, f"ShopcaRs{kind.__name__}", _calculate_shapes, _convert)


def _calculate_shapes(operator: Any) -> None:
    """Set the type of the output: that of the input, with a column for each component."""
    data_types = import_module("skl2onnx.common.data_types")
    double = isinstance(operator.inputs[0].type, data_types.DoubleTensorType)
    kind = data_types.DoubleTensorType if double else data_types.FloatTensorType
    rows = operator.inputs[0].get_first_dimension()
    operator.outputs[0].type = kind([rows, len(operator.raw_operator.components_)])


def _convert(scope: Any, operator: Any, container: Any) -> None:
    """Add the two nodes to the graph that skl2onnx makes."""
    algebra = import_module("skl2onnx.algebra.onnx_ops")
    guess = import_module("skl2onnx.common.data_types").guess_numpy_type
    model, opset = operator.raw_operator, container.target_opset
    precision = guess(operator.inputs[0].type)
    # Integers and booleans are embedded in single precision.
    precision = precision if precision in (np.float32, np.float64) else np.float32
    centred = algebra.OnnxSub(operator.inputs[0], model.mean_.astype(precision), op_version=opset)
    components = np.ascontiguousarray(model.components_.T, precision)
    embedded = algebra.OnnxMatMul(centred, components, op_version=opset, output_names=operator.outputs[:1])
    embedded.add_to(scope, container)


def _pipeline_to_onnx(pipeline: Pipeline, precision: np.dtype[Any], target_opset: int) -> Any:
    as_fitted_projection(pipeline[-1])
    skl2onnx, data_types = _needed("skl2onnx"), _needed("skl2onnx.common.data_types")
    register_converters()
    kind = data_types.DoubleTensorType if precision == np.float64 else data_types.FloatTensorType
    types = [("X", kind([None, pipeline.n_features_in_]))]
    converted = skl2onnx.convert_sklearn(
        pipeline, initial_types=types, final_types=[("embedding", kind([]))], target_opset=target_opset
    )
    return converted


def _needed(module: str) -> Any:
    try:
        return import_module(module)
    except ImportError:
        library = module.split(".")[0]
        raise ImportError(
            f'to_onnx needs {library}. Install the extra: pip install "shopca-rs[onnx]"'
        ) from None
