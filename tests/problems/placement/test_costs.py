from dataclasses import replace

import pytest
from graphs import ROUND_DEVICE, ROUND_LINK, small_graph

from boundmark.problems.devices import Cluster, Device, Link
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.placement import PROBLEM
from boundmark.problems.placement.costs import placement_graph
from boundmark.problems.placement.graph import with_kept_outputs

HALF_AS_FAST = replace(ROUND_DEVICE, name="half", peak_rate={"float32": 5e8})
INTEGERS_ONLY = replace(ROUND_DEVICE, name="integers", peak_rate={"int8": 1e9})


def pair(first: Device, second: Device) -> Cluster:
    """Connect two devices, with half the bandwidth on the way back."""
    links = {("a", "b"): ROUND_LINK, ("b", "a"): Link(5e7, 0.0, "")}
    return Cluster.from_links("pair", {"a": first, "b": second}, links, "made up")


def test_costs_by_hand() -> None:
    """Durations by roofline on each device, transfers by link, memory of parameters and tensors.

    The last tensor is read by nobody, and never moved.
    """
    costs = placement_graph(small_graph(), pair(ROUND_DEVICE, HALF_AS_FAST))
    assert costs.duration.tolist() == [[5020, 10020], [820, 820], [0, 0]]
    assert costs.memory.tolist() == [200, 0, 0]
    assert (costs.tensor_memory.tolist(), costs.result_memory.tolist()) == ([400, 400], [0, 0, 400])
    assert with_kept_outputs(costs).memory.tolist() == [200 + 400, 400, 400]
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


def test_a_device_computes_in_the_next_wider_type() -> None:
    """A narrower type's rate is no substitute; of the wider ones, the first counts."""
    wide = replace(ROUND_DEVICE, name="wide", peak_rate={"float64": 5e8, "float16": 4e9})
    wider = replace(wide, name="wider", peak_rate={"float64": 1e8})
    costs = placement_graph(small_graph(), pair(wide, wider))
    assert costs.duration.tolist() == [[10020, 50020], [820, 1020], [0, 0]]
    assert costs.fusing is not None
    # 5,000 operations, at 5e8 and 1e8 a second.
    assert costs.fusing.arithmetic[0].tolist() == [1e-5, 5e-5]


def test_a_single_device_is_no_cluster() -> None:
    """There is nothing to choose."""
    with pytest.raises(InvalidInputError, match="'round' is a single device; problem 'placement'"):
        placement_graph(small_graph(), ROUND_DEVICE)


def test_default_is_a_cluster() -> None:
    """Models run on it where none is named."""
    chosen = PROBLEM.device_for(small_graph())
    assert isinstance(chosen, Cluster)
    assert PROBLEM.maker(small_graph())({}).parameters == {
        "transfers": "per-tensor",
        "memory": "parameters+live",
    }
