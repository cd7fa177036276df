"""Lowering start times to instruction lists.

A block on several devices leaves its result on each of them; what it takes to get it there is part
of its duration. So a tensor travels to the devices of its consumers that have not run the producer,
once to each, from the producer's devices in turn.
"""

from boundmark.problems.arrays import IntArray
from boundmark.problems.microbatch.layout import BlockLayout
from boundmark.problems.microbatch.runtime.instructions import (
    Instruction,
    Program,
    Receive,
    Run,
    Send,
    Wait,
)


def program_of(layout: BlockLayout, starts: IntArray, *, is_blocking: bool = False) -> Program:
    """Return the instruction lists that follow a schedule's start times, shape (N, K).

    All blocks and transfers have one order, and each device has its part of it: a transfer comes
    when the block that produces the tensor ends, before what starts at that time. Both ends of a
    transfer are in the same order with all others, so nobody waits for ever ([TESSEL24],
    Section IV-D, "Topological sort").
    """
    routes = _routes(layout)
    # At equal times, transfers come first; what starts together is in order of numbers.
    events: list[tuple[int, bool, int, int, int, int]] = []
    for number, row in enumerate(starts.tolist()):
        for block, start in enumerate(row):
            events.append((start, True, number, block, -1, -1))
            end = start + layout.blocks[block].duration
            events += [(end, False, number, block, source, to) for source, to in routes[block]]
    lists: list[list[Instruction]] = [[] for _ in range(layout.devices)]
    for _, is_run, number, block, source, to in sorted(events):
        if is_run:
            for device in layout.blocks[block].devices:
                lists[device].append(Run(block, number))
        else:
            lists[source].append(Send(block, number, to))
            lists[to].append(Receive(block, number, source))
    if not is_blocking:
        lists = [_with_early_receives(items) for items in lists]
        lists = [_with_waits(layout, items) for items in lists]
    return Program(tuple(map(tuple, lists)), is_blocking)


def _routes(layout: BlockLayout) -> list[list[tuple[int, int]]]:
    """Return for each block the pairs (from, to) of devices between which its result travels."""
    routes = []
    for i, block in enumerate(layout.blocks):
        there = {
            device
            for consumer in layout.dag.consumers_of(i).tolist()
            for device in layout.blocks[consumer].devices
        }
        missing = sorted(there - set(block.devices))
        routes.append(
            [(block.devices[turn % len(block.devices)], to) for turn, to in enumerate(missing)]
        )
    return routes


def _with_early_receives(items: list[Instruction]) -> list[Instruction]:
    """Put each `Receive` right after the transfer before it: transfers keep their order."""
    early: list[Instruction] = []
    after_last_transfer = 0
    for item in items:
        if isinstance(item, Receive):
            early.insert(after_last_transfer, item)
            after_last_transfer += 1
        else:
            early.append(item)
            if isinstance(item, Send):
                after_last_transfer = len(early)
    return early


def _with_waits(layout: BlockLayout, items: list[Instruction]) -> list[Instruction]:
    """Put a `Wait` before the first block that needs a received tensor."""
    awaited: list[Instruction] = []
    pending: set[tuple[int, int]] = set()
    for item in items:
        if isinstance(item, Receive):
            pending.add((item.block, item.micro_batch))
        elif isinstance(item, Run):
            for producer in layout.dag.producers_of(item.block).tolist():
                if (producer, item.micro_batch) in pending:
                    pending.remove((producer, item.micro_batch))
                    awaited.append(Wait(producer, item.micro_batch))
        awaited.append(item)
    return awaited
