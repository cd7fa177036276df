"""`geneflow` and `memorianova`: a genetic algorithm over partition vectors ([MEMORIANOVA24]).

GenEFlow (Section 3.3): the paper uses Geatpy; here it is pymoo's ([PYMOO20]), whose survival of
parents and offspring together is the elite preservation. A chromosome holds the inner numbers of
all vectors (Equation 11); the ends are fixed, which meets Constraints 8 and 9, and each vector is
sorted after crossover and mutation, which meets Constraint 10. Crossover exchanges runs of
operators (two points). Bytes beyond the devices' memory are the violation (Constraint 18).

`memorianova`: BTSearch orders operators, then GenEFlow slices them (Section 3.1). The latency of a
plan does not depend on the order; what devices have to hold does. So an order of little memory lets
plans fit that would not fit otherwise. As in the paper, it is the one with the least sum of memory
over all operators on a single device, whatever the plan.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from boundmark.heuristics.incumbent import NO_COST
from boundmark.heuristics.slicing.plan_kernels import PlanIncumbent, evaluate_all
from boundmark.heuristics.slicing.simple_plans import divided, one_device_pattern, shares_pattern
from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.catalog import methods
from boundmark.problems.certificate import Certificate, Claim
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import Budget, Progress, require_module
from boundmark.problems.ordering import ExecutionOrder, OrderingInstance
from boundmark.problems.ordering.graph import OrderingGraph
from boundmark.problems.slicing import SlicingGraph, SlicingInstance, SlicingPlan


def _with_ends(instance: SlicingInstance, genes: IntArray) -> IntArray:
    """Return the plans of chromosomes, shape (p, N, n + 1)."""
    graph = instance.graph
    plans = np.zeros((len(genes), graph.nodes, graph.devices + 1), dtype=np.int64)
    plans[:, :, 1:-1] = genes.reshape(len(genes), graph.nodes, graph.devices - 1)
    plans[:, :, -1] = graph.length
    return plans


def _first_genes(instance: SlicingInstance, population: int, seed: int) -> IntArray:
    """Return the first population: one device each, equal parts, and random vectors."""
    devices, length = instance.graph.devices, instance.graph.length
    simple = [one_device_pattern(devices, device) for device in range(devices)]
    simple.append(shares_pattern(np.ones(devices)))
    rows = [divided(instance, pattern)[:, 1:-1].ravel() for pattern in simple[:population]]
    generator = np.random.default_rng(seed)
    while len(rows) < population:
        drawn = generator.integers(length[:, None] + 1, size=(len(length), devices - 1))
        rows.append(np.sort(drawn, axis=1).ravel())
    return np.array(rows, dtype=np.int64)


def _evolution(instance: SlicingInstance, best: PlanIncumbent, population: int, seed: int) -> Any:
    """Return pymoo's algorithm, set up, and its problem."""
    require_module("pymoo")
    from pymoo.algorithms.soo.nonconvex.ga import GA
    from pymoo.core.problem import Problem
    from pymoo.core.repair import Repair
    from pymoo.core.termination import NoTermination
    from pymoo.operators.crossover.pntx import TwoPointCrossover
    from pymoo.operators.mutation.pm import PM

    graph = instance.graph
    inner = graph.devices - 1

    class Latency(Problem):  # type: ignore[misc]
        def _evaluate(self, x: Any, out: dict[str, Any], *args: Any, **kwargs: Any) -> None:
            plans = _with_ends(instance, np.asarray(x, dtype=np.int64))
            latency, excess = np.empty((2, len(plans)), dtype=np.int64)
            evaluate_all(best.arrays, plans, latency, excess)
            out["F"], out["G"] = latency.astype(float)[:, None], excess.astype(float)[:, None]

    class Sorted(Repair):  # type: ignore[misc]
        def _do(self, problem: Any, x: Any, **kwargs: Any) -> Any:
            genes = np.rint(np.asarray(x, dtype=float)).astype(np.int64)
            return np.sort(genes.reshape(len(genes), graph.nodes, inner), axis=2).reshape(
                len(genes), -1
            )

    problem = Latency(
        n_var=graph.nodes * inner, n_obj=1, n_ieq_constr=1, xl=0,
        xu=np.repeat(graph.length, inner), vtype=int,
    )  # fmt: skip
    algorithm = GA(
        pop_size=population, sampling=_first_genes(instance, population, seed),
        crossover=TwoPointCrossover(), mutation=PM(vtype=int), repair=Sorted(),
        eliminate_duplicates=False,
    )  # fmt: skip
    algorithm.setup(problem, seed=seed, verbose=False, termination=NoTermination())
    return algorithm, problem


def run_geneflow(
    instance: SlicingInstance,
    budget: Budget,
    seed: int,
    progress: Progress,
    population: int,
    generations: int,
    **params: Any,
) -> None:
    """Report the best plan of each generation that improves on the incumbent."""
    best = PlanIncumbent(instance, progress)
    if instance.graph.devices == 1:
        best.require(divided(instance, np.array([0.0, 1.0])), "the model")
        return
    algorithm, problem = _evolution(instance, best, population, seed)
    for generation in range(generations):
        if generation and budget.is_spent():
            break
        offspring = algorithm.ask()
        algorithm.evaluator.eval(problem, offspring)
        algorithm.tell(infills=offspring)
        fittest = algorithm.opt[0]
        if fittest.CV[0] <= 0 and fittest.F[0] < best.cost:
            best.evaluate(_with_ends(instance, np.asarray([fittest.X], dtype=np.int64))[0])
    if best.cost == NO_COST:
        raise UnsupportedError("no generation has a plan that fits into the devices' memory.")


def run_memorianova(
    instance: SlicingInstance,
    budget: Budget,
    seed: int,
    progress: Progress,
    population: int,
    generations: int,
    **params: Any,
) -> None:
    """Report the plans of `geneflow` for the operators in the order that `btsearch` found."""
    # Part of the time for the order, at most.
    order = least_memory_order(instance.graph, budget.part(0.3))
    ordered = replace(instance, graph=instance.graph.in_order(order.tolist()))
    run_geneflow(ordered, budget, seed, _InOrder(progress, order), population, generations)


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
