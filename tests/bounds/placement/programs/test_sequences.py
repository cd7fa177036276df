import numpy as np
from brute_force_placement import instance, least_makespan
from hypothesis import given, settings
from hypothesis import strategies as st
from placement_strategies import instances

from boundmark.bounds.placement.programs.sequences import in_order, quick_schedule
from boundmark.problems.placement import PlacementInstance


@settings(deadline=None, max_examples=200)
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


@settings(deadline=None, max_examples=50)
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
