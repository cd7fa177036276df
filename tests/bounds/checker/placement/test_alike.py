"""Devices that are alike, and modules that are the same."""

import itertools
import random
from typing import Any

import pytest
from brute_force_placement import instance, optimum
from checking import proved

from boundmark.bounds import checker
from boundmark.bounds.checker.placement.alike import alike_devices, first_pair
from boundmark.bounds.checker.placement.module_search import FOUND, REFUTED, search
from boundmark.bounds.checker.placement.modules import module_of, scratch_for, tensors_written
from boundmark.bounds.checker.placement.paths import OUTSIDE, Network
from boundmark.problems.placement import PlacementInstance

FOREVER = 10**9


def alike_in(sample: PlacementInstance) -> list[int]:
    """Return, for each device of an instance, the first one that it is like."""
    read = checker.check_instance(sample.to_json())
    return alike_devices(read, Network(read).duration)


def times_of(groups: list[int], ticks: list[list[int]]) -> list[int]:
    """Return ticks from device to device, by the groups of the two."""
    return [
        0 if d == e else ticks[a][b] for d, a in enumerate(groups) for e, b in enumerate(groups)
    ]


def sample_of(groups: list[int], dice: random.Random) -> PlacementInstance:
    """Return an instance of four operators in which devices of a group are alike."""
    nodes = 4
    by_group = [[dice.choice([0, 1, 3, 5]) for _ in groups] for _ in range(nodes)]
    room = [dice.randint(4, 6) for _ in groups]
    edges = [(u, v) for u in range(nodes) for v in range(u + 1, nodes) if dice.random() < 0.5]
    return instance(
        [[row[group] for group in groups] for row in by_group],
        edges,
        times=[times_of(groups, [[dice.randint(0, 5) for _ in groups] for _ in groups])],
        transfers=dice.choice(["per-edge", "per-tensor"]),
        memory=[1, 2, 1, 2],
        capacity=[room[group] for group in groups],
    )


@pytest.mark.parametrize("seed", range(6))
def test_the_search_still_ends_at_the_optimum(seed: int) -> None:
    """Trying one of the devices that are alike misses no schedule; by exhaustion."""
    dice = random.Random(seed)
    for groups in ([0, 0, 0], [0, 1, 0], [0, 1, 1]):
        sample = sample_of(groups, dice)
        best = optimum(sample)
        read = checker.check_instance(sample.to_json())
        network = Network(read)
        ends, body = (OUTSIDE, OUTSIDE), network.inside(OUTSIDE, OUTSIDE)
        module = module_of(read, network, tensors_written(read), ends, body)
        room = scratch_for(module, lambda size: [0] * size)
        assert all(module.alike[d] <= groups.index(group) for d, group in enumerate(groups))
        assert search(module, room, best, FOREVER) == FOUND
        if best:
            assert search(module, room, best - 1, FOREVER) == REFUTED


def test_fewer_devices_are_tried() -> None:
    """Of eight operators on four equal devices; an instance that tells them apart takes longer."""
    steps = []
    for row in ([5] * 4, [5, 5, 5, 6]):
        sample = instance([row] * 8, [], times=[[0] * 16])
        read = checker.check_instance(sample.to_json())
        network = Network(read)
        body = network.inside(OUTSIDE, OUTSIDE)
        written = tensors_written(read)
        module = module_of(read, network, written, (OUTSIDE, OUTSIDE), body)
        room = scratch_for(module, lambda size: [0] * size)
        assert search(module, room, 9, FOREVER) == REFUTED
        steps.append(room.count[0])
    assert 2 * steps[0] < steps[1]


def test_what_tells_devices_apart() -> None:
    """An operator's ticks, a place where it cannot be, room, or a tensor's ticks either way."""
    rows, edges = [[2, 2, 2], [3, 3, 3]], [(0, 1)]
    same = [0, 4, 4, 4, 0, 4, 4, 4, 0]
    assert alike_in(instance(rows, edges, times=[same])) == [0, 0, 0]
    assert alike_in(instance([[2, 2, 1], [3, 3, 3]], edges, times=[same])) == [0, 0, 2]
    assert alike_in(instance([[2, -1, 2], [3, 3, 3]], edges, times=[same])) == [0, 1, 0]
    small = instance(rows, edges, times=[same], memory=[1, 1], capacity=[2, 3, 3])
    assert alike_in(small) == [0, 1, 1]
    for place in (1, 2, 3, 5, 6, 7):
        other = [*same[:place], 5, *same[place + 1 :]]
        # Between two devices, both ways matter; the third is told apart by none of them.
        assert alike_in(instance(rows, edges, times=[other])) == [0, 1, 2]


