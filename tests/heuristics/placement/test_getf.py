import numpy as np
import pytest
from brute_force_placement import instance
from hypothesis import given, settings
from hypothesis import strategies as st
from selection import examples

from boundmark.heuristics.placement.getf import (
    assigned_groups,
    speed_groups,
    speeds,
)
from boundmark.problems.method import Budget


def test_groups_of_speeds() -> None:
    """In units of the slowest: below 2, below 4, below 8."""
    assert speed_groups(np.array([1.0, 1.9, 2.0, 3.9, 4.0]), 2.0).tolist() == [0, 0, 1, 1, 2]
    assert speed_groups(np.array([0.3, 0.3, 0.3]), 2.0).tolist() == [0, 0, 0]


def test_a_device_is_as_fast_as_what_it_supports() -> None:
    """What a device cannot run says nothing about its speed."""
    speed = speeds(instance([[1, 3], [1, 3], [-1, 7]], []).graph)
    assert speed == pytest.approx([5 / 3, 12 / 14])


def test_little_work_goes_to_the_fast_group() -> None:
    """A chain is no faster with the slow device's help."""
    sample = instance([[1, 4]] * 3, [(0, 1), (1, 2)])
    group = np.array([1, 0])
    speed = np.array([4.0, 1.0])
    assert assigned_groups(sample.graph, group, speed, Budget(60)).tolist() == [1, 1, 1]


def test_many_slow_devices_are_fast_together() -> None:
    """Of its median group and faster ones, an operator gets the one that does most in all."""
    sample = instance([[2, 5, 5, 5, 5, 5]] * 12, [])
    group = np.array([1, 0, 0, 0, 0, 0])
    speed = np.array([2.5, 1, 1, 1, 1, 1])
    chosen = assigned_groups(sample.graph, group, speed, Budget(60))
    assert set(chosen.tolist()) <= {0, 1}
    assert (chosen == 0).any()


@settings(deadline=None, max_examples=examples(30))
@given(st.lists(st.lists(st.integers(1, 9), min_size=3, max_size=3), min_size=1, max_size=6))
def test_every_operator_has_a_group(duration: list[list[int]]) -> None:
    """One that there is, whatever the durations."""
    graph = instance(duration, [(v, v + 1) for v in range(len(duration) - 1)]).graph
    speed = speeds(graph)
    group = speed_groups(speed, 1.3)
    chosen = assigned_groups(graph, group, speed, Budget(60))
    assert chosen.shape == (len(duration),)
    assert ((chosen >= 0) & (chosen <= group.max())).all()
