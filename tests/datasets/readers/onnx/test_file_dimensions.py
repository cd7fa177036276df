"""Open dimensions: sizes that are given, and what is said of those that are not."""

from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

from boundmark.datasets.readers.onnx.file import load
from boundmark.datasets.resolve import load_file, load_source
from boundmark.problems.errors import InvalidInputError


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Write a model with the named dimension batch, used twice, and one without a name."""
    shape = ["batch", None, 4]
    graph = helper.make_graph(
        [helper.make_node("Add", ["x", "y"], ["z"], name="add")],
        "graph",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in "xy"],
        [helper.make_tensor_value_info("z", TensorProto.FLOAT, ["batch", None, 4])],
    )
    path = tmp_path / "model.onnx"
    onnx.save(helper.make_model(graph, ir_version=9), path)
    return path


def test_sizes_are_used_everywhere(path: Path) -> None:
    """A name stands for one size; dimensions without one are named after input and position."""
    graph = load(path, {"batch": 8, "x.1": 3, "y.1": 3})
    assert [tensor.shape for tensor in graph.tensors] == [(8, 3, 4)] * 3
    assert graph.notes == ()


def test_what_is_not_given_is_said(path: Path) -> None:
    """The sizes are 1, and the note says for how many, which, and what to do."""
    graph = load_file(path)
    assert [tensor.shape for tensor in graph.tensors] == [(1, 1, 4)] * 3
    (note,) = graph.notes
    assert "3 open dimensions are taken to be 1: batch, x.1, y.1" in note
    assert "--dim batch=SIZE" in note
    (note,) = load_file(path, {"batch": 2, "y.1": 1}).notes
    assert "1 open dimension is taken to be 1: x.1" in note


@pytest.mark.parametrize(
    ("dims", "message"),
    [
        ({"seq": 2}, "model.onnx: there is no open dimension 'seq'; the model has batch, x.1, y.1"),
        ({"batch": 0}, "dimension 'batch' is 0; expected 1 to 2147483647"),
        ({"batch": 2**31}, "dimension 'batch' is 2147483648; expected 1 to"),
    ],
)
def test_mistakes(path: Path, dims: dict[str, int], message: str) -> None:
    """Names that the model has not are named, with those that it has."""
    with pytest.raises(InvalidInputError) as caught:
        load(path, dims)
    assert message in str(caught.value)


def test_sources_without_open_dimensions() -> None:
    """Members of data sets have sizes."""
    with pytest.raises(InvalidInputError, match="has no open dimensions, but sizes are given for"):
        load_source("onnx-light/alexnet", {"batch": 2})
