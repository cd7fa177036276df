"""Instances that are none, each with one value changed, and those that are just possible."""

import copy
from typing import Any

import pytest

from boundmark.bounds import checker
from boundmark.bounds.checker.slicing.instance import LONGEST, MOST_BYTES
from boundmark.bounds.checker.values import LARGEST_COST

# Three operators on two devices; the last one needs all of 0, and windows of 1.
WINDOW = [1, 2, 3, 4, 1, -1, 3, 1, 1]
WHOLE = [0, 2, 5, 6, 0, 0, 6, 1, 1]
SAMPLE: dict[str, Any] = {
    "format": "boundmark-instance/1", "problem": "slicing", "length": [6, 4, 4],
    "axis": [1, 0, 0], "work": [[1, 2], [0, 0], [7, 8]], "launch": [1, 2], "weights": [3, 4, 5],
    "output": [25, 3, 3], "edges": [WINDOW, WHOLE], "capacity": [900, 800],
    "point_to_point": [3, 2], "broadcast": [1, 4], "delay": 2,
}  # fmt: skip

# What counts as time: 2 + 0 + 8, three times delay + 2 + launch, and per edge and way of moving
# bytes 1 and the bytes' ticks. The edges have 3 * 4 and 5 * 6 * 6 bytes.
TICKS = 10 + 3 * (2 + 2 + 2) + 4 + (12 * 3 // 2 + 12 // 4) + (180 * 3 // 2 + 180 // 4)
BYTES = 12 + 1700 + (150 + 12 + 12) + 12 + 180


def changed(**change: Any) -> dict[str, Any]:
    """Return the sample with other fields."""
    return {**copy.deepcopy(SAMPLE), **change}


def edge(number: int, **change: int) -> dict[str, Any]:
    """Return edges of which one has another number in one place."""
    names = ("producer", "consumer", "unit", "extent", "multiply", "add", "size", "divide", "scale")
    rows = [list(WINDOW), list(WHOLE)]
    for name, value in change.items():
        rows[number][names.index(name)] = value
    return {"edges": rows}


LATER = "does not lead to a later operator"
RANGE = "an edge of the instance has a number out of range"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"length": [LONGEST + 1, 4, 4]}, "length of the instance is not an integer from 1"),
        ({"capacity": [90] * 17}, "the instance has no operators, or not 1 to 16 devices"),
        (edge(0, unit=MOST_BYTES + 1), "an edge of the instance is not an integer from"),
        (edge(0, add=-LONGEST - 1), "an edge of the instance is not an integer from"),
        (edge(0, producer=2), LATER),
        (edge(0, producer=-1), LATER),
        (edge(0, consumer=3), LATER),
        (edge(0, producer=2, consumer=1), LATER),
        (edge(0, multiply=LONGEST + 1), RANGE),
        (edge(0, add=LONGEST + 1), RANGE),
        (edge(0, size=LONGEST + 1), RANGE),
        (edge(0, divide=LONGEST + 1), RANGE),
        (edge(0, scale=LONGEST + 1), RANGE),
        (edge(1, extent=LONGEST + 1, size=LONGEST + 1), RANGE),
        (edge(0, extent=3), "does not have the extent of its producer"),
        (edge(0, extent=5), "does not have the extent of its producer"),
        (edge(0, unit=4), "an edge of the instance has more bytes than what it is read from"),
        (edge(1, unit=6), "an edge of the instance has more bytes than what it is read from"),
        ({"capacity": [0, 12 + 150 + 4]}, "does not fit on all devices together"),
        ({"capacity": [27, 3 + 5 * 25 - 1]}, "does not fit on all devices together"),
        ({"broadcast": [LONGEST + 1, 2]}, "broadcast of the instance is not an integer from 0"),
        ({"delay": LARGEST_COST // 3}, "costs or the bytes of the instance add up to more than"),
        ({"launch": [1, LARGEST_COST // 3]}, "costs or the bytes of the instance add up to more"),
        (
            {"work": [[1, LARGEST_COST - TICKS + 3], [0, 0], [7, 8]]},
            "the costs or the bytes of the instance add up to more than",
        ),
        (
            {"capacity": [900, LARGEST_COST - BYTES + 801]},
            "the costs or the bytes of the instance add up to more than",
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
        {"work": [[1, LARGEST_COST - TICKS + 2], [0, 0], [7, 8]]},
        {"capacity": [900, LARGEST_COST - BYTES + 800]},
        {"edges": []},
        edge(0, unit=0),
        edge(0, size=LONGEST, divide=LONGEST, scale=LONGEST, multiply=LONGEST, add=LONGEST),
        edge(0, size=1, add=-LONGEST),
        edge(0, producer=0, extent=5),
        edge(1, unit=1, extent=LONGEST, size=LONGEST),
        edge(1, extent=1, size=1, consumer=1),
        {"point_to_point": [0, 1], "broadcast": [LONGEST, LONGEST]},
        {"length": [LONGEST, 4, 4], "capacity": [2**30, 0]},
        {"capacity": [0, 12 + 150 + 5]},
        {"capacity": [900], "launch": [1], "work": [[1], [0], [7]]},
        {
            "capacity": [170] * 16, "launch": [1] * 16, "work": [[1] * 16] * 3,
        },
    ],
)  # fmt: skip
def test_instances_that_are_just_possible(change: dict[str, Any]) -> None:
    """Limits are part of what is allowed; the extent is free where dimensions cross."""
    checker.check_instance(changed(**change))


def test_bytes_and_ticks() -> None:
    """Of whole tensors, and of the router, which rounds up each way of moving bytes."""
    read = checker.check_instance(SAMPLE)
    assert [read.crosses(one) for one in read.edges] == [False, True]
    assert [read.size(one) for one in read.edges] == [12, 180]
    assert [one.is_whole for one in read.edges] == [False, True]
    assert [len(row) for row in read.inputs] == [0, 0, 2]
    ticks = {(0, 0): 0, (1, 0): 2 + 2, (2, 0): 2 + 3, (0, 1): 2 + 1, (0, 5): 2 + 2, (3, 4): 2 + 6}
    assert {key: read.router_ticks(*key) for key in ticks} == ticks


def alone(axis: int, weights: int, output: int, capacity: list[int]) -> dict[str, Any]:
    """Return an operator of four indices on two devices, which reads nothing."""
    return changed(
        length=[4], axis=[axis], work=[[1, 1]], weights=[weights], output=[output], edges=[],
        capacity=capacity,
    )  # fmt: skip


TWICE = [0, 2, 1, 6, 0, 0, 6, 1, 1]


@pytest.mark.parametrize(
    ("instance", "device"),
    [
        # Three indices and one; slices of the height have all parameters, those of channels a part.
        (alone(1, 3, 2, [3 + 3 * 2, 3 + 2]), 0),
        (alone(1, 3, 2, [3 + 3 * 2, 3 + 2]), 1),
        (alone(0, 8, 1, [3 * 3, 3]), 0),
        (alone(0, 8, 1, [3 * 3, 3]), 1),
        (alone(1, 3, 0, [3, 0]), 0),
        (alone(0, 3, 0, [0, 3]), 1),
        # Two inputs of one producer, together less than its output.
        (changed(edges=[TWICE, TWICE], output=[13, 0, 3], capacity=[0, 2 * 36 + 5 + 12]), 1),
        # And more than it.
        (changed(edges=[TWICE, TWICE], output=[11, 0, 3], capacity=[0, 66 + 5 + 12]), 1),
    ],
)
def test_the_least_room(instance: dict[str, Any], device: int) -> None:
    """It is enough, and with a byte less on a device it is not."""
    checker.check_instance(instance)
    instance["capacity"][device] -= 1
    with pytest.raises(checker.Rejected, match="does not fit on all devices together"):
        checker.check_instance(instance)
