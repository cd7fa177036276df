import numpy as np
import pytest
from brute_force_placement import instance, optimum
from hypothesis import given, settings
from placement_strategies import instances
from recording import record
from selection import examples

from boundmark.heuristics.placement.baechi import filled
from boundmark.heuristics.placement.greedy_kernels import (
    earliest_finish,
    earliest_start,
    least_rests,
)
from boundmark.heuristics.placement.heft import mean_ranks
from boundmark.heuristics.placement.room import require_room, with_room
from boundmark.heuristics.placement.starts import dealt_in_turn, filled_in_turn
from boundmark.problems.errors import InvalidInputError, UnsupportedError
from boundmark.problems.placement import PlacementInstance
from boundmark.problems.placement.compiled import placement_arrays

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
    for name in ("round-robin", "m-topo", "m-etf", "m-sct", "getf", "heft", "peft"):
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
    devices, starts = earliest_start(placement_arrays(sample), np.full(3, -1))
    assert (devices.tolist(), starts.tolist()) == ([0, 0, 1], [2, 0, 0])


def test_heft_counts_transfers() -> None:
    """An operator goes where it ends first, its inputs sent one after another."""
    sample = instance(
        [[2, 9], [9, 2], [9, 3], [4, 1]], [(0, 3), (1, 3), (2, 3)], times=[[0, 2, 2, 0]]
    )
    free = np.zeros((4, 2), np.int64)
    devices, starts = earliest_finish(placement_arrays(sample), np.arange(4), free)
    assert (devices.tolist(), starts.tolist()) == ([0, 1, 1, 1], [0, 0, 2, 5])


def test_a_handicap_counts_as_a_later_end() -> None:
    """It decides on the device, and not on what starts when."""
    sample = instance([[2, 3], [2, 3]], [(0, 1)], times=[[0, 1, 1, 0]])
    handicap = np.array([[2, 0], [0, 0]])
    devices, starts = earliest_finish(placement_arrays(sample), np.arange(2), handicap)
    assert (devices.tolist(), starts.tolist()) == ([1, 0], [0, 4])


def test_least_rests() -> None:
    """The longest way behind, each operator on its best device, charges included."""
    sample = instance(
        [[1, 1], [5, 2], [3, -1], [4, 1]], [(0, 1), (0, 2), (1, 3)], times=[[0, 3, 4, 0]]
    )
    charge = np.array([[0, 0], [0, 1], [7, 0], [0, 2]])
    # Behind 1 on device 0: 4 there, or 3 to get away and 3. Behind 0: 5 + 4, or 3 + 2 + 1 + 3.
    assert least_rests(placement_arrays(sample), charge).tolist() == [
        [10, 14], [4, 3], [0, 0], [0, 0]
    ]  # fmt: skip


@settings(max_examples=examples(25), deadline=None)
@given(instances(most_nodes=5))
def test_peft_is_optimal_where_paths_are(sample: PlacementInstance) -> None:
    """Of a chain, earliest ends and least rests add up to the optimum, if memory is no limit."""
    graph = sample.graph
    chain = instance(
        graph.duration.tolist(),
        [(v, v + 1) for v in range(graph.nodes - 1)],
        times=[[0 if d == e else 1 + 2 * d + e for d in range(graph.devices)
                for e in range(graph.devices)]],
    )  # fmt: skip
    found = record("peft", chain).solutions[-1]
    assert chain.objective(found) == optimum(chain)


def test_prices_keep_room_on_the_fast_device() -> None:
    """What comes first is large and about as fast elsewhere; without prices it fills the device."""
    rows = [[10, 11]] * 2 + [[10, 100]] * 2
    sample = instance(
        rows, [(0, 1), (1, 2), (2, 3)], memory=[2, 2, 2, 2], capacity=[4, 9], times=[[0, 1, 1, 0]]
    )
    costs = [
        sample.objective(record("peft", sample, params={"trials": trials}).solutions[-1])
        for trials in (0, 30)
    ]
    assert costs == [221, optimum(sample)]


def test_segments_are_dealt_in_turn() -> None:
    """In each of two rounds, the device that is twice as fast gets twice the work."""
    sample = instance([[1, 2]] * 12, [(v, v + 1) for v in range(11)])
    assert next(dealt_in_turn(sample)).tolist() == [0, 0, 0, 0, 1, 1] * 2


def test_mean_ranks() -> None:
    """Means over supported devices and over pairs of different ones, along the longest path."""
    sample = instance([[2, 4], [-1, 6], [8, 2]], CHAIN, times=[[0, 3, 5, 0]])
    assert mean_ranks(sample.graph, placement_arrays(sample)).tolist() == [
        3 + 4 + 6 + 4 + 5,
        6 + 4 + 5,
        5,
    ]


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
    for name in (
        "round-robin", "random-devices", "m-topo", "m-etf", "m-sct", "getf", "heft", "peft",
        "placement-search", "placement-brkga",
    ):  # fmt: skip
        with pytest.raises(UnsupportedError, match="room"):
            record(name, sample)


