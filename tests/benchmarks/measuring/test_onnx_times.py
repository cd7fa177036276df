"""Which operator a layer's time counts for, and that OpenVINO is asked as it should be."""

from pathlib import Path

import pytest

from boundmark.benchmarks.measuring.onnx_times import measure_with_openvino, operators_of

NAMES = ("conv", "relu", "reshape", "product")


def test_fused_operators_have_one_time() -> None:
    """It is that of the first in the model, wherever the layer names it; constants have none."""
    layers = [("x", ["x"]), ("fused", ["relu", "w", "conv"]), ("product", ["product"])]
    assert operators_of(layers, NAMES) == {"x": "conv", "fused": "conv", "product": "product"}


def test_what_is_added_counts_for_what_comes_next() -> None:
    """Changes of layout stand for no operator; behind the last operator, they count for it."""
    layers = [("a", []), ("conv", ["conv"]), ("b", []), ("product", ["product"]), ("c", [""])]
    assert operators_of(layers, NAMES) == {
        "a": "conv", "conv": "conv", "b": "product", "product": "product", "c": "product",
    }  # fmt: skip


def test_layers_of_unknown_operators() -> None:
    """Nothing can be told if no layer names an operator of the model."""
    assert operators_of([("a", ["other"]), ("b", [])], NAMES) == {}
    assert operators_of([], NAMES) == {}


def test_a_model_is_measured(tmp_path: Path) -> None:
    """The product takes time, the function that is fused with it none of its own."""
    pytest.importorskip("openvino")
    onnx = pytest.importorskip("onnx")
    weights = onnx.helper.make_tensor("w", 1, (256, 256), [0.5] * 256 * 256)
    nodes = [
        onnx.helper.make_node("MatMul", ["x", "w"], ["a"], name="product"),
        onnx.helper.make_node("Relu", ["a"], ["b"], name="relu"),
    ]
    graph = onnx.helper.make_graph(
        nodes,
        "g",
        [onnx.helper.make_tensor_value_info("x", 1, ("rows", 256))],
        [onnx.helper.make_tensor_value_info("b", 1, None)],
        [weights],
    )
    opset = onnx.helper.make_opsetid("", 17)
    path = tmp_path / "m.onnx"
    onnx.save(onnx.helper.make_model(graph, opset_imports=[opset], ir_version=8), path)
    times = measure_with_openvino(path, ("product", "relu"), repeats=3, threads=1)
    assert len(times["product"]) == 3
    assert min(times["product"]) > 0
    assert set(times["relu"]) == {0}
