"""`memorianova`: BTSearch orders operators, then GenEFlow slices them ([MEMORIANOVA24], 3.1).

The latency of a plan does not depend on the order; what devices have to hold does. So an order of
little memory lets plans fit that would not fit otherwise. As in the paper, it is the one with the
least sum of memory over all operators on a single device, whatever the plan.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from boundmark.heuristics.slicing import geneflow
from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.catalog import methods
from boundmark.problems.certificate import Certificate, Claim
from boundmark.problems.method import Budget, Progress
from boundmark.problems.ordering import ExecutionOrder, OrderingInstance
from boundmark.problems.ordering.graph import OrderingGraph
from boundmark.problems.slicing import SlicingGraph, SlicingInstance, SlicingPlan


@dataclass(frozen=True)
class MemoriaNovaSettings:
    """Settings of `memorianova`.

    Attributes
    ----------
    ordering
        Part of the time for the order, at most.
    """

    ordering: float = 0.3


def run(
    instance: SlicingInstance,
    budget: Budget,
    seed: int,
    progress: Progress,
    population: int,
    generations: int,
    settings: MemoriaNovaSettings = MemoriaNovaSettings(),
    **params: Any,
) -> None:
    """Report the plans of `geneflow` for the operators in the order that `btsearch` found.

    Raises
    ------
    UnsupportedError
        If no generation has a plan that fits into memory.
    """
    order = least_memory_order(instance.graph, budget.part(settings.ordering))
    ordered = replace(instance, graph=instance.graph.in_order(order.tolist()))
    geneflow.run(ordered, budget, seed, _InOrder(progress, order), population, generations)


def least_memory_order(graph: SlicingGraph, budget: Budget) -> IntArray:
    """Return the best order that `btsearch` finds, or else that of the graph, shape (N,)."""
    found = _Last(frozen(np.arange(graph.nodes)))
    search = methods("ordering")["btsearch"]
    search.run(ordering_instance(graph), budget, 1, found, **search.params)
    return found.order


def ordering_instance(graph: SlicingGraph) -> OrderingInstance:
    """Return the problem of ordering the operators, for the sum of memory.

    Each operator has one tensor, its whole output.
    """
    readers: list[set[int]] = [set() for _ in range(graph.nodes)]
    for edge in graph.edges:
        readers[edge.producer].add(edge.consumer)
    return OrderingInstance(
        OrderingGraph(
            size=frozen(graph.length * graph.output),
            producer=frozen(np.arange(graph.nodes)),
            consumers=tuple(tuple(sorted(row)) for row in readers),
            kept=(),
            parameter_size=frozen(np.zeros(graph.nodes, np.int64)),
            parameter_total=0,
            overwrites=((),) * graph.nodes,
            names=graph.names,
        ),
        metric="sum",
    )


class _Last:
    """Keeps the last order that is reported, the best one."""

    def __init__(self, order: IntArray) -> None:
        self.order = order

    def solution(self, solution: Any) -> None:
        assert isinstance(solution, ExecutionOrder)
        self.order = solution.order

    def bound(self, bound: Certificate | Claim) -> None:
        """Leave bounds on the memory out."""


class _InOrder:
    """Passes plans on, with the order in which their operators run."""

    def __init__(self, progress: Progress, order: IntArray) -> None:
        self._progress, self._order = progress, order

    def solution(self, solution: Any) -> None:
        vectors = np.empty_like(solution.vectors)
        vectors[self._order] = solution.vectors
        self._progress.solution(SlicingPlan(vectors, self._order))

    def bound(self, bound: Certificate | Claim) -> None:
        self._progress.bound(bound)
