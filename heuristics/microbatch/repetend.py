"""Search for repetends and their shortest schedules ([TESSEL24], Section IV-B)."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from boundmark.heuristics.microbatch.repetend_kernels import FOUND, NO_PATH, REFUTED, search
from boundmark.problems.arrays import IntArray
from boundmark.problems.dag import Dag
from boundmark.problems.microbatch import BlockLayout


@dataclass(frozen=True)
class TimedRepetend:
    """A repetend with start times.

    Attributes
    ----------
    members
        The micro-batch of each block.
    starts
        The start of each block; the first one starts at 0.
    period
        Ticks from one repetition to the next.
    """

    members: tuple[int, ...]
    starts: tuple[int, ...]
    period: int


def longest_path(dag: Dag) -> int:
    """Return the number of nodes on a longest path."""
    before, _ = _depths(dag)
    return 1 + max(before)


def held_before(layout: BlockLayout, members: Sequence[int]) -> tuple[int, ...]:
    """Return the memory in use on each device when its first block of a repetend starts.

    Each block has run with all micro-batches before its member of the repetend.
    """
    return tuple(
        sum(layout.blocks[i].memory * members[i] for i in here) for here in layout.on_device
    )


Verdict = Literal["refuted", "found", "undecided"]


class RepetendSearch:
    """Search for repetends of a layout, by number of micro-batches and period.

    Of all blocks, those on the most devices are decided first, since all others have to fit around
    them, and then the others from both ends of the micro-batch inwards: what shares a device is
    often as far from one end as from the other, as in all shapes of [TESSEL24].
    """

    def __init__(self, layout: BlockLayout, capacity: Sequence[int]) -> None:
        self._layout = layout
        blocks, count = layout.blocks, len(layout.blocks)
        before, after = _depths(layout.dag)
        self._order = sorted(
            range(count),
            key=lambda i: (-len(blocks[i].devices), min(before[i], after[i]), before[i]),
        )
        position = {block: at for at, block in enumerate(self._order)}
        pairs = {
            tuple(sorted((i, j), key=position.__getitem__))
            for here in layout.on_device
            for i, j in itertools.combinations(here, 2)
        }
        by_position = sorted(pairs, key=lambda pair: (position[pair[1]], position[pair[0]]))
        last = [position[second] for _, second in by_position]
        path = _longest_paths(layout)
        is_on = np.zeros((layout.devices, count), dtype=np.bool_)
        for device, here in enumerate(layout.on_device):
            is_on[device, list(here)] = True
        self._arrays = (
            layout.durations,
            layout.memory,
            path,
            np.array(by_position, dtype=np.int64).reshape(-1, 2),
            np.searchsorted(last, np.arange(count + 1)).astype(np.int64),
            is_on,
            np.array(capacity, dtype=np.int64),
        )
        # As soon as what it waits for allows in the first half, just before what needs it after.
        self._is_early = np.array([b <= a for b, a in zip(before, after, strict=True)])
        # The part of a micro-batch that is still to come when a block starts.
        ticks_before, ticks_after = path.max(axis=0), path.max(axis=1)
        self._to_come = ticks_after / np.maximum(1, ticks_before + ticks_after)

    def find(self, size: int, period: int, steps: int) -> tuple[Verdict, TimedRepetend | None]:
        """Search for a repetend of some micro-batches with a period, or a shorter one.

        Parameters
        ----------
        steps
            Decisions after which a search is given up. There are two, one that keeps what waits
            for each other together, and one that spreads a micro-batch over the repetitions.
        """
        count = len(self._layout.blocks)
        if max(self._layout.loads) > period:
            return "refuted", None
        members, starts = np.zeros((2, count), dtype=np.int64)
        together = np.where(self._is_early, size, -1)
        spread = np.rint(self._to_come * (size - 1)).astype(np.int64)
        for wish in (together, spread):
            verdict = search(
                np.array(self._order, dtype=np.int64), wish, *self._arrays, size, period, steps,
                members, starts,
            )  # fmt: skip
            if verdict == REFUTED:
                return "refuted", None
            if verdict == FOUND:
                numbers, times = tuple(members.tolist()), tuple(starts.tolist())
                period = period_of(self._layout, numbers, times)
                return "found", TimedRepetend(numbers, times, period)
        return "undecided", None


def _depths(dag: Dag) -> tuple[list[int], list[int]]:
    """Return the most blocks on a path that ends before each block, and that begins after it."""
    before, after = [0] * dag.nodes, [0] * dag.nodes
    order = dag.topological_order.tolist()
    for node in order:
        for producer in dag.producers_of(node).tolist():
            before[node] = max(before[node], before[producer] + 1)
    for node in reversed(order):
        for consumer in dag.consumers_of(node).tolist():
            after[node] = max(after[node], after[consumer] + 1)
    return before, after


def _longest_paths(layout: BlockLayout) -> IntArray:
    """Return the ticks from each block's start to another's along dependencies, shape (K, K)."""
    count = len(layout.blocks)
    path = np.full((count, count), NO_PATH, dtype=np.int64)
    for node in layout.dag.topological_order.tolist():
        path[node, node] = 0
        for producer in layout.dag.producers_of(node).tolist():
            reaches = path[:, producer] > NO_PATH
            ticks = path[reaches, producer] + layout.blocks[producer].duration
            path[reaches, node] = np.maximum(path[reaches, node], ticks)
    return path


def period_of(layout: BlockLayout, members: Sequence[int], starts: Sequence[int]) -> int:
    """Return t_R of Equation 4 for the start times of a repetend."""
    ends = [start + block.duration for start, block in zip(starts, layout.blocks, strict=True)]
    executing = [
        max(ends[i] for i in here) - min(starts[i] for i in here)
        for here in layout.on_device
        if here
    ]
    waiting: list[int] = [
        -((starts[j] - ends[i]) // (members[i] - members[j]))
        for i, j in layout.dag.edge_pairs().tolist()
        if members[i] > members[j]
    ]
    return max(executing + waiting)
