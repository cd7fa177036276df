from dataclasses import replace

import pytest
from graphs import ROUND_DEVICE, ROUND_LINK, small_graph

from boundmark.problems.devices import Cluster, Device, Link
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.placement import PROBLEM
from boundmark.problems.placement.costs import placement_graph

HALF_AS_FAST = replace(ROUND_DEVICE, name="half", peak_rate={"float32": 5e8})
INTEGERS_ONLY = replace(ROUND_DEVICE, name="integers", peak_rate={"int8": 1e9})


def pair(first: Device, second: Device) -> Cluster:
    """Connect two devices, with half the bandwidth on the way back."""
    links = {("a", "b"): ROUND_LINK, ("b", "a"): Link(5e7, 0.0, "")}
    return Cluster.from_links("pair", {"a": first, "b": second}, links, "made up")


def test_costs_by_hand() -> None:
    """Durations by roofline on each device, transfers by link, memory for parameters and outputs.

    The last tensor is read by nobody, and never moved.
    """
    costs = placement_graph(small_graph(), pair(ROUND_DEVICE, HALF_AS_FAST))
    assert costs.duration.tolist() == [[5020, 10020], [820, 820], [0, 0]]
    assert costs.memory.tolist() == [200 + 400, 400, 400]
    assert costs.capacity.tolist() == [1000, 1000]
    assert (costs.producer.tolist(), costs.consumers) == ([0, 1], ((1,), (2,)))
    # Both tensors are of 400 bytes, and share a table.
    assert costs.size.tolist() == [0, 0]
    assert costs.times.tolist() == [[[0, 4100], [8000, 0]]]
    assert (costs.names, costs.device_names) == (("conv", "relu", "reshape"), ("a", "b"))


def test_a_device_without_the_rate_does_what_is_no_arithmetic() -> None:
    """Operators without operations run anywhere."""
    costs = placement_graph(small_graph(), pair(ROUND_DEVICE, INTEGERS_ONLY))
    assert costs.duration.tolist() == [[5020, -1], [820, -1], [0, 0]]
    with pytest.raises(InvalidInputError, match="no device supports operator 'conv'"):
        placement_graph(small_graph(), pair(INTEGERS_ONLY, INTEGERS_ONLY))


def test_a_single_device_is_no_cluster() -> None:
    """There is nothing to choose."""
    with pytest.raises(InvalidInputError, match="'round' is a single device; problem 'placement'"):
        placement_graph(small_graph(), ROUND_DEVICE)


def test_default_is_a_cluster() -> None:
    """Models run on it where none is named."""
    chosen = PROBLEM.device_for(small_graph())
    assert isinstance(chosen, Cluster)
    assert PROBLEM.maker(small_graph())({}).parameters == {"transfers": "per-tensor"}
