"""Custom operators cost the bytes that they move, and somebody is told."""

from pathlib import Path

import onnx
from onnx import TensorProto, helper

from boundmark.datasets.readers.onnx.file import load
from boundmark.problems.computation_graph import LEFT_OUT, ComputationGraph


def loaded(path: Path, count: int, *, is_stated: bool) -> ComputationGraph:
    """Return a chain of custom operators, with ordinary ones between, on 8 x 16 tensors."""
    nodes, last = [], "x"
    for at in range(count):
        nodes.append(
            helper.make_node(
                "Mystery", [last], [f"m{at}"], name=f"mystery{at}", domain="com.example"
            )
        )
        nodes.append(helper.make_node("Relu", [f"m{at}"], [f"r{at}"], name=f"relu{at}"))
        last = f"r{at}"
    stated = [
        helper.make_tensor_value_info(f"m{at}", TensorProto.FLOAT16, [4]) for at in range(count)
    ]
    graph = helper.make_graph(
        nodes,
        "graph",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [8, 16])],
        [onnx.ValueInfoProto(name=last)],
        value_info=stated if is_stated else [],
    )
    model = helper.make_model(
        graph,
        ir_version=9,
        opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.example", 1)],
    )
    onnx.save(model, path / "model.onnx")
    return load(path / "model.onnx")


def test_unknown_sizes_are_those_of_the_input(tmp_path: Path) -> None:
    """Counted, with names, why, and what to do about it."""
    graph = loaded(tmp_path, 5, is_stated=False)
    assert [tensor.shape for tensor in graph.tensors] == [(8, 16)] * 11
    assert graph.flops.tolist() == [128, 128] * 5
    costs, sizes = graph.notes
    for note in (sizes, costs):
        assert note.startswith("5 operators of type")
        assert "'mystery0', 'mystery1', 'mystery2' and 2 more" in note
    assert "value_info" in sizes
    assert "com.example.Mystery, which ONNX does not know, costed by the bytes" in costs


def test_stated_sizes_are_used(tmp_path: Path) -> None:
    """A model that says how large outputs are is believed."""
    graph = loaded(tmp_path, 1, is_stated=True)
    assert graph.tensors[1].shape == (4,)
    assert graph.output_bytes.tolist() == [8, 8]
    (note,) = graph.notes
    assert note.startswith("1 operator of type com.example.Mystery")


def test_outputs_without_a_name_are_none(tmp_path: Path) -> None:
    """Also where some node leaves out an input, which has the same empty name."""
    norm = helper.make_node(
        "SkipSimplifiedLayerNormalization", ["a", "x"], ["n", "", "", "r"], domain="com.microsoft"
    )
    nodes = [
        helper.make_node("Neg", ["x"], ["a"]),
        norm,
        helper.make_node("Clip", ["n", "", "most"], ["c"]),
        helper.make_node("Add", ["c", "r"], ["out"]),
    ]
    graph = helper.make_graph(
        nodes,
        "graph",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [8, 16])],
        [onnx.ValueInfoProto(name="out")],
        [helper.make_tensor("most", TensorProto.FLOAT, [], [1.0])],
    )
    model = helper.make_model(
        graph,
        ir_version=9,
        opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)],
    )
    onnx.save(model, tmp_path / "model.onnx")
    read = load(tmp_path / "model.onnx")
    assert [tensor.name for tensor in read.tensors] == ["x", "a", "n", "r", "most", "c", "out"]
    assert [len(operator.writes) for operator in read.operators] == [1, 2, 1, 1]
    assert read.operators[2].reads == (2, LEFT_OUT, 4)
