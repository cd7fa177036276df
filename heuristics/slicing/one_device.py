"""`one-device`: the whole model on one device, the best that has memory for it."""

import numpy as np

from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import Budget, Progress
from boundmark.problems.slicing import SlicingInstance, SlicingPlan
from boundmark.problems.slicing.latency import memory_taken, plan_times


def run(instance: SlicingInstance, budget: Budget, seed: int, progress: Progress) -> None:
    """Report the plan.

    Raises
    ------
    UnsupportedError
        If no device has memory for the whole model.
    """
    graph = instance.graph
    found: list[tuple[int, int, SlicingPlan]] = []
    for device in range(graph.devices):
        is_behind = np.arange(graph.devices + 1) > device
        plan = SlicingPlan(np.where(is_behind, graph.length[:, None], 0))
        times = plan_times(graph, plan)
        if (np.array(memory_taken(graph, plan, times)) <= graph.capacity).all():
            found.append((sum(one.total for one in times), device, plan))
    if not found:
        raise UnsupportedError("no device has memory for the whole model.")
    progress.solution(min(found)[2])
