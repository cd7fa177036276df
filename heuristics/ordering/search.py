"""Searches for orders of little memory: `brkga-orders` and `reorder`.

`brkga-orders`: genetic search over priorities of operators ([BRKGA11]). `reorder`: simulated
annealing that exchanges neighbouring runs of an order ([KIRKPATRICK83]). Branches of a model are
runs of a few operators, so runs move as a whole. For the peak, the sum over all operators decides
between orders of the same peak: most steps change nothing about the peak.
"""

from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import types

from boundmark.heuristics.effort import Effort
from boundmark.heuristics.evolution import evolve
from boundmark.heuristics.incumbent import Incumbent
from boundmark.heuristics.ordering.constructed import constructed
from boundmark.heuristics.priority_order import Priorities, topological_order
from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.compiling import INTEGERS, compiled, internal
from boundmark.problems.method import Budget, Progress
from boundmark.problems.ordering import ExecutionOrder, OrderingInstance
from boundmark.problems.ordering.graph import INPUT


class Tensors(NamedTuple):
    """The tensors that each of the n operators reads and writes, and their bytes.

    Attributes
    ----------
    read_start, reads
        Operator v reads the tensors ``reads[read_start[v] : read_start[v + 1]]``.
    can_overwrite
        Whether it can overwrite each of them, in the same places.
    producers
        The operators that write them, -1 for inputs of the model, in the same places.
    size, readers
        Size of each tensor, and its number of readers, one more for a tensor that is kept.
    running, written, leaves
        Bytes that each operator needs beside the tensors in memory; the part of them that it saves
        by overwriting a tensor; and the bytes that it leaves in memory.
    first
        Bytes in memory before the first operator, shape (1,).
    """

    read_start: IntArray
    reads: IntArray
    can_overwrite: IntArray
    producers: IntArray
    size: IntArray
    readers: IntArray
    running: IntArray
    written: IntArray
    leaves: IntArray
    first: IntArray


def tensors_of(instance: OrderingInstance) -> Tensors:
    """Return the arrays of an instance as kernels take them."""
    graph = instance.graph
    size, kept = graph.size.tolist(), set(graph.kept)
    producer = graph.producer.tolist()
    readers = [len(row) + (t in kept) for t, row in enumerate(graph.consumers)]
    flat = [tensor for read in graph.reads for tensor in read]
    can = [t in instance.overwrites[v] for v, read in enumerate(graph.reads) for t in read]
    written = [sum(size[t] for t in row) for row in graph.writes]
    return Tensors(
        read_start=frozen(np.cumsum([0, *map(len, graph.reads)])),
        reads=frozen(np.array(flat, np.int64)),
        can_overwrite=frozen(np.array(can, np.int64)),
        producers=frozen(np.array([producer[t] for t in flat], np.int64)),
        size=graph.size,
        readers=frozen(np.array(readers, np.int64)),
        running=frozen(np.array(written) + instance.workspace),
        written=frozen(written),
        leaves=frozen([sum(size[t] for t in row if readers[t]) for row in graph.writes]),
        first=frozen([sum(size[t] for t, p in enumerate(producer) if p == INPUT and readers[t])]),
    )


FloatArray = npt.NDArray[np.float64]

_INT = types.int64
_VECTOR = types.Array(types.int64, 1, "C")
_TABLE = types.Array(types.int64, 2, "C")
_FLOATS = types.Array(types.float64, 1, "C")
_TENSORS = types.NamedUniTuple(INTEGERS, 10, Tensors)  # type: ignore[no-untyped-call]
_TWO = types.UniTuple(_INT, 2)  # type: ignore[no-untyped-call]


@compiled([_TWO(INTEGERS, _TENSORS)])
def peak_and_sum(order: IntArray, g: Tensors) -> tuple[int, int]:
    """Return the peak of the memory while operators run, and the sum over all operators."""
    left = g.readers.copy()
    live = g.first[0]
    peak = total = 0
    for v in order:
        taken = live + g.running[v]
        live += g.leaves[v]
        is_in_place = False
        for at in range(g.read_start[v], g.read_start[v + 1]):
            tensor = g.reads[at]
            left[tensor] -= 1
            if left[tensor] == 0:
                live -= g.size[tensor]
                is_in_place |= g.can_overwrite[at] != 0
        if is_in_place:
            taken -= g.written[v]
        peak = max(peak, taken)
        total += taken
    return peak, total


