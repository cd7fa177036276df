import numpy as np
import pytest
from brute_force_placement import instance

from boundmark.bounds.placement.programs.sequences import in_order
from boundmark.bounds.placement.programs.twins import first_uses, relabelled, twin_classes
from boundmark.problems.placement import PlacementInstance

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
    before = in_order(sample, np.array([2, 2, 0]), {0: 0.0, 1: 1.0, 2: 2.0}, {})
    after = relabelled(sample, before)
    assert after.devices.tolist() == [0, 0, 1]
    assert sample.objective(after) == sample.objective(before)
    for v, d, earlier, e in first_uses(sample.graph):
        assert after.devices[v] != d or e in after.devices[list(earlier)]
