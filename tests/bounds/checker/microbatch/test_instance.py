"""Instances that are none, each with one value changed, and those that are just possible."""

import copy
from typing import Any

import pytest

from boundmark.bounds import checker
from boundmark.bounds.checker.microbatch.instance import (
    LARGEST_AMOUNT,
    LARGEST_CAPACITY,
    LARGEST_TOTAL,
    MOST_BLOCKS,
    MOST_MICRO_BATCHES,
)

# Forward on device 0, a block on both, backward on device 0.
SAMPLE: dict[str, Any] = {
    "format": "boundmark-instance/1", "problem": "microbatch", "micro_batches": 3,
    "capacity": [2, 1], "duration": [1, 2, 3], "memory": [2, 0, -2],
    "device_sets": [[0], [0, 1], [0]], "kinds": ["forward", "weight", "backward"],
    "edges": [[0, 1], [1, 2]],
}  # fmt: skip


def changed(**change: Any) -> dict[str, Any]:
    """Return the sample with other fields."""
    return {**copy.deepcopy(SAMPLE), **change}


def of_blocks(count: int, micro_batches: int = 1) -> dict[str, Any]:
    """Return an instance of so many blocks on a device each."""
    return changed(
        micro_batches=micro_batches, capacity=[0] * count, duration=[1] * count,
        memory=[0] * count, device_sets=[[v] for v in range(count)], kinds=["forward"] * count,
        edges=[],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"duration": []}, "does not have 1 to 4096 blocks and devices"),
        ({"capacity": []}, "does not have 1 to 4096 blocks and devices"),
        ({"capacity": [2, LARGEST_CAPACITY + 1]}, "capacity of the instance is not an integer"),
        ({"duration": [LARGEST_AMOUNT + 1, 2, 3]}, "duration of the instance is not an integer"),
        ({"memory": [LARGEST_AMOUNT + 1, 0, -2]}, "memory of the instance is not an integer"),
        ({"memory": [2, 0, -LARGEST_AMOUNT - 1]}, "memory of the instance is not an integer"),
        ({"capacity": [1, 1]}, "a block needs more memory than its device has"),
        ({"memory": [2, 0, -1]}, "does not release the memory that it allocates"),
        ({"memory": [1, 1, -2]}, "does not release the memory that it allocates"),
        ({"edges": [[0, 1], [1, 2], [2, 0]]}, "wait for each other in a cycle"),
        ({"micro_batches": MOST_MICRO_BATCHES + 1}, "micro_batches of the instance is not an int"),
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
        {"capacity": [LARGEST_CAPACITY, 0]},
        {"duration": [LARGEST_AMOUNT, 1, 1]},
        {"memory": [LARGEST_AMOUNT, 0, -LARGEST_AMOUNT], "capacity": [LARGEST_AMOUNT, 0]},
        {"micro_batches": 0},
        {"micro_batches": MOST_MICRO_BATCHES},
        {"edges": []},
        {"memory": [-2, 0, 2]},
    ],
)
def test_instances_that_are_just_possible(change: dict[str, Any]) -> None:
    """Limits are part of what is allowed."""
    checker.check_instance(changed(**change))


def test_instances_of_many_blocks() -> None:
    """There are as many blocks and devices as one may have, and not one more."""
    checker.check_instance(of_blocks(MOST_BLOCKS))
    for name in ("capacity", "duration"):
        with pytest.raises(checker.Rejected, match="does not have 1 to 4096 blocks and devices"):
            checker.check_instance({**of_blocks(MOST_BLOCKS), name: [1] * (MOST_BLOCKS + 1)})


def test_all_micro_batches_together_have_an_end() -> None:
    """The sum of all durations is limited: for all micro-batches, or for one if periods count."""
    blocks = LARGEST_TOTAL // LARGEST_AMOUNT // 2**10
    long = {**of_blocks(blocks, 2**10), "duration": [LARGEST_AMOUNT] * blocks}
    checker.check_instance(long)
    checker.check_instance({**long, "micro_batches": 0})
    with pytest.raises(checker.Rejected, match=r"take more than 2\^53 ticks"):
        checker.check_instance({**long, "micro_batches": 2**10 + 1})


def test_what_blocks_occupy() -> None:
    """Each device of a block counts, each time anew."""
    assert checker.check_instance(SAMPLE).occupied == 4
