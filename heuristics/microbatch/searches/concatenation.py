"""Joining warm-up, repetend and cool-down to a schedule (Concat of [TESSEL24], Algorithm 1)."""

import numpy as np

from boundmark.heuristics.microbatch.searches.phase import Starts
from boundmark.heuristics.microbatch.searches.repetend import TimedRepetend
from boundmark.problems.arrays import frozen
from boundmark.problems.microbatch import BlockLayout, Repetend, Schedule


def concatenate(
    layout: BlockLayout, repetend: TimedRepetend, warm_up: Starts, cool_down: Starts
) -> Schedule:
    """Return a schedule for as many micro-batches as the repetend has, or any number more.

    Each part comes as early as the one before allows, as repetitions do (Figure 6b): a device runs
    its blocks of one part after the other, and no block starts before what it waits for is done.
    """
    members, period = repetend.members, repetend.period
    begin = _begin_of_repetend(layout, repetend, warm_up)
    shift = _begin_of_cool_down(layout, repetend, warm_up, cool_down, begin)
    starts = np.empty((max(members) + 1, len(members)), dtype=np.int64)
    for (number, i), start in warm_up.items():
        starts[number, i] = start
    for i, member in enumerate(members):
        starts[member, i] = begin + repetend.starts[i]
    for (number, i), start in cool_down.items():
        starts[number, i] = shift + start
    return Schedule(frozen(starts), Repetend(period, frozen(members)))


def _begin_of_repetend(layout: BlockLayout, repetend: TimedRepetend, warm_up: Starts) -> int:
    blocks, members = layout.blocks, repetend.members
    begins = [0]
    for here in layout.on_device:
        ends = [start + blocks[i].duration for (_, i), start in warm_up.items() if i in here]
        if ends:
            begins.append(max(ends) - min(repetend.starts[i] for i in here))
    for i, j in layout.dag.edge_pairs().tolist():
        # Repetition number - members[j] has block j of the micro-batch.
        for number in range(members[j], members[i]):
            end = warm_up[number, i] + blocks[i].duration
            begins.append(end - repetend.starts[j] - (number - members[j]) * repetend.period)
    return max(begins)


def _begin_of_cool_down(
    layout: BlockLayout, repetend: TimedRepetend, warm_up: Starts, cool_down: Starts, begin: int
) -> int:
    blocks, members = layout.blocks, repetend.members
    ends_of_repetend = [
        begin + start + block.duration for start, block in zip(repetend.starts, blocks, strict=True)
    ]
    begins = [0]
    for here in layout.on_device:
        starts = [start for (_, i), start in cool_down.items() if i in here]
        if starts:
            begins.append(max(ends_of_repetend[i] for i in here) - min(starts))
    for i, j in layout.dag.edge_pairs().tolist():
        for number in range(members[j] + 1, members[i] + 1):
            start = cool_down[number, j]
            back = members[i] - number
            begins.append(ends_of_repetend[i] - back * repetend.period - start)
            # With up to that many repetitions more, the warm-up still has what is waited for.
            for more in range(back):
                end = warm_up[number + more, i] + blocks[i].duration
                begins.append(end - more * repetend.period - start)
    return max(begins)
