import numpy as np
import pytest
from layouts import shape

from boundmark.heuristics.microbatch.pattern import (
    find_earliest_starts,
    fits,
    peak_memory,
)
from boundmark.problems.errors import UnsupportedError

# Blocks of v-2-train: F0, F1, B1, B0.
F0, F1, B1, B0 = range(4)
V2 = shape("v-2-train").layout


def test_starts_by_hand() -> None:
    """Each block starts when its device is free and its inputs are done."""
    orders = [
        [(F0, 0), (F0, 1), (B0, 0), (B0, 1)],
        [(F1, 0), (B1, 0), (F1, 1), (B1, 1)],
    ]
    expected = [[0, 1, 2, 5], [1, 5, 6, 9]]
    assert find_earliest_starts(V2, orders, 2).tolist() == expected


def test_several_devices_start_together() -> None:
    """A block on all devices waits for the last one to be free."""
    layout = shape("m-2-train").layout
    everything = [
        [(i, number) for number in range(2) for i in range(6) if device in layout.blocks[i].devices]
        for device in range(2)
    ]
    starts = find_earliest_starts(layout, everything, 2)
    assert np.array_equal(starts[1], starts[0] + 10)


def test_deadlock_is_refused() -> None:
    """Devices that wait for each other are named, not waited for."""
    orders = [[(B0, 0), (F0, 0)], [(F1, 0), (B1, 0)]]
    with pytest.raises(UnsupportedError, match="device 0 waits for ever to run block 'B0'"):
        find_earliest_starts(V2, orders, 1)


def test_memory_counts_from_the_start_of_a_block() -> None:
    """A backward block releases before the next forward block allocates."""
    assert peak_memory(V2, [(F0, 0), (F0, 1), (B0, 0), (F0, 2)]) == 2
    assert peak_memory(V2, []) == 0
    orders = [[(F0, 0), (F0, 1), (B0, 0), (B0, 1)], [(F1, 0), (B1, 0), (F1, 1), (B1, 1)]]
    assert fits(shape("v-2-train", memory=2), orders)
    assert not fits(shape("v-2-train", memory=1), orders)
