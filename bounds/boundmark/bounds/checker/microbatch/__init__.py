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
"""

from collections.abc import Callable
from typing import Any

from .instance import Instance, read_instance
from .schedule import objective

SOLUTION_FIELDS = frozenset({"starts", "repetend"})

KINDS: dict[str, Callable[[Instance, Any], int]] = {}

__all__ = ["KINDS", "SOLUTION_FIELDS", "objective", "read_instance"]
