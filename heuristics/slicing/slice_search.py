"""Local search over partition vectors: `best-response` and `slice-search`.

`best-response`: each operator in turn gets the vector that is best for it and its readers.
`slice-search`: simulated annealing over partition vectors ([KIRKPATRICK83]). A step gives a run of
operators one pattern (one device, or some devices by their speeds), divides an operator like one
that it reads, or moves a boundary in a run of operators. Runs matter: a single operator on other
devices than its neighbours mostly pays for communication twice.
"""

from itertools import cycle
from typing import Any

import numpy as np

from boundmark.heuristics.incumbent import NO_COST
from boundmark.heuristics.slicing.plan_kernels import (
    PlanIncumbent,
    SlicingArrays,
    anneal,
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
from boundmark.problems.slicing.graph import tensor_bytes


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


def run_best_response(
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


def run_slice_search(
    instance: SlicingInstance,
    budget: Budget,
    seed: int,
    progress: Progress,
    evaluations: int,
    **params: Any,
) -> None:
    """Report simple plans, then improve the best by best responses and rounds of annealing."""
    best = PlanIncumbent(instance, progress)
    devices, fractions = instance.graph.devices, patterns(instance)
    starts = [divided(instance, one_device_pattern(devices, d)) for d in range(devices)]
    starts += [divided(instance, shares_pattern(speeds(instance))), layers(instance)]
    fits = [best.evaluate(start) for start in starts]
    generator = np.random.default_rng(seed)
    if not any(fits):
        starts.append(_first_repaired(best, fractions, starts, budget))
    if devices == 1 or budget.is_spent():
        _require(best)
        return
    if best.cost < NO_COST:
        vectors = best.solution.vectors.copy()
        best_responses(best.arrays, fractions, vectors, budget)
        best.evaluate(vectors)
    vectors = starts[-1].copy()
    # Temperatures are in units of the best latency. Hot rounds get from one device to many and
    # back, cold ones move single boundaries.
    hottest, coldest = cycle((0.01, 0.1, 0.001)), 0.00001
    steps, growth, most_steps, done = 20_000, 2, 2_000_000, 0
    while not budget.is_spent() and best.cost and (not evaluations or done < evaluations):
        steps = min(steps, evaluations - done) if evaluations else steps
        began = budget.remaining()
        # As long as no plan fits into memory, go on from the last one.
        if best.cost < NO_COST:
            vectors = best.solution.vectors.copy()
        elif done:
            vectors = _random_plan(instance, generator)
            repair(best.arrays, fractions, vectors, budget)
            best.evaluate(vectors)
        scale = min(best.cost, int(instance.graph.work.sum()) + 1)
        # Exceeding the memory by a byte must not pay.
        penalty = _penalty(instance, scale) if all(fits) else scale // 1000 + 1
        anneal(
            best.arrays, fractions, vectors, steps, max(1.0, next(hottest) * scale),
            coldest * scale, penalty,
            int(generator.integers(2**31)),
        )  # fmt: skip
        best.evaluate(vectors)
        done += steps
        affordable = steps * budget.remaining() / max(began - budget.remaining(), 1e-9)
        steps = min(most_steps, growth * steps)
        if not evaluations:
            # Half of what there seems to be time for: the machine may become slower.
            steps = max(1, min(steps, int(0.5 * affordable)))
    _require(best)


def repair(arrays: SlicingArrays, fractions: Fractions, vectors: IntArray, budget: Budget) -> None:
    """Change vectors in place until a plan fits into memory, or no operator's change helps.

    Each operator in turn tries the given fractions and those of the operators that it reads and
    that read it, and takes the one after which devices exceed their memory least; of equals, that
    with which it and its readers take the fewest ticks.
    """
    excess = excess_memory(arrays, vectors)
    is_better = True
    while excess and is_better:
        is_better = False
        for operator in range(len(arrays.length)):
            if not excess or budget.is_spent():
                return
            after = _least_excess(arrays, fractions, vectors, operator)
            is_better |= after < excess
            excess = after


def _least_excess(
    arrays: SlicingArrays, fractions: Fractions, vectors: IntArray, operator: int
) -> int:
    """Give an operator the vector with the least excess, and return that."""
    inputs = arrays.edges[arrays.start[operator] : arrays.start[operator + 1], 0]
    first, end = arrays.reader_start[operator : operator + 2]
    readers = arrays.readers[first:end].tolist()
    near = [vectors[other] / arrays.length[other] for other in (*inputs.tolist(), *readers)]

    def cost() -> tuple[int, int]:
        ticks = sum(operator_ticks(arrays, vectors, one) for one in (operator, *readers))
        return excess_memory(arrays, vectors), ticks

    least, kept = cost(), vectors[operator].copy()
    for pattern in (*fractions, *near):
        fit_pattern(arrays.length[operator], np.ascontiguousarray(pattern), vectors[operator])
        found = cost()
        if found < least:
            least, kept = found, vectors[operator].copy()
    vectors[operator] = kept
    return least[0]


def _first_repaired(
    best: PlanIncumbent, fractions: Fractions, starts: list[IntArray], budget: Budget
) -> IntArray:
    """Repair plans, those first that exceed memory least, until one fits; return the last."""
    order = sorted(starts, key=lambda plan: excess_memory(best.arrays, plan))
    for start in order:
        vectors = start.copy()
        repair(best.arrays, fractions, vectors, budget)
        if best.evaluate(vectors) or budget.is_spent():
            break
    return vectors


def _random_plan(instance: SlicingInstance, generator: np.random.Generator) -> IntArray:
    """Return a plan with random vectors."""
    graph = instance.graph
    drawn = generator.integers(graph.length[:, None] + 1, size=(graph.nodes, graph.devices - 1))
    ends = [np.zeros((graph.nodes, 1), np.int64), graph.length[:, None]]
    return np.ascontiguousarray(np.hstack([ends[0], np.sort(drawn, axis=1), ends[1]]))


def _penalty(instance: SlicingInstance, scale: int) -> int:
    """Return 0 if each device has room for all tensors and the largest parameters."""
    graph = instance.graph
    tensors = int((graph.length * graph.output).sum())
    received = sum(tensor_bytes(graph, edge) for edge in graph.edges)
    most = tensors + received + int(graph.weights.max())
    return 0 if most <= int(graph.capacity.min()) else scale // 1000 + 1


def _require(best: PlanIncumbent) -> None:
    if best.cost == NO_COST:
        raise UnsupportedError(
            "no plan was found that fits into the devices' memory; that there is none is not shown."
        )
