import dataclasses
from typing import Any

import pytest
from graphs import small_graph

from boundmark.problems.computation_graph import (
    ARITHMETIC_DTYPES,
    LEFT_OUT,
    ComputationGraph,
    Operator,
    Tensor,
    arithmetic_dtype,
)
from boundmark.problems.errors import InvalidInputError


def test_sizes_and_edges_follow_from_tensors() -> None:
    """Bytes a node, edges, producers and inputs are derived, not stored a second time."""
    graph = small_graph()
    assert graph.names == ("conv", "relu", "reshape")
    assert graph.op_types == ("Conv", "Relu", "Reshape")
    assert graph.flops.tolist() == [5000, 100, 0]
    assert graph.output_bytes.tolist() == [400, 400, 400]
    assert graph.param_bytes.tolist() == [200, 0, 0]
    assert graph.read_bytes.tolist() == [100, 400, 400]
    assert list(zip(graph.dag.sources, graph.dag.targets, strict=True)) == [(0, 1), (1, 2)]
    assert graph.producers.tolist() == [-1, -1, 0, 1, 2]
    assert graph.inputs == (0,)


def test_distinct_tensors_count_once() -> None:
    """A tensor read at two positions moves once, and one left out not at all."""
    graph = ComputationGraph(
        operators=(Operator("a", "Mystery", 1, (0, LEFT_OUT, 0, 1, 1), (2, 3), {}),),
        tensors=tuple(Tensor(name, (2,), "int8") for name in "xwyz"),
        parameters=frozenset({1}),
        results=(3,),
    )
    assert graph.read_bytes.tolist() == [2]
    assert graph.param_bytes.tolist() == [2]
    assert graph.output_bytes.tolist() == [4]


def test_attributes_cannot_be_changed() -> None:
    """Neither through the operator nor through the mapping that it was made of."""
    given: dict[str, Any] = {"axis": 1}
    operator = Operator("a", "Concat", 0, (), (), given)
    given["axis"] = 2
    assert operator.attributes["axis"] == 1
    with pytest.raises(TypeError):
        operator.attributes["axis"] = 2  # type: ignore[index]


NODE = Operator("conv", "Conv", 5000, (0, 1), (2,), {})


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"operators": ()}, "the graph has no nodes; expected at least one"),
        ({"operators": (NODE, NODE)}, "node name 'conv' occurs twice; expected unique names"),
        (
            {"operators": (NODE, dataclasses.replace(NODE, name="b"))},
            "tensor 'y' comes from 'conv' and 'b'; expected one origin",
        ),
        (
            {"parameters": frozenset({2})},
            "tensor 'y' comes from the parameters and 'conv'; expected one origin",
        ),
        (
            {"operators": (dataclasses.replace(NODE, reads=(9,)),)},
            "node 'conv' names tensor 9; expected numbers from 0 to 4",
        ),
        (
            {"operators": (dataclasses.replace(NODE, writes=(LEFT_OUT,)),)},
            "node 'conv' names tensor -1; expected numbers from 0 to 4",
        ),
        ({"parameters": frozenset({5})}, "tensor 5 is a parameter or a result; expected numbers"),
        ({"results": (5,)}, "tensor 5 is a parameter or a result; expected numbers"),
        (
            {"operators": (dataclasses.replace(NODE, flops=-1),)},
            "flops of node 'conv' is -1; expected a non-negative integer",
        ),
        (
            {
                "operators": (
                    dataclasses.replace(NODE, reads=(3,)),
                    Operator("relu", "Relu", 1, (2,), (3,), {}),
                )
            },
            "the edges form a cycle, .*conv -> relu.*; expected an acyclic graph",
        ),
    ],
)
def test_bad_graphs_are_named(changes: dict[str, Any], expected: str) -> None:
    """The error names the node or tensor, and says what was expected."""
    with pytest.raises(InvalidInputError, match=expected):
        dataclasses.replace(small_graph(), **changes)


@pytest.mark.parametrize(
    ("shape", "dtype", "size"),
    [
        ((), "float32", 4),
        ((3, 5), "float32", 60),
        ((3, 0, 5), "float32", 0),
        ((3, 5), "bfloat16", 30),
        ((3, 5), "float8e5m2", 15),
        # 15 elements of half a byte, and of a quarter.
        ((3, 5), "int4", 8),
        ((3, 5), "uint2", 4),
        ((3, 5), "float6e2m3", 12),
        ((3, 5), "bool", 15),
        ((3, 5), "complex128", 240),
    ],
)
def test_bytes_by_hand(shape: tuple[int, ...], dtype: str, size: int) -> None:
    """Elements are packed, and the last byte counts in full."""
    assert Tensor("x", shape, dtype).bytes == size


@pytest.mark.parametrize(
    ("dtype", "rate"),
    [
        ("float32", "float32"),
        ("float64", "float64"),
        ("bfloat16", "bfloat16"),
        ("float8e4m3fn", "float8"),
        ("float6e3m2", "float6"),
        ("float4e2m1", "float4"),
        ("uint8", "int8"),
        ("int4", "int4"),
    ],
)
def test_rates_go_by_the_kind_of_arithmetic(dtype: str, rate: str) -> None:
    """Devices have one rate for signed and unsigned integers, and for all formats of a size."""
    assert arithmetic_dtype(dtype) == rate
    assert rate in ARITHMETIC_DTYPES


@pytest.mark.parametrize(
    ("shape", "dtype", "expected"),
    [
        ((3,), "string", "tensor 'x' has elements of type 'string'; expected one of float64"),
        ((3, -1), "int8", r"the shape of tensor 'x' is \[3, -1\]; expected non-negative integers"),
        ((3, 1.5), "int8", r"the shape of tensor 'x' is \[3, 1.5\]; expected non-negative integ"),
    ],
)
def test_bad_tensors_are_named(shape: tuple[int, ...], dtype: str, expected: str) -> None:
    """The error names the tensor."""
    with pytest.raises(InvalidInputError, match=expected):
        Tensor("x", shape, dtype)
