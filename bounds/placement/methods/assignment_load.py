"""`assignment-load`: the fractional assignment of all operators to devices, with memory."""

from typing import Any

import numpy as np

from boundmark.bounds.placement.loads.weights import AssignmentProgram, Weights
from boundmark.problems.certificate import Certificate
from boundmark.problems.method import Budget, Progress
from boundmark.problems.placement import PlacementInstance

KIND = "assignment-load/1"


def proven(instance: PlacementInstance, found: Weights) -> int:
    """Return the bound that weights prove, exactly."""
    graph = instance.graph
    can_run = graph.is_supported & (graph.memory[:, None] <= graph.capacity)
    demand = -sum(
        weight * capacity
        for weight, capacity in zip(found.memory, graph.capacity.tolist(), strict=True)
    )
    for ticks, memory, cans in zip(
        graph.duration.tolist(), graph.memory.tolist(), can_run.tolist(), strict=True
    ):
        demand += min(
            found.work[d] * ticks[d] + found.memory[d] * memory for d, can in enumerate(cans) if can
        )
    return max(0, int(-(-demand // sum(found.work))))


def run(
    instance: PlacementInstance, budget: Budget, seed: int, progress: Progress, **params: Any
) -> None:
    """Report the bound."""
    graph = instance.graph
    can_run = graph.is_supported & (graph.memory[:, None] <= graph.capacity)
    nothing = np.zeros(graph.devices, dtype=np.int64)
    equal = Weights([1] * graph.devices, [0] * graph.devices)
    best = -1
    program = AssignmentProgram(graph.duration, can_run, graph.memory, graph.capacity)
    for found in (equal, program.weights(can_run, nothing, budget.remaining())):
        if found is not None and proven(instance, found) > best:
            best = proven(instance, found)
            payload = {"weights": found.work, "memory_weights": found.memory}
            progress.bound(Certificate.of(instance, KIND, best, payload, "assignment-load"))
