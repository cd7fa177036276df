import math
import random
from typing import Any

import pytest
from brute_force_placement import instance, optimum
from selection import each_seed

from boundmark.bounds import checker
from boundmark.bounds.checker.placement import limits
from boundmark.bounds.checker.placement.module_data import Module, Scratch
from boundmark.bounds.checker.placement.module_search import (
    FOUND,
    REFUTED,
    TOO_LONG,
    search,
)
from boundmark.bounds.checker.placement.modules import module_of, scratch_for, tensors_written
from boundmark.bounds.checker.placement.paths import OUTSIDE, Network
from boundmark.problems.placement import PlacementInstance

FOREVER = 10**9


def whole(sample: PlacementInstance) -> tuple[Module, Scratch]:
    """Return all operators as a module, and room for its search."""
    read = checker.check_instance(sample.to_json())
    network = Network(read)
    body = network.inside(OUTSIDE, OUTSIDE)
    module = module_of(read, network, tensors_written(read), (OUTSIDE, OUTSIDE), body)
    return module, scratch_for(module, lambda size: [0] * size)


def random_sample(dice: random.Random) -> PlacementInstance:
    """Return an instance of up to five operators, with costs of all sorts."""
    nodes = dice.randint(1, 5)
    devices = dice.choice([1, 2, 3]) if nodes < 5 else 2
    duration = [[dice.choice([0, 1, 2, 3, 5, 8, -1]) for _ in range(devices)] for _ in range(nodes)]
    for row in duration:
        row[0] = max(row[0], 0)
    edges = [(u, v) for u in range(nodes) for v in range(u + 1, nodes) if dice.random() < 0.5]
    times = [
        [0 if d == e else dice.randint(0, 6) for d in range(devices) for e in range(devices)]
        for _ in range(2)
    ]
    transfers = dice.choice(["per-edge", "per-tensor"])
    # Room for all, but maybe not together; sometimes there is no placement at all.
    memory = [dice.choice([0, 1, 2]) for _ in range(nodes)]
    least = max(2, -(-sum(memory) // devices))
    capacity = [least + dice.choice([0, 0, 1, 9]) for _ in range(devices)]
    return instance(
        duration, edges, times=times, transfers=transfers, memory=memory, capacity=capacity
    )


@pytest.mark.parametrize("seed", range(8))
def test_the_search_ends_at_the_optimum(seed: int) -> None:
    """One tick less is refuted, the optimum is found; by exhaustion over devices and orders.

    Memory is short, and what does not fit is refuted at any threshold.
    """
    dice = random.Random(seed)
    for _ in range(40):
        sample = random_sample(dice)
        best = optimum(sample)
        module, room = whole(sample)
        if best == math.inf:
            assert search(module, room, 10**6, FOREVER) == REFUTED
            continue
        assert search(module, room, int(best), FOREVER) == FOUND
        if best > 0:
            assert search(module, room, int(best) - 1, FOREVER) == REFUTED
            # Steps are what the search says.
            steps = room.count[0]
            assert search(module, room, int(best) - 1, steps) == REFUTED
            if steps > 10:
                assert search(module, room, int(best) - 1, 0) in (TOO_LONG, REFUTED)


def test_a_search_has_a_limit() -> None:
    """Many equal operators have many orders and placements; none of them is looked at for long."""
    sample = instance([[5, 5, 5]] * 24, [(0, v) for v in range(1, 24)])
    module, room = whole(sample)
    assert search(module, room, 39, 50_000) == TOO_LONG
    assert room.count[0] < 60_000


def test_orders_that_go_round_in_circles_come_to_an_end() -> None:
    """Where orders contradict each other, times rise up to the threshold, or the limit."""
    sample = instance([[1], [1], [1]], [(0, 1), (0, 2)])
    module, room = whole(sample)
    assert search(module, room, 2**53, FOREVER) == FOUND
    # Both orders of the last two, and a threshold that only both together exceed.
    assert search(module, room, 2, FOREVER) == REFUTED


def test_ends_take_no_time() -> None:
    """A module begins when its first operator ends, and ends when its last one starts."""
    sample = instance(
        [[7, 7], [5, 5], [5, 5], [9, 9]], [(0, 1), (0, 2), (1, 3), (2, 3)], times=[[0, 2, 3, 0]]
    )
    read = checker.check_instance(sample.to_json())
    network = Network(read)
    module = module_of(read, network, tensors_written(read), (0, 3), network.inside(0, 3))
    room = scratch_for(module, lambda size: [0] * size)
    module.allowed[0] = module.allowed[3] = 1
    # One there and back, 2 + 5 + 3, or both here.
    assert search(module, room, 9, FOREVER) == REFUTED
    assert search(module, room, 10, FOREVER) == FOUND
    module.allowed[3] = 2
    # A tensor to the other device arrives at 2, or at 7 for what was run here.
    assert search(module, room, 6, FOREVER) == REFUTED
    assert search(module, room, 7, FOREVER) == FOUND


def test_ports_take_one_at_a_time() -> None:
    """Three tensors to one device are received one after another, shared ones once."""
    edges = [(0, 3), (1, 3), (2, 3)]
    rows = [[1, -1], [1, -1], [1, -1], [-1, 1]]
    sample = instance(rows, edges, times=[[0, 4, 4, 0]])
    module, room = whole(sample)
    assert search(module, room, 13, FOREVER) == REFUTED
    assert search(module, room, 14, FOREVER) == FOUND
    fork = [[1, -1], [-1, 0], [-1, 0], [-1, 0]]
    for transfers, best in (("per-edge", 13), ("per-tensor", 5)):
        sample = instance(fork, [(0, 1), (0, 2), (0, 3)], times=[[0, 4, 4, 0]], transfers=transfers)
        module, room = whole(sample)
        assert search(module, room, best - 1, FOREVER) == REFUTED
        assert search(module, room, best, FOREVER) == FOUND


@pytest.mark.parametrize("sender", [0, 1, 2])
def test_consumers_that_may_share_a_transfer(sender: int) -> None:
    """One of them may be on the device of the other, so only one transfer is certain."""
    first, second = (d for d in range(3) if d != sender)
    for only in (first, second):
        rows = [[-1] * 3 for _ in range(3)]
        rows[0][sender] = rows[1][first] = rows[1][second] = rows[2][only] = 1
        times = [[4 * (d != e) for d in range(3) for e in range(3)]]
        sample = instance(rows, [(0, 1), (0, 2)], times=times, transfers="per-tensor")
        module, room = whole(sample)
        assert search(module, room, 6, FOREVER) == REFUTED
        assert search(module, room, 7, FOREVER) == FOUND


@each_seed(range(150))
def test_orders_are_taken_back(seed: int) -> None:
    """Where devices are given, orders that turn out to be wrong are tried the other way round."""
    dice = random.Random(seed)
    nodes, devices = dice.randint(6, 8), dice.choice([1, 2, 2])
    rows = [[-1] * devices for _ in range(nodes)]
    for row in rows:
        row[dice.randrange(devices)] = dice.randint(1, 6)
    edges = [(u, v) for u in range(nodes) for v in range(u + 1, nodes) if dice.random() < 0.25]
    times = [[dice.randrange(3) * int(d != e) for d in range(devices) for e in range(devices)]]
    sample = instance(rows, edges, times=times)
    best = int(optimum(sample))
    module, room = whole(sample)
    assert search(module, room, best - 1, FOREVER) == REFUTED
    assert search(module, room, best, FOREVER) == FOUND


def test_transfers_without_ticks_are_in_nobodys_way() -> None:
    """One leaves a device in the middle of a long one, and another arrives."""
    rows = [[0, -1, -1], [2, -1, -1], [-1, -1, 2], [-1, 5, -1]]
    times = [[5 * (d != e) for d in range(3) for e in range(3)], [0] * 9]
    sample = instance(rows, [(0, 2), (1, 3)], times=times)
    module, room = whole(sample)
    assert search(module, room, 6, FOREVER) == REFUTED
    assert search(module, room, 7, FOREVER) == FOUND


@pytest.mark.parametrize("transfers", ["per-tensor", "per-edge"])
def test_jumps_do_not_wait_for_each_other(transfers: str) -> None:
    """Two that begin and end on the same devices take no longer than one."""
    rows = [[0, -1], [0, -1], [-1, 0], [-1, 0], [0, 0], [0, 0]]
    sample = instance(rows, [(4, 5)], transfers=transfers)
    read = checker.check_instance(sample.to_json())
    network = Network(read)
    for first, last in ((0, 2), (1, 3)):
        jump: Any = checker.placement.paths.Jump(first, last, [[0, 9], [9, 0]])
        network.add(jump)
    body = network.inside(OUTSIDE, OUTSIDE)
    module = module_of(read, network, tensors_written(read), (OUTSIDE, OUTSIDE), body)
    room = scratch_for(module, lambda size: [0] * size)
    assert search(module, room, 8, FOREVER) == REFUTED
    assert search(module, room, 9, FOREVER) == FOUND


@pytest.mark.parametrize("transfers", ["per-tensor", "per-edge"])
def test_tensors_to_one_device_are_moved_apart(transfers: str) -> None:
    """A long one that is late and a short one that is urgent are not one that is both."""
    rows = [[3, -1], [0, -1], [0, -1], [-1, 0], [-1, 10], [-1, 0]]
    times = [[0, ticks, ticks, 0] for ticks in (4, 1, 1)]
    edges = [(0, 3), (1, 4), (2, 5)]
    sample = instance(rows, edges, times=times, transfers=transfers)
    module, room = whole(sample)
    assert search(module, room, 10, FOREVER) == REFUTED
    assert search(module, room, 11, FOREVER) == FOUND


@pytest.mark.parametrize(("busy", "idle", "other"), [(0, 0, 1), (1, 1, 0), (1, 0, 0), (0, 1, 1)])
def test_what_takes_no_time_is_in_nobodys_way(busy: int, idle: int, other: int) -> None:
    """An operator without duration runs while its device is busy, and when another one is."""
    rows = [[-1, -1] for _ in range(4)]
    rows[0][busy], rows[1][other], rows[2][idle], rows[3][other] = 5, 1, 0, 1
    sample = instance(rows, [(1, 2), (2, 3)], times=[[0, 0, 0, 0]])
    best = int(optimum(sample))
    assert best == 5
    module, room = whole(sample)
    assert search(module, room, best - 1, FOREVER) == REFUTED
    assert search(module, room, best, FOREVER) == FOUND


@pytest.mark.parametrize(
    ("sample", "expected"),
    [
        (
            instance([[1]] * (limits.MOST_MODULE_OPERATORS + 1), []),
            "too many operators or devices",
        ),
        (instance([[1] * (limits.MOST_MODULE_DEVICES + 1)], []), "too many operators or devices"),
        (
            instance([[1]] * 40, [(u, v) for u in range(40) for v in range(u + 1, 40)]),
            "too many tensors",
        ),
    ],
)  # fmt: skip
def test_modules_have_limits(sample: PlacementInstance, expected: str) -> None:
    """What is beyond them is refused before it is written down."""
    with pytest.raises(checker.TooLarge, match=expected):
        whole(sample)


def test_jumps_are_arcs_without_ports() -> None:
    """What was proven between two operators delays the second one, for devices as they are."""
    sample = instance([[1, 1], [1, 1], [1, 1]], [(0, 1), (1, 2)], times=[[0, 1, 1, 0]])
    read = checker.check_instance(sample.to_json())
    network = Network(read)
    jump: Any = checker.placement.paths.Jump(0, 2, [[9, 8], [7, 6]])
    network.add(jump)
    body = network.inside(OUTSIDE, OUTSIDE)
    module = module_of(read, network, tensors_written(read), (OUTSIDE, OUTSIDE), body)
    room = scratch_for(module, lambda size: [0] * size)
    assert search(module, room, 7, FOREVER) == REFUTED
    assert search(module, room, 8, FOREVER) == FOUND
    assert room.device == [1, 1, 1] or list(room.device) == [1, 1, 1]
