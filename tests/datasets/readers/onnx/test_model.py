"""Functions in ONNX models: counted before they are inlined."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from onnx import FunctionProto, GraphProto, ModelProto, NodeProto, TensorProto, helper

from boundmark.datasets.readers.onnx.model import InliningLimits, with_functions_inlined
from boundmark.datasets.resolve import load_file
from boundmark.problems.errors import InvalidInputError

OPSETS = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]


def call(function: str, read: str = "x", written: str = "y") -> NodeProto:
    """Return a call of a function."""
    return helper.make_node(function, [read], [written], domain="own")


def function(name: str, nodes: Sequence[NodeProto]) -> FunctionProto:
    """Return a function of one tensor."""
    return helper.make_function("own", name, ["x"], ["y"], list(nodes), OPSETS)


RELU = function("f0", [helper.make_node("Relu", ["x"], ["y"])])


def model(calls: str, functions: Sequence[FunctionProto]) -> ModelProto:
    """Return a model of one call."""
    tensors = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [4]) for name in "xy"]
    graph = helper.make_graph([call(calls)], "g", tensors[:1], tensors[1:])
    return helper.make_model(graph, functions=list(functions), opset_imports=OPSETS, ir_version=9)


def doubling(levels: int) -> ModelProto:
    """Return a model whose function calls another twice, and so on."""
    twice = [
        function(f"f{at}", [call(f"f{at - 1}", "x", "a"), call(f"f{at - 1}", "a", "y")])
        for at in range(1, levels + 1)
    ]
    return model(f"f{levels}", [RELU, *twice])


def branching(levels: int) -> ModelProto:
    """Return a model whose function calls another in both branches of an If."""
    functions = [RELU]
    for at in range(1, levels + 1):
        out = helper.make_tensor_value_info("o", TensorProto.FLOAT, [4])
        branch: GraphProto = helper.make_graph([call(f"f{at - 1}", "x", "o")], "b", [], [out])
        fixed = helper.make_node("Constant", [], ["c"], value_int=1)
        choice = helper.make_node("If", ["c"], ["y"], then_branch=branch, else_branch=branch)
        functions.append(function(f"f{at}", [fixed, choice]))
    return model(f"f{levels}", functions)


def chain(length: int) -> ModelProto:
    """Return a model whose functions call one another, and once each."""
    calls = [function(f"f{at}", [call(f"f{at - 1}")]) for at in range(1, length)]
    # In this order, the first one leads to all others.
    return model(f"f{length - 1}", [*reversed(calls), RELU])


@pytest.mark.parametrize(
    ("built", "expected"),
    [
        (doubling(23), r"function 'own\.f19' has 1,572,862 nodes once functions are inlined; "),
        (doubling(90), r"function 'own\.f19' has 1,572,862 nodes once functions are inlined; "),
        (branching(24), r"function 'own\.f\d+' has [\d,]+ nodes once functions are inlined; "),
        (
            model("f", [function("f", [call("f")])]),
            r"function 'own\.f' calls itself \('own\.f' -> 'own\.f'\)",
        ),
        (
            model("f", [function("f", [call("g")]), function("g", [call("f")])]),
            r"function 'own\.f' calls itself \('own\.f' -> 'own\.g' -> 'own\.f'\)",
        ),
        (
            model("f0", [RELU, function("f", [call("f")])]),
            r"function 'own\.f' calls itself",
        ),
        (chain(3000), r"function 'own\.f2999' leads to calls nested more than 100 deep"),
    ],
)  # fmt: skip
def test_small_files_that_grow(tmp_path: Path, built: ModelProto, expected: str) -> None:
    """Files of a few kilobytes are refused before anything is expanded."""
    path = tmp_path / "own.onnx"
    path.write_bytes(built.SerializeToString())
    with pytest.raises(InvalidInputError, match=rf"own\.onnx: {expected}"):
        load_file(path)


@pytest.mark.parametrize("built", [doubling(3), branching(2)])
def test_counts_are_those_of_the_inlined_model(built: ModelProto) -> None:
    """A model at the limit of nodes is inlined, one above it is not."""
    nodes = with_functions_inlined(built)
    assert not nodes.functions
    needed = next(limit for limit in range(1000) if _is_allowed(built, InliningLimits(nodes=limit)))
    # Calls count as well, which the inlined model has not.
    assert len(nodes.graph.node) < needed < 64


def _is_allowed(built: ModelProto, limits: InliningLimits) -> bool:
    try:
        with_functions_inlined(built, limits)
    except InvalidInputError:
        return False
    return True


def test_bytes_count_as_well() -> None:
    """Few nodes may be large: constants in functions are copied with each call."""
    values = helper.make_tensor("v", TensorProto.FLOAT, [2**18], b"\0" * 2**20, raw=True)
    large = function(
        "f0",
        [
            helper.make_node("Constant", [], ["c"], value=values),
            helper.make_node("ReduceSum", ["c"], ["s"], keepdims=0),
            helper.make_node("Add", ["x", "s"], ["y"]),
        ],
    )
    built = doubling(6)
    built.functions[0].CopyFrom(large)
    with pytest.raises(InvalidInputError, match=r"f4' has 16 MiB once functions are inlined; exp"):
        with_functions_inlined(built, InliningLimits(mebibytes=15))


def test_without_functions(tmp_path: Path) -> None:
    """A model without functions is handed back as it is."""
    built = doubling(1)
    del built.functions[:]
    assert with_functions_inlined(built, InliningLimits(nodes=0)) is built
