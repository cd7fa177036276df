import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from placements import scheduled_placements, shape

from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.microbatch import Placement
from boundmark.problems.microbatch.measures import makespan
from boundmark.problems.microbatch.runtime import (
    Program,
    Receive,
    Run,
    Send,
    Wait,
    program_of,
    simulate,
)

STARTS = frozen([[0, 1, 2, 5], [1, 5, 6, 9]])
Drawn = tuple[Placement, IntArray]


def tick_by_tick(placement: Placement, program: Program, transfer: list[int]) -> int:
    """Return when the last block ends, looking at all devices again and again in every tick."""
    position = [0] * placement.devices
    computing_until = [0] * placement.devices
    queue: list[list[Send | Receive]] = [[] for _ in range(placement.devices)]
    port_until = [0] * placement.devices
    arrives: dict[tuple[int, int, int], int] = {}
    last_end = 0

    def head(device: int) -> object:
        items = program.devices[device]
        return items[position[device]] if position[device] < len(items) else None

    def step(now: int) -> bool:
        nonlocal last_end
        for device in range(placement.devices):
            item = head(device)
            if item is None or computing_until[device] > now:
                continue
            if isinstance(item, Run):
                block = placement.blocks[item.block]
                if any(head(d) != item or computing_until[d] > now for d in block.devices):
                    continue
                for d in block.devices:
                    computing_until[d] = now + block.duration
                    position[d] += 1
                last_end = max(last_end, now + block.duration)
                return True
            if isinstance(item, Wait):
                if arrives.get((item.block, item.micro_batch, device), now + 1) > now:
                    continue
            elif isinstance(item, Send | Receive):
                if program.is_blocking:
                    if isinstance(item, Receive):
                        continue
                    to = item.to
                    if computing_until[to] > now or head(to) != Receive(
                        item.block, item.micro_batch, device
                    ):
                        continue
                    for d in (device, to):
                        computing_until[d] = now + transfer[item.block]
                        position[d] += 1
                    return True
                queue[device].append(item)
            position[device] += 1
            return True
        for device, to in itertools.permutations(range(placement.devices), 2):
            if queue[device] and queue[to] and max(port_until[device], port_until[to]) <= now:
                item, other = queue[device][0], queue[to][0]
                if (
                    isinstance(item, Send)
                    and other == Receive(item.block, item.micro_batch, device)
                    and item.to == to
                ):
                    end = now + transfer[item.block]
                    port_until[device] = port_until[to] = end
                    arrives[item.block, item.micro_batch, to] = end
                    queue[device].pop(0)
                    queue[to].pop(0)
                    return True
        return False

    for now in range(10_000):
        while step(now):
            pass
        if all(head(device) is None for device in range(placement.devices)):
            return last_end
    raise AssertionError("nothing has happened for a long time")


@given(scheduled_placements(), st.booleans(), st.lists(st.integers(0, 3), min_size=6, max_size=6))
def test_same_as_tick_by_tick(drawn: Drawn, is_blocking: bool, transfer: list[int]) -> None:
    """An independent simulation, a tick at a time, ends at the same time."""
    placement, starts = drawn
    program = program_of(placement, starts, is_blocking=is_blocking)
    expected = tick_by_tick(placement, program, transfer)
    assert simulate(placement, program, transfer).makespan == expected


@given(scheduled_placements())
def test_free_transfers_beside_blocks_cost_nothing(drawn: Drawn) -> None:
    """Without transfer times, no block starts later than scheduled."""
    placement, starts = drawn
    program = program_of(placement, starts)
    done = simulate(placement, program, [0] * len(placement.blocks))
    assert done.makespan <= makespan(placement, starts)
    for items, times in zip(program.devices, done.starts, strict=True):
        runs = [item for item in items if isinstance(item, Run)]
        for item, time in zip(runs, times, strict=True):
            assert time <= starts[item.micro_batch, item.block]


@given(scheduled_placements(), st.lists(st.integers(0, 3), min_size=6, max_size=6))
def test_blocking_is_never_faster(drawn: Drawn, transfer: list[int]) -> None:
    """Transfers beside blocks can only help."""
    placement, starts = drawn
    blocking, beside = (
        simulate(placement, program_of(placement, starts, is_blocking=kind), transfer)
        for kind in (True, False)
    )
    assert beside.makespan <= blocking.makespan
    assert beside.busy == blocking.busy


def test_ticks_by_hand() -> None:
    """F0, its tensor, F1, B1, the gradient, B0; the same for another micro-batch."""
    placement = shape("v-2-train").placement
    done = simulate(placement, program_of(placement, STARTS, is_blocking=True), [2] * 4)
    assert done.starts == ((0, 3, 11, 17), (3, 6, 11, 12))
    assert done.makespan == 20
    assert done.busy == (8, 8)
    assert done.transferring == (8, 8)
    assert done.waiting == (4, 4)


def test_deadlock_is_named() -> None:
    """Two devices that both send first never come to receive."""
    placement = shape("v-2-train").placement
    lists = ((Send(0, 0, 1), Receive(2, 0, 1)), (Send(2, 0, 0), Receive(0, 0, 0)))
    with pytest.raises(InvalidInputError, match="device 1 would send 2 of micro-batch 0"):
        simulate(placement, Program(lists, is_blocking=True), [1] * 4)
    crossed = ((Receive(2, 0, 1), Send(0, 0, 1)), (Receive(0, 0, 0), Send(2, 0, 0)))
    with pytest.raises(InvalidInputError, match="device 0 would receive 2 of micro-batch 0"):
        simulate(placement, Program(crossed, is_blocking=False), [1] * 4)


def test_lists_as_json() -> None:
    """Each instruction is an object that begins with what it does."""
    program = program_of(shape("v-2-train").placement, STARTS[:1])
    assert program.to_json()["devices"][0] == [
        {"run": 0, "micro_batch": 0},
        {"send": 0, "micro_batch": 0, "to": 1},
        {"receive": 2, "micro_batch": 0, "from": 1},
        {"wait": 2, "micro_batch": 0},
        {"run": 3, "micro_batch": 0},
    ]
