"""`max-load`: the split that pipelines would use, evaluated for latency ([TARNAWSKI20]).

[TARNAWSKI20] places operators for throughput: the largest load of a device is minimal, where a load
is all that it computes, receives and sends for one input. Of their algorithms this is the one on a
linear order (DPL): each device gets a segment of it.
"""

from typing import Any

import numpy as np

from boundmark.heuristics.placement.kernels.segments import split_within
from boundmark.heuristics.placement.schedules.incumbent import Incumbent
from boundmark.problems.arrays import IntArray
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import Budget, Progress
from boundmark.problems.placement import PlacementGraph, PlacementInstance

# More have too many sets; then the fastest device comes first, the slowest last.
MOST_IN_ALL_ORDERS = 8


def steps_between_sets(graph: PlacementGraph) -> IntArray:
    """Return rows (set, device, larger set): in which order devices may get segments."""
    span = graph.devices
    if span <= MOST_IN_ALL_ORDERS:
        rows = [
            (after ^ (1 << device), device, after)
            for after in range(1, 1 << span)
            for device in range(span)
            if after >> device & 1
        ]
    else:
        ticks = np.where(graph.is_supported, graph.duration, graph.duration.max()).sum(axis=0)
        order = np.argsort(ticks, kind="stable").tolist()
        rows = [(at, device, at + 1) for at, device in enumerate(order)]
    return np.array(rows, dtype=np.int64)


def run(
    instance: PlacementInstance, budget: Budget, seed: int, progress: Progress, **params: Any
) -> None:
    """Report the placement.

    Raises
    ------
    UnsupportedError
        If no split has room.
    """
    graph = instance.graph
    best = Incumbent(instance, progress)
    others = max(1, graph.devices - 1)
    # Tables have zeros on their diagonals.
    receiving = np.ascontiguousarray((graph.times.sum(axis=1) // others)[graph.size])
    sending = np.ascontiguousarray((graph.times.sum(axis=2) // others)[graph.size])
    steps = steps_between_sets(graph)
    devices, found = np.empty((2, graph.nodes), dtype=np.int64)

    def is_possible(limit: int) -> bool:
        return bool(split_within(best.network, receiving, sending, steps, limit, devices))

    most = int(graph.duration.max(axis=1).sum()) + 2 * int(
        graph.times.max(axis=(1, 2), initial=0)[graph.size] @ [len(r) for r in graph.consumers]
        if len(graph.size)
        else 0
    )
    if not is_possible(most):
        raise UnsupportedError("no split into segments was found for which the devices have room.")
    found[:] = devices
    least = -1
    while most - least > 1 and not budget.is_spent():
        middle = (least + most) // 2
        if is_possible(middle):
            most = middle
            found[:] = devices
        else:
            least = middle
    best.offer(found)
