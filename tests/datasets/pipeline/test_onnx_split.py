"""Models of stages: each is valid, and one after another they compute what the whole does."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from boundmark.datasets.pipeline.onnx_split import split_model
from boundmark.datasets.readers.onnx.file import load
from boundmark.problems.errors import InvalidInputError

GENERATOR = np.random.default_rng(7)


def weights(name: str, *shape: int) -> TensorProto:
    """Return random weights."""
    return numpy_helper.from_array(GENERATOR.standard_normal(shape).astype(np.float32), name)


def save_model(path: Path, **options: Any) -> Path:
    """Write a model with branches, shared and computed weights, sizes, an If, and two outputs."""
    then = helper.make_graph(
        [helper.make_node("MatMul", ["n2", "shared"], ["t"])],
        "then", [], [helper.make_tensor_value_info("t", TensorProto.FLOAT, None)],
    )  # fmt: skip
    other = helper.make_graph(
        [helper.make_node("MatMul", ["n2", "w"], ["o"])],
        "else", [], [helper.make_tensor_value_info("o", TensorProto.FLOAT, None)],
        [weights("w", 4, 4)],
    )  # fmt: skip
    nodes = [
        helper.make_node("MatMul", ["x", "shared"], ["n0"], name="first"),
        helper.make_node("Relu", ["n0"], ["n1"], name="relu"),
        helper.make_node("Neg", ["bias"], ["minus"], name="constant"),
        helper.make_node("Add", ["n1", "minus"], ["n2"], name="add"),
        helper.make_node("Greater", ["n2", "n0"], ["more"], name="greater"),
        helper.make_node("ReduceMax", ["moref"], ["any"], name="any", keepdims=0),
        helper.make_node("Cast", ["more"], ["moref"], name="cast", to=TensorProto.INT32),
        helper.make_node("Cast", ["any"], ["c"], name="castb", to=TensorProto.BOOL),
        helper.make_node("If", ["c"], ["n3"], name="if", then_branch=then, else_branch=other),
        helper.make_node("Shape", ["n0"], ["size"], name="shape"),
        helper.make_node("Split", ["n3"], ["left", "right"], name="split", axis=1),
        helper.make_node("Concat", ["right", "left"], ["swapped"], name="concat", axis=1),
        helper.make_node("Reshape", ["swapped", "size"], ["n4"], name="reshape"),
        helper.make_node("Mul", ["n4", "n1"], ["y"], name="mul"),
        helper.make_node("Exp", ["n0"], ["z"], name="exp"),
        helper.make_node("Exp", ["n0"], ["unused"], name="unused"),
    ]
    nodes[5], nodes[6] = nodes[6], nodes[5]
    graph = helper.make_graph(
        nodes,
        "graph",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 4]),
         helper.make_tensor_value_info("z", TensorProto.FLOAT, ["batch", 4]),
         helper.make_tensor_value_info("minus", TensorProto.FLOAT, [4])],
        [weights("shared", 4, 4), weights("bias", 4)],
    )  # fmt: skip
    model = helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 17)])
    onnx.save_model(model, path, **options)
    return path


def assert_same(path: Path, stages: dict[str, int], count: int) -> None:
    """Run the whole and the stages on the same input, with the library's own interpreter."""
    x = GENERATOR.standard_normal((3, 4)).astype(np.float32)
    expected = ReferenceEvaluator(onnx.load(path)).run(None, {"x": x})
    known: dict[str, Any] = {"x": x}
    parts = split_model(path, stages, range(count), {"batch": 3})
    assert sum(part.operators for part in parts) == len(stages)
    for part in parts:
        onnx.checker.check_model(part.model, full_check=True)
        session = ReferenceEvaluator(part.model)
        given = {value.name: known[value.name] for value in part.model.graph.input}
        known |= dict(zip(session.output_names, session.run(None, given), strict=True))
    for name, value in zip(("y", "z", "minus"), expected, strict=True):
        np.testing.assert_array_equal(known[name], value)


@pytest.mark.parametrize("count", [1, 2, 3, 5, 12])
def test_stages_compute_what_the_model_does(tmp_path: Path, count: int) -> None:
    """Wherever it is cut, in the order of the file."""
    path = save_model(tmp_path / "model.onnx")
    names = load(path).names
    assert "constant" not in names
    assert "unused" not in names
    stages = {name: count * at // len(names) for at, name in enumerate(names)}
    assert_same(path, stages, count)


@pytest.mark.parametrize("seed", range(8))
def test_random_convex_cuts(tmp_path: Path, seed: int) -> None:
    """Stages need not be neighbours in the file: any that data flows through forward."""
    path = save_model(tmp_path / "model.onnx")
    graph = load(path)
    dice = np.random.default_rng(seed)
    stage: list[int] = []
    for v in range(len(graph.names)):
        before = [stage[int(u)] for u, w in graph.dag.edge_pairs() if w == v]
        stage.append(int(dice.integers(max(before, default=0), 5)))
    assert_same(path, dict(zip(graph.names, stage, strict=True)), 5)


def test_weights_in_other_files(tmp_path: Path) -> None:
    """They are copied into the stages; if they are missing, that is said."""
    path = save_model(
        tmp_path / "model.onnx", save_as_external_data=True, location="w.bin", size_threshold=0
    )
    stages = dict.fromkeys(load(path).names, 0)
    assert_same(path, stages, 1)
    (tmp_path / "w.bin").unlink()
    with pytest.raises(InvalidInputError, match="cannot be read from beside the model"):
        split_model(path, stages, range(1), {"batch": 3})


@pytest.mark.parametrize("location", ["absolute", "../secret", "inside/../../secret", "link"])
def test_weights_elsewhere_are_not_read(tmp_path: Path, location: str) -> None:
    """A model cannot have a file copied that is not beside it."""
    folder = tmp_path / "folder"
    (folder / "inside").mkdir(parents=True)
    (tmp_path / "secret").write_bytes(bytes(2**16))
    (folder / "link").symlink_to(tmp_path / "secret")
    path = save_model(
        folder / "model.onnx", save_as_external_data=True, location="w.bin", size_threshold=0
    )
    model = onnx.load(path, load_external_data=False)
    for tensor in model.graph.initializer:
        for entry in tensor.external_data:
            if entry.key == "location":
                entry.value = str(tmp_path / "secret") if location == "absolute" else location
    path.write_bytes(model.SerializeToString())
    with pytest.raises(InvalidInputError, match="cannot be read from beside the model"):
        split_model(path, dict.fromkeys(load(path).names, 0), range(1), {"batch": 3})


def test_operators_without_a_stage(tmp_path: Path) -> None:
    """One is named."""
    path = save_model(tmp_path / "model.onnx")
    with pytest.raises(InvalidInputError, match="operator 'first' has no stage"):
        split_model(path, {}, range(1))
