"""`one-device`: the whole model on one device, the best that has memory for it."""

from functools import partial

import numpy as np

from boundmark.heuristics.incumbent import NO_COST, Incumbent
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import Budget, Progress
from boundmark.problems.slicing import SlicingInstance, SlicingPlan
from boundmark.problems.slicing.latency import memory_taken, plan_times


def run(instance: SlicingInstance, budget: Budget, seed: int, progress: Progress) -> None:
    """Report the plan of each device that is better than those before.

    Raises
    ------
    UnsupportedError
        If no device has memory for the whole model.
    """
    graph = instance.graph
    best: Incumbent[SlicingPlan] = Incumbent(progress)
    for device in range(graph.devices):
        is_behind = np.arange(graph.devices + 1) > device
        vectors = np.where(is_behind, graph.length[:, None], 0)
        plan = SlicingPlan(vectors)
        times = plan_times(graph, plan)
        if (np.array(memory_taken(graph, plan, times)) <= graph.capacity).all():
            best.offer(sum(one.total for one in times), partial(SlicingPlan, vectors))
    if best.cost == NO_COST:
        raise UnsupportedError("no device has memory for the whole model.")
