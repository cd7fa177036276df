"""Instances that are none, each with one value changed, and those that are just possible."""

import copy
from typing import Any

import pytest

from boundmark.bounds import checker
from boundmark.bounds.checker.values import LARGEST_COST

# A fork of three operators on two devices, of which the second runs on one only.
SAMPLE: dict[str, Any] = {
    "format": "boundmark-instance/1", "problem": "placement", "transfers": "per-edge",
    "duration": [[1, 2], [-1, 3], [4, 5]], "memory": [2, 3, 1], "capacity": [3, 4],
    "producer": [0, 0], "consumers": [[1], [1, 2]], "size": [0, 1],
    "times": [[0, 1, 2, 0], [0, 7, 9, 0]],
}  # fmt: skip

# The longest durations and transfers together, without the first duration: 8 + 2 + 2 * 9.
REST = 28


def changed(**change: Any) -> dict[str, Any]:
    """Return the sample with other fields."""
    return {**copy.deepcopy(SAMPLE), **change}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"memory": [], "duration": []}, "no operators, or not 1 to 64 devices"),
        ({"capacity": []}, "no operators, or not 1 to 64 devices"),
        ({"producer": [0, 3]}, "producer of the instance is not an integer from 0 to 2"),
        ({"op_types": ["a", "b", 3], "output_shapes": [[]] * 3}, "something else than texts"),
        ({"op_types": ["a"] * 3, "output_shapes": [[], [2**63], []]}, "an entry of output_sh"),
        ({"capacity": [9] * 65}, "no operators, or not 1 to 64 devices"),
        ({"duration": [[1, 2], [-1, -1], [4, 5]]}, "no device supports an operator and has room"),
        ({"memory": [2, 4, 1], "capacity": [9, 3]}, "no device supports an operator and has room"),
        ({"times": [[1, 1, 2, 0], [0, 7, 9, 0]]}, "takes time from a device to itself"),
        ({"times": [[0, 1, 2, 0], [0, 7, 9, 1]]}, "takes time from a device to itself"),
        ({"consumers": [[0], [1, 2]]}, "the instance's graph has a cycle"),
        ({"producer": [0, 1], "consumers": [[1], [0]]}, "the instance's graph has a cycle"),
        ({"memory": [2, 3, 3]}, "the operators need more memory than there is"),
        (
            {"duration": [[1, LARGEST_COST - REST + 1], [-1, 3], [4, 5]]},
            "the costs or the memory of the instance add up to more than 2.53",
        ),
        (
            {"times": [[0, 1, 2, 0], [0, LARGEST_COST // 2, 9, 0]]},
            "the costs or the memory of the instance add up to more than 2.53",
        ),
        (
            {"capacity": [3, LARGEST_COST - 8]},
            "the costs or the memory of the instance add up to more than 2.53",
        ),
    ],
)
def test_instances_that_are_none(change: dict[str, Any], reason: str) -> None:
    """Each is refused with what is wrong; without the change it is an instance."""
    checker.check_instance(SAMPLE)
    with pytest.raises(checker.Rejected, match=reason):
        checker.check_instance(changed(**change))


@pytest.mark.parametrize(
    "change",
    [
        {"transfers": "per-tensor"},
        {"duration": [[1, LARGEST_COST - REST], [-1, 3], [4, 5]]},
        {"capacity": [3, LARGEST_COST - 9]},
        {"memory": [2, 3, 2]},
        {"memory": [0, 4, 0], "capacity": [0, 4]},
        {"op_types": ["a"] * 3, "output_shapes": [[], [2], [2**63 - 1]], "fusion": "backends"},
        {"producer": [], "consumers": [], "size": [], "times": []},
        {"producer": [2, 0]},
        {"duration": [[1] * 64] * 3, "capacity": [9] * 64, "times": [[0] * 64**2] * 2},
    ],
)
def test_instances_that_are_just_possible(change: dict[str, Any]) -> None:
    """Limits are part of what is allowed, and so are fields that describe the graph."""
    checker.check_instance(changed(**change))


def test_ticks_of_tensors() -> None:
    """They are in the row of the tensor's size, first by sender, then by receiver."""
    read = checker.check_instance(SAMPLE)
    found = [[[read.ticks(t, d, e) for e in (0, 1)] for d in (0, 1)] for t in (0, 1)]
    assert found == [[[0, 1], [2, 0]], [[0, 7], [9, 0]]]
