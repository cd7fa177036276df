import numpy as np
import pytest
from brute_force_placement import instance

from boundmark.bounds.placement.moirai_program import (
    best_durations,
    first_uses,
    heads_and_tails,
    relabelled,
    twin_classes,
)
from boundmark.problems.placement import PlacementInstance
from boundmark.problems.placement.simulation import in_order

SAMPLE = instance(
    [[4, 3], [2, -1], [9, 5], [1, 1]], [(0, 1), (0, 2), (1, 3), (2, 3)],
    times=[[0, 2, 7, 0]], memory=[1, 1, 5, 1], capacity=[9, 4],
)  # fmt: skip


def test_windows_by_hand() -> None:
    """Best durations on devices with room, before and after each operator."""
    assert best_durations(SAMPLE.graph).tolist() == [3, 2, 9, 1]
    head, tail = heads_and_tails(SAMPLE.graph)
    assert head.tolist() == [0, 3, 3, 12]
    assert tail.tolist() == [10, 1, 1, 0]


ALIKE = [0, 1, 1, 1, 0, 1, 1, 1, 0]


@pytest.mark.parametrize(
    ("sample", "expected"),
    [
        (instance([[2, 2, 2]], []), [[0, 1, 2]]),
        (instance([[2, 2, 3]], []), [[0, 1]]),
        (instance([[2, 2, 2]], [], capacity=[1, 2, 1]), [[0, 2]]),
        # The way from 0 to 1 is longer than back: only 0 and 1 are not alike.
        (instance([[2, 2], [2, 2]], [(0, 1)], times=[[0, 2, 1, 0]]), []),
        (instance([[2, 2], [2, 2]], [(0, 1)], times=[[0, 2, 2, 0]]), [[0, 1]]),
        # Device 2 is nearer to 0 than to 1.
        (instance([[2, 2, 2]] * 2, [(0, 1)], times=[[0, 5, 1, 5, 0, 5, 1, 5, 0]]), [[0, 2]]),
    ],
)
def test_twins(sample: PlacementInstance, expected: list[list[int]]) -> None:
    """They have the same durations, memory, and ways to all others."""
    assert twin_classes(sample.graph) == expected


@pytest.mark.parametrize("transfers", ["per-tensor", "per-edge"])
def test_exchanging_twins(transfers: str) -> None:
    """Costs nothing, and brings them into the order of their first use."""
    sample = instance([[2, 2, 2]] * 3, [(0, 1), (0, 2)], times=[ALIKE], transfers=transfers)
    before = in_order(sample, np.array([2, 2, 0]), [0, 1, 2])
    after = relabelled(sample, before)
    assert after.devices.tolist() == [0, 0, 1]
    assert sample.objective(after) == sample.objective(before)
    for v, d, earlier, e in first_uses(sample.graph):
        assert after.devices[v] != d or e in after.devices[list(earlier)]
