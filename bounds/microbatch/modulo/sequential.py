"""Schedules one micro-batch after another: a solution that is there at once."""

import numpy as np

from boundmark.bounds.microbatch.modulo.steady_state import SteadyState
from boundmark.problems.microbatch import MicrobatchInstance
from boundmark.problems.microbatch.earliest_starts import left_shifted
from boundmark.problems.microbatch.measures import makespan


def one_by_one(instance: MicrobatchInstance) -> SteadyState | None:
    """Return a steady state in which micro-batches do not overlap, None if memory is too tight.

    Of the blocks that are ready, those that allocate least come first.
    """
    layout = instance.layout
    blocks, dag = layout.blocks, layout.dag
    missing = np.bincount(dag.targets, minlength=len(blocks)).tolist()
    ready = {i for i, count in enumerate(missing) if count == 0}
    left = list(instance.capacity)
    order = []
    while ready:
        i = min(ready, key=lambda i: (blocks[i].memory, i))
        ready.remove(i)
        order.append(i)
        for device in blocks[i].devices:
            left[device] -= blocks[i].memory
            if left[device] < 0:
                return None
        for v in dag.consumers_of(i).tolist():
            missing[v] -= 1
            if missing[v] == 0:
                ready.add(v)
    rank = np.zeros((1, len(blocks)), dtype=np.int64)
    rank[0, order] = np.arange(len(blocks))
    starts = left_shifted(instance.layout, rank)
    return SteadyState(makespan(layout, starts), tuple(starts[0].tolist()))
