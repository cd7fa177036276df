import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from layouts import scheduled_layouts, shape

from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.microbatch import BlockLayout
from boundmark.problems.microbatch.runtime import (
    Program,
    Receive,
    Run,
    Send,
    Wait,
    program_of,
    simulate,
)
from boundmark.problems.microbatch.schedule import makespan

# Start times of F0, F1, B1, B0 for two micro-batches on v-2-train.
STARTS = frozen([[0, 1, 2, 5], [1, 5, 6, 9]])


def test_blocking_lists_by_hand() -> None:
    """A tensor travels when the block that produces it ends, before what starts then."""
    program = program_of(shape("v-2-train").layout, STARTS, is_blocking=True)
    assert program.devices == (
        (
            Run(0, 0), Send(0, 0, 1), Run(0, 1), Send(0, 1, 1), Receive(2, 0, 1), Run(3, 0),
            Receive(2, 1, 1), Run(3, 1),
        ),
        (
            Receive(0, 0, 0), Run(1, 0), Receive(0, 1, 0), Run(2, 0), Send(2, 0, 0), Run(1, 1),
            Run(2, 1), Send(2, 1, 0),
        ),
    )  # fmt: skip


def test_lists_without_blocking_by_hand() -> None:
    """Receives move up to the transfer before; a wait stands before the block that needs it."""
    program = program_of(shape("v-2-train").layout, STARTS)
    assert program.devices == (
        (
            Run(0, 0), Send(0, 0, 1), Run(0, 1), Send(0, 1, 1), Receive(2, 0, 1), Receive(2, 1, 1),
            Wait(2, 0), Run(3, 0), Wait(2, 1), Run(3, 1),
        ),
        (
            Receive(0, 0, 0), Receive(0, 1, 0), Wait(0, 0), Run(1, 0), Run(2, 0), Send(2, 0, 0),
            Wait(0, 1), Run(1, 1), Run(2, 1), Send(2, 1, 0),
        ),
    )  # fmt: skip


def test_shared_blocks_have_their_result_everywhere() -> None:
    """In an M-shape, the first block sends nothing, and the last backward block to all others."""
    layout = shape("m-4-train").layout
    starts = frozen([np.cumsum([0] + [block.duration for block in layout.blocks[:-1]])])
    program = program_of(layout, starts, is_blocking=True)
    sent = [item for items in program.devices for item in items if isinstance(item, Send)]
    last_backward = len(layout.blocks) - 2
    assert 0 not in {item.block for item in sent}
    assert {item.to for item in sent if item.block == last_backward} == {1, 2, 3}


@given(scheduled_layouts())
def test_every_tensor_is_there_in_time(drawn: tuple[BlockLayout, IntArray]) -> None:
    """A device has run, or received once, what its blocks need; sends and receives pair up."""
    layout, starts = drawn
    program = program_of(layout, starts)
    ends: list[tuple[int, int, int, int]] = []
    for device, items in enumerate(program.devices):
        there: set[tuple[int, int]] = set()
        for item in items:
            key = (item.block, item.micro_batch)
            if isinstance(item, Run):
                inputs = layout.dag.producers_of(item.block).tolist()
                assert {(producer, item.micro_batch) for producer in inputs} <= there
                there.add(key)
            elif isinstance(item, Wait):
                there.add(key)
            elif isinstance(item, Send):
                assert key in there
                ends.append((*key, device, item.to))
        received = [(item.block, item.micro_batch) for item in items if isinstance(item, Receive)]
        assert len(received) == len(set(received))
    assert sorted(ends) == sorted(
        (item.block, item.micro_batch, item.source, device)
        for device, items in enumerate(program.devices)
        for item in items
        if isinstance(item, Receive)
    )


Drawn = tuple[BlockLayout, IntArray]


def tick_by_tick(layout: BlockLayout, program: Program, transfer: list[int]) -> int:
    """Return when the last block ends, looking at all devices again and again in every tick."""
    position = [0] * layout.devices
    computing_until = [0] * layout.devices
    queue: list[list[Send | Receive]] = [[] for _ in range(layout.devices)]
    port_until = [0] * layout.devices
    arrives: dict[tuple[int, int, int], int] = {}
    last_end = 0

    def head(device: int) -> object:
        items = program.devices[device]
        return items[position[device]] if position[device] < len(items) else None

    def step(now: int) -> bool:
        nonlocal last_end
        for device in range(layout.devices):
            item = head(device)
            if item is None or computing_until[device] > now:
                continue
            if isinstance(item, Run):
                block = layout.blocks[item.block]
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
        for device, to in itertools.permutations(range(layout.devices), 2):
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
        if all(head(device) is None for device in range(layout.devices)):
            return last_end
    raise AssertionError("nothing has happened for a long time")


@given(scheduled_layouts(), st.booleans(), st.lists(st.integers(0, 3), min_size=6, max_size=6))
def test_same_as_tick_by_tick(drawn: Drawn, is_blocking: bool, transfer: list[int]) -> None:
    """An independent simulation, a tick at a time, ends at the same time."""
    layout, starts = drawn
    program = program_of(layout, starts, is_blocking=is_blocking)
    expected = tick_by_tick(layout, program, transfer)
    assert simulate(layout, program, transfer).makespan == expected


@given(scheduled_layouts())
def test_free_transfers_beside_blocks_cost_nothing(drawn: Drawn) -> None:
    """Without transfer times, no block starts later than scheduled."""
    layout, starts = drawn
    program = program_of(layout, starts)
    done = simulate(layout, program, [0] * len(layout.blocks))
    assert done.makespan <= makespan(layout, starts)
    for items, times in zip(program.devices, done.starts, strict=True):
        runs = [item for item in items if isinstance(item, Run)]
        for item, time in zip(runs, times, strict=True):
            assert time <= starts[item.micro_batch, item.block]


def test_ticks_by_hand() -> None:
    """F0, its tensor, F1, B1, the gradient, B0; the same for another micro-batch."""
    layout = shape("v-2-train").layout
    done = simulate(layout, program_of(layout, STARTS, is_blocking=True), [2] * 4)
    assert done.starts == ((0, 3, 11, 17), (3, 6, 11, 12))
    assert done.makespan == 20
    assert done.busy == (8, 8)
    assert done.transferring == (8, 8)
    assert done.waiting == (4, 4)


def test_deadlock_is_named() -> None:
    """Two devices that both send first never come to receive."""
    layout = shape("v-2-train").layout
    lists = ((Send(0, 0, 1), Receive(2, 0, 1)), (Send(2, 0, 0), Receive(0, 0, 0)))
    with pytest.raises(InvalidInputError, match="device 1 would send 2 of micro-batch 0"):
        simulate(layout, Program(lists, is_blocking=True), [1] * 4)
    crossed = ((Receive(2, 0, 1), Send(0, 0, 1)), (Receive(0, 0, 0), Send(2, 0, 0)))
    with pytest.raises(InvalidInputError, match="device 0 would receive 2 of micro-batch 0"):
        simulate(layout, Program(crossed, is_blocking=False), [1] * 4)


def test_lists_as_json() -> None:
    """Each instruction is an object that begins with what it does."""
    program = program_of(shape("v-2-train").layout, STARTS[:1])
    assert program.to_json()["devices"][0] == [
        {"run": 0, "micro_batch": 0},
        {"send": 0, "micro_batch": 0, "to": 1},
        {"receive": 2, "micro_batch": 0, "from": 1},
        {"wait": 2, "micro_batch": 0},
        {"run": 3, "micro_batch": 0},
    ]
