"""`assignment-load`: the fractional assignment of all operators to devices, with memory."""

from typing import Any

import numpy as np

from boundmark.bounds.placement.loads.weights import Assignment, assignment_weights
from boundmark.problems.certificate import Certificate
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import Budget, Method, Progress
from boundmark.problems.placement import PlacementInstance

KIND = "assignment-load/1"


def proven(instance: PlacementInstance, found: Assignment) -> int:
    """Return the bound that weights prove, exactly."""
    graph = instance.graph
    can_run = graph.is_supported & (graph.memory[:, None] <= graph.capacity)
    demand = -sum(
        weight * capacity
        for weight, capacity in zip(found.memory_weights, graph.capacity.tolist(), strict=True)
    )
    for ticks, memory, cans in zip(
        graph.duration.tolist(), graph.memory.tolist(), can_run.tolist(), strict=True
    ):
        demand += min(
            found.weights[d] * ticks[d] + found.memory_weights[d] * memory
            for d, can in enumerate(cans)
            if can
        )
    return max(0, int(-(-demand // sum(found.weights))))


def run(
    instance: PlacementInstance, budget: Budget, seed: int, progress: Progress, **params: Any
) -> None:
    """Report the bound."""
    graph = instance.graph
    can_run = graph.is_supported & (graph.memory[:, None] <= graph.capacity)
    nothing = np.zeros(graph.devices, dtype=np.int64)
    found = assignment_weights(graph.duration, can_run, nothing, graph.memory, graph.capacity)
    if found is None:
        raise UnsupportedError(
            "not even fractions of operators fit, or the linear program was not solved."
        )
    payload = {"weights": found.weights, "memory_weights": found.memory_weights}
    progress.bound(Certificate.of(instance, KIND, proven(instance, found), payload, METHOD.name))


METHOD = Method(
    name="assignment-load",
    problem="placement",
    kind="bound",
    summary="The mean load if operators could be split among devices, within their memory.",
    run=run,
    warm=("scipy.optimize",),
)