def test_room_that_greedy_rules_do_not_find() -> None:
    """Only 3 + 3 and 2 + 2 + 2 fill both devices; largest first, the two of 3 are apart."""
    sample = instance([[1, 1]] * 5, [], memory=[3, 3, 2, 2, 2], capacity=[6, 6])
    devices = np.array([0, 1, 0, 1, 0])
    assert with_room(sample, devices) is None
    # As few as can be leave the device that they were given.
    assert require_room(sample, devices).tolist() == [1, 1, 0, 0, 0]
    for name in ("round-robin", "random-devices", "m-etf", "heft", "peft"):
        assert sorted(np.bincount(devices_of(name, sample)).tolist()) == [2, 3]
    found = record("placement-search", sample, params={"evaluations": 20}).solutions[-1]
    assert sorted(np.bincount(found.devices).tolist()) == [2, 3]


def test_devices_are_filled_in_the_best_sequence() -> None:
    """The fast device first, up to its memory; where it supports nothing more, the next one."""
    rows, edges = [[9, 1], [9, 1], [9, 1]], CHAIN
    sample = instance(rows, edges, memory=[1, 1, 1], capacity=[3, 2])
    assert devices_of("fill-devices", sample) == [1, 1, 0]
    sample = instance([[9, 1], [9, -1], [9, 1]], edges, memory=[1, 1, 1], capacity=[3, 3])
    assert devices_of("fill-devices", sample) == [1, 0, 0]
    nowhere = instance([[1, 1]] * 3, edges, memory=[2, 2, 2], capacity=[3, 3])
    with pytest.raises(UnsupportedError, match="do not hold all operators"):
        record("fill-devices", nowhere)


def test_of_many_devices_not_all_sequences_are_tried() -> None:
    """They begin anywhere in the order of speed, and all of them have room."""
    rows = [[5, 1, 4, 2, 3]] * 4
    sample = instance(rows, [*CHAIN, (2, 3)], memory=[1] * 4, capacity=[2, 2, 2, 2, 1])
    found = [devices.tolist() for devices in filled_in_turn(sample)]
    assert found == [[1, 1, 3, 3], [3, 3, 4, 2], [4, 2, 2, 0], [2, 2, 0, 0], [0, 0, 1, 1]]


def test_m_sct_waits_for_a_favourite_child() -> None:
    """Device 0 could run operator 2 at once, but operator 1 is ready there, and elsewhere later."""
    sample = instance([[2, 9], [2, 9], [1, 9], [2, 2]], [(0, 1), (0, 2)], times=[[0, 5, 5, 0]])
    network = placement_arrays(sample)
    devices, starts = earliest_start(network, np.full(4, -1))
    assert (devices.tolist(), starts.tolist()) == ([0, 0, 0, 1], [0, 3, 2, 0])
    devices, starts = earliest_start(network, np.array([1, -1, -1, -1]))
    assert (devices.tolist(), starts.tolist()) == ([0, 0, 0, 1], [0, 2, 4, 0])


def test_getf_keeps_to_a_group() -> None:
    """Two fast devices and a slow one: the chain's long operators stay with the fast ones."""
    sample = instance([[2, 2, 10], [2, 2, 10], [2, 2, 10], [2, 2, 10]], [(0, 1), (1, 2), (2, 3)])
    assert 2 not in devices_of("getf", sample)


@pytest.mark.parametrize("gamma", [1.0, 0.5, -2.0, float("nan")])
def test_getf_needs_groups_of_some_width(gamma: float) -> None:
    """A factor of one would divide by zero."""
    with pytest.raises(InvalidInputError, match="expected more than 1"):
        record("getf", instance([[1, 1]], []), params={"gamma": gamma})


def test_search_finds_what_simple_methods_do_not() -> None:
    """On this graph, they all end above the optimum."""
    sample = instance(
        [[2, 2], [3, 3], [3, 3], [1, 1], [5, 5], [5, 5]],
        [(0, 1), (0, 2), (1, 3), (2, 3), (3, 4), (3, 5)],
        times=[[0, 3, 3, 0]],
    )
    found = record("placement-search", sample, params={"evaluations": 300}).solutions
    assert sample.objective(found[-1]) == optimum(sample) == 17
    found = record("placement-brkga", sample, params={"generations": 5}).solutions
    assert sample.objective(found[-1]) == 17


def test_search_where_memory_is_full() -> None:
    """Operators change places: each is on its slow device at first, and nothing else fits."""
    sample = instance([[9, 1], [1, 9]], [], memory=[1, 1], capacity=[1, 1])
    found = record("placement-search", sample, params={"evaluations": 50}).solutions
    assert sample.objective(found[-1]) == 1
