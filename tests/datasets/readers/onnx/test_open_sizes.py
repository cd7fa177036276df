"""Sizes that depend on data, on other sizes, or that old operator sets do not infer."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import NodeProto, TensorProto, helper, numpy_helper

from boundmark.datasets.file_format import UnknownDimensionError
from boundmark.datasets.readers.onnx.file import of_model
from boundmark.datasets.readers.onnx.open_sizes import computed_size, fold_constants
from boundmark.problems.computation_graph import ComputationGraph
from boundmark.problems.errors import InvalidInputError

AS_LARGE = "depend on data and are taken as large as they can be"


def model(
    nodes: Sequence[NodeProto],
    inputs: dict[str, Sequence[Any]],
    outputs: dict[str, Sequence[Any] | None],
    constants: dict[str, Any] | None = None,
    version: int = 17,
) -> onnx.ModelProto:
    """Return a model; inputs whose names begin with "i" are integers."""
    return helper.make_model(
        helper.make_graph(
            nodes,
            "graph",
            [
                helper.make_tensor_value_info(
                    name, TensorProto.INT64 if name[0] == "i" else TensorProto.FLOAT, shape
                )
                for name, shape in inputs.items()
            ],
            [
                helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
                for name, shape in outputs.items()
            ],
            [
                numpy_helper.from_array(np.asarray(value), name)
                for name, value in (constants or {}).items()
            ],
        ),
        opset_imports=[helper.make_opsetid("", version)],
        ir_version=9,
    )


def shape_of(graph: ComputationGraph, name: str) -> tuple[int, ...]:
    """Return the shape of a tensor by name."""
    return next(tensor.shape for tensor in graph.tensors if tensor.name == name)


@pytest.mark.parametrize(("limit", "rows"), [(20, 2 * 3 * 20), (500, 2 * 3 * 100), (None, 600)])
def test_as_many_boxes_as_the_limit_allows(limit: int | None, rows: int) -> None:
    """A detector's boxes are at most the limit, or all of them, for each class and image."""
    nodes = [
        helper.make_node("NonMaxSuppression", ["boxes", "scores", "limit"], ["found"]),
        helper.make_node("Gather", ["found", "last"], ["numbers"], axis=1),
        helper.make_node("Gather", ["table", "numbers"], ["y"]),
    ]
    inputs: dict[str, Any] = {"boxes": [2, 100, 4], "scores": [2, 3, 100], "table": [100, 8]}
    constants = {"last": np.array(2)}
    if limit is None:
        nodes.insert(0, helper.make_node("Identity", ["ilimit"], ["limit"]))
        inputs["ilimit"] = [1]
    else:
        constants["limit"] = np.array([limit])
    graph = of_model(model(nodes, inputs, {"y": None}, constants))
    assert shape_of(graph, "found") == (rows, 3)
    assert shape_of(graph, "y") == (rows, 8)
    assert any(f"type NonMaxSuppression, sizes of whose outputs {AS_LARGE}" in note
               for note in graph.notes)  # fmt: skip


@pytest.mark.parametrize(
    ("node", "shape"),
    [
        (helper.make_node("NonZero", ["x"], ["y"]), (2, 24)),
        (helper.make_node("Unique", ["x"], ["y"]), (24,)),
        (helper.make_node("Unique", ["x"], ["y"], axis=-1), (4, 6)),
        (helper.make_node("Compress", ["x", "c"], ["y"]), (24,)),
        (helper.make_node("Compress", ["x", "c"], ["y"], axis=1), (4, 6)),
        (helper.make_node("TopK", ["x", "ik"], ["y", ""]), (4, 6)),
        (helper.make_node("Slice", ["x", "ik", "iend", "one"], ["y"]), (4, 6)),
    ],
    ids=lambda value: value.op_type if isinstance(value, NodeProto) else "",
)
def test_sizes_that_depend_on_data_are_the_largest(node: NodeProto, shape: tuple[int, ...]) -> None:
    """What remains of an input is at most all of it."""
    inputs = {"x": [4, 6], "ik": [1], "iend": [1]}
    graph = of_model(
        model([node], inputs, {"y": None}, {"c": np.ones(6, dtype=bool), "one": np.array([1])})
    )
    assert shape_of(graph, "y") == shape
    assert AS_LARGE in graph.notes[-1]


def decoder(mask: str) -> onnx.ModelProto:
    """Return an attention with a cache, whose mask has a length that is written as a sum."""
    nodes = [
        helper.make_node("Concat", ["past", "new"], ["keys"], axis=1),
        helper.make_node("Transpose", ["keys"], ["turned"], perm=[0, 2, 1]),
        helper.make_node("MatMul", ["new", "turned"], ["scores"]),
        helper.make_node("Add", ["scores", "mask"], ["y"]),
    ]
    inputs = {
        "past": ["batch", "past_length", 64],
        "new": ["batch", "length", 64],
        "mask": ["batch", "length", mask],
    }
    return model(nodes, inputs, {"y": ["batch", "length", mask]})


def test_sums_of_dimensions_follow() -> None:
    """Whoever sets the lengths of cache and sequence has set that of the mask."""
    graph = of_model(decoder("past_length + length"), {"past_length": 1000, "length": 24})
    assert shape_of(graph, "mask") == shape_of(graph, "y") == (1, 24, 1024)
    assert graph.notes == (
        "1 open dimension is taken to be 1: batch; give sizes with --dim batch=SIZE",
    )


def test_a_sum_can_be_set() -> None:
    """A size that is given is taken, though it follows from others."""
    sizes = {"past_length": 1000, "length": 24, "past_length + length": 1}
    assert shape_of(of_model(decoder("past_length + length"), sizes), "mask") == (1, 24, 1)


