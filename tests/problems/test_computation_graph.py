import dataclasses
from typing import Any

import pytest
from graphs import small_graph

from boundmark.problems.computation_graph import ComputationGraph
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.operator import LEFT_OUT, Operator
from boundmark.problems.tensor import Tensor


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
