"""Checks `microbatch`: schedules of the blocks of many micro-batches.

The instance: blocks of one micro-batch, each with a `duration`, a change of `memory` that counts
from its start on, and the devices that it occupies together (`device_sets`); `edges` from a block
to those that need its result; the `capacity` of each device. A device runs one block at a time. All
micro-batches have the same blocks, and none depends on another.

A solution gives the `starts` of N micro-batches and may have a `repetend`: a period P and, for each
block, the micro-batch with which it is in the first repetition (`members`). For r micro-batches
more, those of a block up to its member start as given, the r next ones P later each, and the rest
r P later than given for r micro-batches before. If `micro_batches` of the instance is above 0, the
objective is when the last block of that many micro-batches ends. If it is 0, the schedule has to be
right for any number of micro-batches from N on, and the objective is P.

OPT is the least objective of any schedule. Kinds of certificates for OPT >= bound:

device-load/1
    A device runs the given blocks of each micro-batch one after another. If the period counts, it
    does so once a period, so P is at least what they take. If the makespan of N counts, the first
    of them cannot start before the longest path to it, for some of them; after the last one, the
    longest path from it has to follow; and in between they take N times as long.
memory-latency/1
    The pairs (allocation, release, amount) are all that a device allocates and releases for a
    micro-batch; each release waits for its allocation, so the amount is held for the longest path
    between their starts at least. While a release runs, the device does not hold more than its
    capacity less what is released, because nothing else starts. So the amounts may be taken as held
    until the release ends. Their sum over time, at least held = amount (path + duration) over all
    pairs, is at most P times the capacity (Little's law): P >= held / capacity. For the makespan of
    N, it is at most the capacity times what remains between the longest path to the first block
    that changes the memory and the longest path after the last one. The capacity is rounded down
    to a multiple of the greatest common divisor of all changes.
modulo-tree/1
    A schedule that repeats gives each block a phase, its start modulo P. For each period from the
    largest load up to the bound, blocks get phases one after another in the given order, the first
    one 0, until two of them overlap on a device, or a device would have to hold more than its
    capacity with any phases of the others (see `phases.PhaseTree`); allocations are paired with
    releases as above. If this ends without phases for all blocks, the period is impossible.
"""

from collections.abc import Callable
from typing import Any

from .instance import Instance, read_instance
from .one_device import device_load, memory_latency
from .phases import modulo_tree
from .schedule import objective

SOLUTION_FIELDS = frozenset({"starts", "repetend"})

KINDS: dict[str, Callable[[Instance, Any], int]] = {
    "device-load/1": device_load,
    "memory-latency/1": memory_latency,
    "modulo-tree/1": modulo_tree,
}

__all__ = ["KINDS", "SOLUTION_FIELDS", "objective", "read_instance"]
