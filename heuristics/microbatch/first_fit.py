"""Repeating schedules by first fit: a block starts as soon as its device is free in every period.

Time is counted in slots of a few ticks, so that the search does not take longer with more ticks.
"""

from collections.abc import Mapping, Sequence

from boundmark.problems.microbatch import BlockLayout


def round_to_slots(layout: BlockLayout) -> list[int]:
    """Return the duration of each block in slots, rounded up.

    The busiest device needs about 32 slots for one micro-batch.
    """
    ticks = -(-max(layout.loads) // 32)
    return [-(-block.duration // ticks) for block in layout.blocks]


def add_up_slots(layout: BlockLayout, slots: Sequence[int]) -> list[int]:
    """Return the number of slots in which each device computes for one micro-batch."""
    return [sum(slots[i] for i in members) for members in layout.on_device]


def schedule_first_fit(
    layout: BlockLayout,
    sequences: Sequence[Sequence[int]],
    slots: Sequence[int],
    period: int,
    leads: Sequence[int],
    limits: Mapping[int, tuple[int, int]],
) -> list[int] | None:
    """Return a start slot for each block of micro-batch 0, or None if some block finds no room.

    Parameters
    ----------
    sequences
        Equally long sequences of blocks on one device each; in a sequence, each block waits for the
        one before. The first blocks of all sequences are scheduled first, then the second ones.
    slots
        Duration of each block.
    period
        In slots.
    leads
        For each sequence, the slot before which it does not start.
    limits
        For some blocks, an earlier block and the number of periods within which to start after it.
    """
    busy = [[False] * period for _ in range(layout.devices)]
    starts = [0] * len(slots)
    ready = list(leads)
    for step in zip(*sequences, strict=True):
        for number, block in enumerate(step):
            (device,) = layout.blocks[block].devices
            start = _free_from(busy[device], ready[number], slots[block])
            if start is None:
                return None
            if block in limits:
                opened, periods = limits[block]
                if start - starts[opened] > periods * period:
                    return None
            for slot in range(start, start + slots[block]):
                busy[device][slot % period] = True
            starts[block], ready[number] = start, start + slots[block]
    return starts


def _free_from(busy: Sequence[bool], ready: int, length: int) -> int | None:
    """Return the first slot from `ready` on where `length` slots are free, None if there is none.

    `busy` says of each slot of the period whether it is taken.
    """
    period = len(busy)
    for start in range(ready, ready + period):
        if not any(busy[slot % period] for slot in range(start, start + length)):
            return start
    return None
