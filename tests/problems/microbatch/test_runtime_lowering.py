import numpy as np
from hypothesis import given
from layouts import scheduled_layouts, shape

from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.microbatch import BlockLayout
from boundmark.problems.microbatch.runtime import Receive, Run, Send, Wait, program_of

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
def test_each_device_follows_the_schedule(drawn: tuple[BlockLayout, IntArray]) -> None:
    """Blocks come in the order of their start times, every one on each of its devices."""
    layout, starts = drawn
    for is_blocking in (True, False):
        program = program_of(layout, starts, is_blocking=is_blocking)
        for device, items in enumerate(program.devices):
            runs = [(item.block, item.micro_batch) for item in items if isinstance(item, Run)]
            times = [starts[number, block] for block, number in runs]
            assert times == sorted(times)
            assert len(runs) == len(starts) * len(layout.on_device[device])


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
