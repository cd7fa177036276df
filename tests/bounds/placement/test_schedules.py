import numpy as np
import pytest
from brute_force_placement import instance, least_makespan
from hypothesis import given, settings
from hypothesis import strategies as st
from placement_strategies import instances
from selection import examples

from boundmark.bounds.placement.schedules import (
    best_durations,
    first_uses,
    heads_and_tails,
    in_order,
    longest_schedule,
    quick_schedule,
    relabelled,
    twin_classes,
)
from boundmark.problems.placement import PlacementInstance


@settings(deadline=None, max_examples=examples(200))
@given(instances(), st.data())
def test_any_order_gives_a_schedule(sample: PlacementInstance, data: st.DataObject) -> None:
    """Also times that contradict what waits for what; and a second round changes nothing."""
    span = st.integers(0, sample.graph.devices - 1)
    devices = np.array(
        data.draw(st.lists(span, min_size=sample.nodes, max_size=sample.nodes)), dtype=np.int64
    )
    times = data.draw(st.lists(st.integers(0, 9), min_size=sample.nodes, max_size=sample.nodes))
    schedule = in_order(sample, devices, dict(enumerate(map(float, times))), {})
    makespan = sample.objective(schedule)
    again = in_order(
        sample,
        devices,
        dict(enumerate(schedule.starts.tolist())),
        {(t, receiver): start for t, receiver, start in schedule.transfers.tolist()},
    )
    assert sample.objective(again) <= makespan


@settings(deadline=None, max_examples=examples(50))
@given(instances(most_nodes=4))
def test_the_order_of_an_optimum_gives_an_optimum(sample: PlacementInstance) -> None:
    """The quick schedule is a schedule, and no better than the best one on its devices."""
    schedule = quick_schedule(sample)
    assert schedule is not None
    assert sample.objective(schedule) >= least_makespan(sample, schedule.devices.tolist())


def test_the_order_decides() -> None:
    """Of two operators on a device, the one with the earlier time runs first."""
    sample = instance([[2, 2], [3, 3]], [])
    devices = np.array([0, 0])
    assert in_order(sample, devices, {0: 1.0, 1: 0.0}, {}).starts.tolist() == [3, 0]
    assert in_order(sample, devices, {0: 0.0, 1: 1.0}, {}).starts.tolist() == [0, 2]


def test_where_memory_is_short() -> None:
    """Where operators end first there is no room; elsewhere there is, or nothing is found."""
    sample = instance([[1, 9]] * 4, [], memory=[3, 3, 2, 4], capacity=[6, 6])
    schedule = quick_schedule(sample)
    assert schedule is not None
    assert sample.objective(schedule) > 0
    assert quick_schedule(instance([[1, 1]] * 3, [], memory=[2, 2, 2], capacity=[3, 3])) is None


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


def test_longest_schedule() -> None:
    """All on the worst devices, and every consumer's transfer on the worst way."""
    assert longest_schedule(SAMPLE.graph) == 4 + 2 + 9 + 1 + 4 * 7


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