@internal([types.boolean(_VECTOR, _INT, _INT, _INT, _VECTOR, _TENSORS)])
def _exchange(
    order: IntArray, begin: int, middle: int, end: int, position: IntArray, g: Tensors
) -> bool:
    """Exchange two neighbouring runs of an order, unless one depends on the other.

    Return whether they were exchanged.
    """
    for at in range(middle, end):
        v = order[at]
        for read in range(g.read_start[v], g.read_start[v + 1]):
            u = g.producers[read]
            if u >= 0 and begin <= position[u] < middle:
                return False
    first = order[begin:middle].copy()
    length = end - middle
    for at in range(length):
        order[begin + at] = order[middle + at]
    order[begin + length : end] = first
    for at in range(begin, end):
        position[order[at]] = at
    return True


@compiled([_INT(_INT, _VECTOR, _VECTOR, _TABLE, _FLOATS, _TENSORS)])
def anneal(
    peak_weight: int,
    order: IntArray,
    best: IntArray,
    moves: IntArray,
    allowed: FloatArray,
    g: Tensors,
) -> int:
    """Exchange neighbouring runs of an order at random; return the least cost found.

    The cost is the sum over operators plus `peak_weight` times the peak.
    """
    position = np.empty(len(order), np.int64)
    for at in range(len(order)):
        position[order[at]] = at
    peak, total = peak_and_sum(order, g)
    cost = peak_weight * peak + total
    least = cost
    for step in range(len(moves)):
        begin, middle, end = moves[step, 0], moves[step, 1], moves[step, 2]
        if not _exchange(order, begin, middle, end, position, g):
            continue
        peak, total = peak_and_sum(order, g)
        new = peak_weight * peak + total
        if new > cost + allowed[step]:
            _exchange(order, begin, begin + end - middle, end, position, g)
            continue
        cost = new
        if cost < least:
            least = cost
            best[:] = order
    return least


class OrderIncumbent(Incumbent[ExecutionOrder]):
    """Evaluate orders, keep the best one and report every improvement.

    Attributes
    ----------
    tensors
        The instance as kernels read it.
    """

    def __init__(self, instance: OrderingInstance, progress: Progress) -> None:
        super().__init__(progress)
        self.tensors = tensors_of(instance)
        self._is_peak = instance.metric == "peak"

    def evaluate(self, order: IntArray) -> int:
        """Return the cost of a topological order, and offer the order."""
        peak, total = peak_and_sum(order, self.tensors)
        cost = int(peak if self._is_peak else total)
        self.offer(cost, partial(ExecutionOrder, order))
        return cost


def run_brkga_orders(
    instance: OrderingInstance,
    budget: Budget,
    seed: int,
    progress: Progress,
    *,
    population: int,
    generations: int,
) -> None:
    """Minimise the memory of the order that always takes the operator of highest priority."""
    best = OrderIncumbent(instance, progress)

    def cost(priorities: Priorities) -> int:
        return best.evaluate(topological_order(instance.graph.dag, priorities))

    evolve(instance.nodes, cost, population, population * generations, seed, budget)


def run_reorder(
    instance: OrderingInstance,
    budget: Budget,
    seed: int,
    progress: Progress,
    evaluations: int,
    **params: Any,
) -> None:
    """Report the simple methods' orders, then improve the best one by annealing."""
    best = OrderIncumbent(instance, progress)
    for order in constructed(instance):
        best.evaluate(order)
    nodes = instance.nodes
    if nodes == 1:
        return
    generator = np.random.default_rng(seed)
    weight = nodes if instance.metric == "peak" else 0
    effort, current_round = Effort(budget, evaluations or None), -1
    current = best.solution.order.copy()
    while not effort.is_spent():
        # Temperatures are in units of the best order's mean memory of an operator; each round
        # begins with the best order.
        new_round, heat = effort.cooled(rounds=4, hottest=2.0, coldest=0.001)
        if new_round > current_round:
            current_round, current = new_round, best.solution.order.copy()
        # Between two looks at the clock.
        steps = effort.take(1000)
        peak, total = peak_and_sum(best.solution.order, best.tensors)
        temperature = heat * (weight * peak + total) / nodes
        found = current.copy()
        allowed = temperature * generator.exponential(size=steps)
        moves = random_runs(nodes, steps, generator)
        anneal(weight, current, found, moves, allowed, best.tensors)
        best.evaluate(found)


def random_runs(nodes: int, steps: int, generator: np.random.Generator) -> IntArray:
    """Return begin, middle and end of two neighbouring runs for each step, shape (steps, 3).

    Lengths are geometrically distributed.
    """
    mean_length = 4.0
    lengths = generator.geometric(min(1.0, 1 / min(mean_length, nodes / 2)), (steps, 2))
    lengths = np.minimum(lengths, max(1, nodes // 2))
    middle = 1 + generator.integers(0, nodes - 1, steps)
    begin = np.maximum(0, middle - lengths[:, 0])
    end = np.minimum(nodes, middle + lengths[:, 1])
    return np.ascontiguousarray(np.stack([begin, middle, end], 1))