def test_differences_are_sizes() -> None:
    """A size below 1 is refused, with the expression."""
    with pytest.raises(InvalidInputError, match=r"dimension 'length - past_length' is -3; exp"):
        of_model(decoder("length - past_length"), {"past_length": 4})


def test_sums_are_no_choices() -> None:
    """A mistaken name gets the names that are left to set."""
    with pytest.raises(UnknownDimensionError, match="the model has batch, past_length, length"):
        of_model(decoder("past_length + length"), {"past": 4})


SIZES = {"a": 3, "b": 5}


@given(st.text(alphabet="ab0123 +-*/()_.!<", max_size=20))
def test_expressions_are_those_of_python(text: str) -> None:
    """Whatever is computed is what Python computes; nothing else is run, and nothing fails."""
    found = computed_size(text, SIZES)
    if found is not None:
        assert found == eval(text, {}, dict(SIZES))


@pytest.mark.parametrize(
    "text",
    [
        "a**b",
        "f(a)",
        "a if b else a",
        "a / b",
        "a // 0",
        "c",
        "a.b",
        "(" * 150,
        "a+" * 99 + "a",
    ],
)
def test_other_expressions_are_names(text: str) -> None:
    """Powers and calls are not computed, and neither is what is longer than anybody writes."""
    expected = 300 if text.startswith("a+a") else None
    assert computed_size(text, SIZES) == expected


def test_negative_sizes_of_outputs_are_open() -> None:
    """Some exporters write -1 for what is open."""
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"])]
    graph = of_model(
        model(nodes, {"x": [-1, 8]}, {"y": [-1, 4]}, {"w": np.ones((8, 4), np.float32)}),
        {"x.0": 16},
    )
    assert shape_of(graph, "y") == (16, 4)


def test_operators_of_old_versions_have_shapes(tmp_path: Path) -> None:
    """A network as of 2017: sums broadcast by attributes, and no inference in onnx."""
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
        helper.make_node("Add", ["c", "b"], ["a"], broadcast=1, axis=1),
        helper.make_node("Relu", ["a"], ["r"], consumed_inputs=[0]),
        helper.make_node("Concat", ["r", "c"], ["both"]),
        helper.make_node("Reshape", ["both"], ["f"], shape=[0, -1]),
        helper.make_node("Gemm", ["f", "v", "d"], ["g"], transB=1, broadcast=1),
        helper.make_node("Cast", ["g"], ["y"], to="DOUBLE"),
    ]
    constants = {
        "w": np.ones((4, 3, 3, 3), np.float32),
        "b": np.ones(4, np.float32),
        "v": np.ones((10, 512), np.float32),
        "d": np.ones(10, np.float32),
    }
    graph = of_model(model(nodes, {"x": [2, 3, 8, 8]}, {"y": None}, constants, version=3))
    assert shape_of(graph, "a") == shape_of(graph, "r") == (2, 4, 8, 8)
    assert shape_of(graph, "both") == (2, 8, 8, 8)
    assert shape_of(graph, "f") == (2, 512)
    assert shape_of(graph, "y") == (2, 10)
    assert graph.tensors[-1].dtype == "float64"
    assert not graph.notes


@pytest.mark.parametrize("shape", [[0, -1, 7], [3, 0, 0], [1, 1, 0, 0, 0]])
def test_a_reshape_that_does_not_fit_is_refused(shape: list[int]) -> None:
    """Shapes have as many elements as before."""
    nodes = [helper.make_node("Reshape", ["x"], ["y"], shape=shape)]
    with pytest.raises(InvalidInputError, match="the shape of tensor 'y' is unknown"):
        of_model(model(nodes, {"x": [2, 4]}, {"y": None}, version=3))


HUGE = 2**31 - 1


@pytest.mark.parametrize(
    ("node", "inputs", "version"),
    [
        (helper.make_node("NonZero", ["x"], ["y"]), {"x": [HUGE] * 3}, 17),
        (
            helper.make_node("NonMaxSuppression", ["b", "x"], ["y"]),
            {"b": [HUGE, HUGE, 4], "x": [HUGE] * 3},
            17,
        ),
        (helper.make_node("Concat", ["x", "x"], ["y"], axis=0), {"x": [2**62 + 1]}, 3),
    ],
    ids=["all elements", "all boxes", "both"],
)
def test_sizes_beyond_64_bits_are_refused(
    node: NodeProto, inputs: dict[str, Any], version: int
) -> None:
    """However large inputs claim to be, the tensor is named."""
    with pytest.raises(InvalidInputError, match=r"tensor 'y' would have a size of .*; expected at"):
        of_model(model([node], inputs, {"y": None}, version=version))


def test_sizes_of_outputs_that_nobody_could_store_are_inferred() -> None:
    """An expression is one that an exporter has written; the operator knows better."""
    node = helper.make_node("Relu", ["x"], ["y"])
    graph = of_model(model([node], {"x": ["a"]}, {"y": ["99999999999*99999999999*a"]}), {"a": 7})
    assert shape_of(graph, "y") == (7,)


def test_many_indices_of_a_long_row_are_not_gathered() -> None:
    """A few kilobytes would ask for two gibibytes."""
    row, zeros = np.zeros((1, 2**14), np.int64), np.zeros(2**14, np.int64)
    graph = helper.make_graph(
        [helper.make_node("Gather", ["row", "zeros"], ["y"], axis=0)],
        "graph",
        [],
        [helper.make_tensor_value_info("y", TensorProto.INT64, None)],
        [numpy_helper.from_array(row, "row"), numpy_helper.from_array(zeros, "zeros")],
    )
    assert not fold_constants(graph)
    assert graph.node[0].op_type == "Gather"
