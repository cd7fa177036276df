"""Instances of `slicing`: what is refused, and what is stored."""

from typing import Any

import numpy as np
import pytest
from brute_force_slicing import instance, needs, needs_all

from boundmark.problems.errors import InvalidInputError
from boundmark.problems.slicing import Edge, SlicingInstance, SlicingPlan

SAMPLE = instance([4, 3], [[5, 6], [7, 8]], [needs_all(0, 1, 4)], weights=[3, 2], output=[1, 1])


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"length": [4]}, "axis has 2 values; expected one for each of the 1"),
        ({"length": [4, 0]}, "length of operator '1' is 0; expected 1 to"),
        ({"length": [4, "3"]}, "length is not a list of integers"),
        ({"axis": [0, 2]}, "axis of operator '1' is 2; expected 0 for channels or 1 for height"),
        ({"work": [[5, 6]]}, r"work has the shape \(1, 2\); expected \(2, 2\)"),
        ({"work": [[5, 6], [7, -8]]}, "a work is -8; expected none below 0"),
        ({"work": [[5, 6], [7]]}, "work is not a table of integers"),
        ({"work": [[2**53, 6], [7, 8]]}, "expected at most 2\\^53"),
        ({"launch": [0]}, "launch has 1 values"),
        ({"capacity": [-1, 9]}, "capacity of node '0' is -1"),
        ({"capacity": [], "launch": []}, "there are 0 devices; expected 1 to 16"),
        ({"weights": [2**53, 0]}, "bytes add up to more than 2\\^53"),
        ({"edges": [[0, 1, 1, 4]]}, "an edge has 4 integers; expected producer, consumer, unit"),
        ({"edges": [[0, 9, 1, 4, 0, 0, 4, 1, 1]]}, "names an unknown node"),
        ({"edges": [[1, 0, 1, 3, 0, 0, 3, 1, 1]]}, "operator '0' comes before '1', which it reads"),
        ({"edges": [[0, 1, 1, 4, 1, 0, 1, 0, 1]]}, "numbers out of range"),
        ({"edges": [[0, 1, 1, 4, 0, 0, 2, 1, 1]]}, "has multiply 0; expected add 0, size 4"),
        ({"edges": [[0, 1, 1, 5, 0, 0, 5, 1, 1]]}, "has the extent 5; expected 4, the producer's"),
        ({"point_to_point": [1, 0]}, "point_to_point is 1 ticks for 0 bytes"),
        ({"broadcast": [1]}, "broadcast is .1.; expected two integers"),
        ({"delay": "1"}, "delay is '1'; expected an integer"),
        ({"delay": -1}, "delay is -1; expected none below 0"),
    ],
)
def test_malformed_instances(change: dict[str, Any], expected: str) -> None:
    """Each is refused with what is wrong."""
    with pytest.raises(InvalidInputError, match=expected):
        SlicingInstance.from_json({**SAMPLE.to_json(), **change})


def test_a_cycle_is_named() -> None:
    """With the operators on it."""
    edges = [needs(0, 1, 3), needs(1, 2, 3), needs(2, 0, 3)]
    with pytest.raises(InvalidInputError, match="form a cycle, v0 -> v1 -> v2 -> v0"):
        instance([3, 3, 3], [[1, 1]] * 3, edges)


def test_memory_that_no_slicing_of_an_operator_meets() -> None:
    """The operator is named, and what each device lacks: one byte less is not enough."""
    edges = [needs_all(0, 1, 4, 3)]
    costs: dict[str, Any] = {"weights": [2, 10], "output": [3, 2], "axis": [0, 0]}
    # Slices of v1 in halves take 12 for the input, 5 for parameters and 4 for the output.
    with pytest.raises(InvalidInputError, match=r"no slicing of operator 'v1' meets .*least 5 b"):
        instance([4, 4], [[1, 1], [1, 1]], edges, capacity=[16, 16], **costs)
    with pytest.raises(InvalidInputError, match="least 1 bytes more"):
        instance([4, 4], [[1, 1], [1, 1]], edges, capacity=[20, 20], **costs)
    sample = instance([4, 4], [[1, 1], [1, 1]], edges, capacity=[21, 21], **costs)
    assert sample.objective(SlicingPlan(np.array([[0, 2, 4], [0, 2, 4]]))) == 14


def test_fewer_indices_than_devices() -> None:
    """Some devices compute nothing then."""
    sample = instance([2, 2], [[9, 9, 9], [4, 4, 4]], [needs(0, 1, 2)])
    assert sample.objective(SlicingPlan(np.array([[0, 1, 1, 2], [0, 1, 1, 2]]))) == 7


def test_fewer_devices() -> None:
    """The first ones; more than there are is an error."""
    sample = instance([4], [[4, 6, 9]], capacity=[70, 80, 90])
    fewer = sample.with_parameters({"edge_devices": 2})
    assert fewer.graph.work.tolist() == [[4, 6]]
    assert fewer.graph.capacity.tolist() == [70, 80]
    assert fewer.parameters == {"edge_devices": 2}
    assert sample.with_parameters({}).sha256 == sample.sha256
    with pytest.raises(InvalidInputError, match="edge_devices is 3; expected 1 to 2"):
        fewer.with_parameters({"edge_devices": 3})


def test_needed_ranges() -> None:
    """Strides, padding, reach, groups and what is cut off."""
    stride = Edge(0, 1, 1, 8, 2, -1, 3, 1, 1)
    assert [stride.needed(0, 1), stride.needed(1, 3), stride.needed(3, 4)] == [
        (0, 2),
        (1, 6),
        (5, 8),
    ]
    groups = Edge(0, 1, 1, 6, 1, 0, 1, 2, 3)
    assert [groups.needed(0, 1), groups.needed(1, 3), groups.needed(2, 4)] == [
        (0, 3),
        (0, 6),
        (3, 6),
    ]
    behind = Edge(0, 1, 1, 2, 1, -3, 1, 1, 1)
    assert [behind.needed(0, 3), behind.needed(2, 4), behind.needed(4, 6)] == [
        (0, 0),
        (0, 1),
        (1, 2),
    ]
    assert behind.needed(4, 4) == (0, 0)
