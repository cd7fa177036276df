import numpy as np
import pytest
from brute_force_placement import instance, optimum
from recording import record

from boundmark.heuristics.placement.kernels.earliest import earliest_finish, earliest_start
from boundmark.heuristics.placement.kernels.network import kernel_network
from boundmark.heuristics.placement.methods.heft import mean_ranks
from boundmark.heuristics.placement.methods.m_topo import filled
from boundmark.heuristics.placement.schedules.room import with_room
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.placement import PlacementInstance

CHAIN = [(0, 1), (1, 2)]


def devices_of(name: str, sample: PlacementInstance) -> list[int]:
    """Return the devices of the last placement that a method reports."""
    devices: list[int] = record(name, sample).solutions[-1].to_json()["devices"]
    return devices


def test_single_device_is_the_best_one() -> None:
    """It compares sums of durations, and nothing is transferred."""
    sample = instance([[3, 1], [1, 2], [1, 1]], CHAIN)
    found = record("single-device", sample).solutions
    assert [sample.objective(solution) for solution in found] == [5, 4]


@pytest.mark.parametrize(
    "sample",
    [
        instance([[1, -1], [-1, 1]], []),
        instance([[1, 1], [1, 1]], [], memory=[2, 2], capacity=[3, 3]),
    ],
    ids=["unsupported", "memory"],
)
def test_single_device_needs_one_for_all(sample: PlacementInstance) -> None:
    """Without one, it says so; methods with several devices find a placement."""
    with pytest.raises(UnsupportedError, match="no device supports all operators and has room"):
        record("single-device", sample)
    for name in ("round-robin", "m-topo", "m-etf", "heft"):
        assert sorted(devices_of(name, sample)) == [0, 1]


def test_round_robin_takes_turns() -> None:
    """In topological order, not in that of the numbers."""
    assert devices_of("round-robin", instance([[1, 1]] * 3, [(2, 0), (0, 1)])) == [1, 0, 0]


def test_m_topo_fills_one_device_after_another() -> None:
    """Up to the mean and the largest operator together."""
    sample = instance([[1, 1]] * 4, [], memory=[1, 1, 1, 1], capacity=[9, 9])
    assert filled(sample).tolist() == [0, 0, 0, 1]


def test_m_etf_takes_what_starts_first_and_is_shortest() -> None:
    """All three may start at 0 on either device; the shortest pair comes first."""
    sample = instance([[4, 5], [2, 3], [3, 3]], [])
    devices, starts = np.empty((2, 3), dtype=np.int64)
    assert earliest_start(kernel_network(sample), devices, starts) == 3
    assert (devices.tolist(), starts.tolist()) == ([0, 0, 1], [2, 0, 0])


def test_heft_counts_transfers() -> None:
    """An operator goes where it ends first, its inputs sent one after another."""
    sample = instance(
        [[2, 9], [9, 2], [9, 3], [4, 1]], [(0, 3), (1, 3), (2, 3)], times=[[0, 2, 2, 0]]
    )
    devices, starts = np.empty((2, 4), dtype=np.int64)
    sequence = np.array([0, 1, 2, 3])
    assert earliest_finish(kernel_network(sample), sequence, devices, starts) == 4
    assert (devices.tolist(), starts.tolist()) == ([0, 1, 1, 1], [0, 0, 2, 5])


def test_mean_ranks() -> None:
    """Means over supported devices and over pairs of different ones, along the longest path."""
    sample = instance([[2, 4], [-1, 6], [8, 2]], CHAIN, times=[[0, 3, 5, 0]])
    assert mean_ranks(sample).tolist() == [3 + 4 + 6 + 4 + 5, 6 + 4 + 5, 5]


@pytest.mark.parametrize(
    ("devices", "expected"),
    [([0, 1, 1], [0, 1, 1]), ([0, 0, 0], [0, 1, 1]), ([1, 1, 1], [0, 1, 1])],
)
def test_what_has_no_room_moves(devices: list[int], expected: list[int]) -> None:
    """The largest operators stay where they are, if they may."""
    sample = instance([[1, -1], [1, 1], [1, 1]], [], memory=[3, 2, 1], capacity=[3, 3])
    found = with_room(sample, np.array(devices))
    assert found is not None
    assert found.tolist() == expected


def test_room_may_not_be_found() -> None:
    """Three operators of 2 do not fit into 3 and 3, although 6 fit into 6."""
    sample = instance([[1, 1]] * 3, [], memory=[2, 2, 2], capacity=[3, 3])
    assert with_room(sample, np.array([0, 0, 1])) is None
    for name in ("round-robin", "m-topo", "m-etf", "heft", "placement-search"):
        with pytest.raises(UnsupportedError, match="room"):
            record(name, sample)


def test_search_finds_what_simple_methods_do_not() -> None:
    """On this graph, they all end above the optimum."""
    sample = instance(
        [[2, 2], [3, 3], [3, 3], [1, 1], [5, 5], [5, 5]],
        [(0, 1), (0, 2), (1, 3), (2, 3), (3, 4), (3, 5)],
        times=[[0, 3, 3, 0]],
    )
    found = record("placement-search", sample, params={"evaluations": 300}).solutions
    assert sample.objective(found[-1]) == optimum(sample) == 17
