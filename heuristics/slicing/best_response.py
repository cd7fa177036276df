"""`best-response`: each operator in turn gets the vector that is best for it and its readers."""

from typing import Any

import numpy as np

from boundmark.heuristics.incumbent import NO_COST
from boundmark.heuristics.slicing.incumbent import PlanIncumbent
from boundmark.heuristics.slicing.plan_kernels import (
    SlicingArrays,
    excess_memory,
    fit_pattern,
    operator_ticks,
)
from boundmark.heuristics.slicing.simple_plans import (
    Fractions,
    divided,
    layers,
    one_device_pattern,
    patterns,
    shares_pattern,
    speeds,
)
from boundmark.problems.arrays import IntArray
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import Budget, Progress
from boundmark.problems.slicing import SlicingInstance


def best_responses(
    arrays: SlicingArrays, fractions: Fractions, vectors: IntArray, budget: Budget
) -> None:
    """Improve vectors in place until no operator has a better one, or the time is up.

    An operator tries the given fractions and those of the operators that it reads.
    """
    operators = range(len(arrays.length))
    is_better = True
    while is_better:
        is_better = False
        for operator in operators:
            if budget.is_spent():
                return
            inputs = arrays.edges[arrays.start[operator] : arrays.start[operator + 1], 0]
            alike = [vectors[producer] / arrays.length[producer] for producer in inputs]
            is_better |= _respond(arrays, [*fractions, *alike], vectors, operator)


def _respond(
    arrays: SlicingArrays, fractions: list[Fractions], vectors: IntArray, operator: int
) -> bool:
    """Give an operator its best vector; return whether it is better than the one it had."""
    start = arrays.reader_start
    involved = [operator, *arrays.readers[start[operator] : start[operator + 1]].tolist()]

    def ticks() -> int:
        return sum(operator_ticks(arrays, vectors, one) for one in involved)

    least, kept = ticks(), vectors[operator].copy()
    first = least
    for pattern in fractions:
        fit_pattern(arrays.length[operator], np.ascontiguousarray(pattern), vectors[operator])
        cost = ticks()
        if cost < least and not excess_memory(arrays, vectors):
            least, kept = cost, vectors[operator].copy()
    vectors[operator] = kept
    return least < first


def run(
    instance: SlicingInstance, budget: Budget, seed: int, progress: Progress, **params: Any
) -> None:
    """Report the best of some simple plans, then improve it by best responses."""
    best, devices = PlanIncumbent(instance, progress), instance.graph.devices
    best.evaluate(divided(instance, one_device_pattern(devices, int(speeds(instance).argmax()))))
    best.evaluate(divided(instance, shares_pattern(speeds(instance))))
    if best.cost == NO_COST:
        best.evaluate(layers(instance))
    if best.cost == NO_COST:
        raise UnsupportedError("no simple plan fits into the devices' memory.")
    vectors = best.solution.vectors.copy()
    best_responses(best.arrays, patterns(instance), vectors, budget)
    best.evaluate(vectors)