@pytest.mark.parametrize("groups", [[0, 0, 0, 0], [0, 1, 0, 1], [0, 1, 1, 3]])
def test_the_first_pair_is_that_of_all_exchanges(groups: list[int]) -> None:
    """Two pairs have the same first pair exactly if exchanges make one of the other."""
    sample = instance([[group + 1 for group in groups]] * 2, [(0, 1)], times=[[0] * 16])
    read = checker.check_instance(sample.to_json())
    network = Network(read)
    module = module_of(read, network, tensors_written(read), (0, 1), [])
    pairs = list(itertools.product(range(4), repeat=2))
    exchanges = [
        place
        for place in itertools.permutations(range(4))
        if all(groups[d] == groups[e] for d, e in enumerate(place))
    ]
    for one, other in itertools.product(pairs, repeat=2):
        is_same = any((place[one[0]], place[one[1]]) == other for place in exchanges)
        assert (first_pair(module, one, True, True) == first_pair(module, other, True, True)) == (
            is_same
        )


# Three branches, on two devices: two of them run one after another.
FORK_JOIN = [*((0, v) for v in (1, 2, 3)), *((v, 4) for v in (1, 2, 3))]
TWO = [*FORK_JOIN, *((u + 4, v + 4) for u, v in FORK_JOIN)]
ROWS = [[1, 1], *[[5, 5]] * 3, [1, 1], *[[5, 5]] * 3, [1, 1]]
TIMES = [0, 1, 1, 0]


def proven(sample: PlacementInstance, *intervals: dict[str, Any]) -> int:
    """Return what intervals of a `series` certificate prove."""
    whole = {"first": OUTSIDE, "last": OUTSIDE, "rows": [], "searches": []}
    return proved(sample, "series/1", {"intervals": [*intervals, whole]})


def interval(first: int, *searches: list[int]) -> dict[str, Any]:
    """Return an interval from an operator to the one four behind it."""
    return {"first": first, "last": first + 4, "rows": [], "searches": list(searches)}


STEPS = 10_000
ALL = [[0, 0, 9, STEPS], [0, 1, 9, STEPS], [1, 0, 9, STEPS], [1, 1, 9, STEPS]]
# A search of no steps proves nothing by itself, but for what is clear at once.
ONCE = interval(0, ALL[0], ALL[1], [1, 0, 9, 0], [1, 1, 9, 0])
AGAIN = interval(4, *([*row[:3], 0] for row in ALL))
REFUSED = "does not refute its threshold"


def test_what_was_searched_once_counts_again() -> None:
    """For devices that are alike, and for a module that is the same: without a single step."""
    sample = instance(ROWS, TWO, times=[TIMES])
    assert proven(sample, ONCE, AGAIN) == 23
    # Less is known as well, more is not.
    less = interval(4, [0, 0, 8, 0], *AGAIN["searches"][1:])
    assert proven(sample, ONCE, less) == 22
    with pytest.raises(checker.Rejected, match=REFUSED):
        proven(sample, ONCE, interval(4, [0, 0, 10, 0]))
    # Of other pairs of devices, nothing was said.
    with pytest.raises(checker.Rejected, match=REFUSED):
        proven(sample, interval(0, ALL[0]), interval(4, [0, 1, 9, 0]))


@pytest.mark.parametrize(
    ("rows", "edges", "memory"),
    [
        ([*ROWS[:5], [6, 6], *ROWS[6:]], TWO, [0] * 9),
        (ROWS, [*TWO, (4, 8)], [0] * 9),
        (ROWS, TWO, [0, 0, 0, 0, 0, 1, 0, 0, 0]),
    ],
)
def test_a_module_that_differs_is_searched(
    rows: list[list[int]], edges: list[tuple[int, int]], memory: list[int]
) -> None:
    """With an operator that takes longer, one tensor more, or an operator that needs room."""
    sample = instance(rows, edges, times=[TIMES], memory=memory, capacity=[9, 9])
    assert proven(sample, ONCE, interval(4, *ALL)) >= 23
    with pytest.raises(checker.Rejected, match=REFUSED):
        proven(sample, ONCE, AGAIN)


@pytest.mark.parametrize(
    ("rows", "times", "capacity"),
    [
        ([[1, 1], [5, 6], *ROWS[2:]], TIMES, [9, 9]),
        (ROWS, [0, 1, 2, 0], [9, 9]),
        (ROWS, TIMES, [9, 10]),
    ],
)
def test_devices_that_differ_are_searched(
    rows: list[list[int]], times: list[int], capacity: list[int]
) -> None:
    """In an operator's ticks, in those of a tensor, or in their room."""
    sample = instance(rows, TWO, times=[times], memory=[1] * 9, capacity=capacity)
    assert alike_in(sample) == [0, 1]
    assert proven(sample, interval(0, *ALL)) >= 12
    with pytest.raises(checker.Rejected, match=REFUSED):
        proven(sample, ONCE)


def test_an_interval_inside_tells_devices_apart() -> None:
    """What was proven of one device only, inside of a module, is not said of the other."""
    edges = [*FORK_JOIN, (4, 5), (4, 6), (4, 7), (0, 5), (5, 8), (6, 8), (7, 8)]
    sample = instance(ROWS, edges, times=[TIMES])
    inner = interval(0, *ALL[:3])
    outer = {"first": 0, "last": 8, "rows": [], "searches": [[0, 0, 20, STEPS], [1, 1, 20, 0]]}
    with pytest.raises(checker.Rejected, match=REFUSED):
        proven(sample, inner, outer)
    assert proven(sample, interval(0, *ALL), outer) >= 12
