"""`mla`, `mla-weighted`: cut a minimum linear arrangement ([MTPP24], Appendix C.1).

The arrangement minimises the sum over edges of weight x distance in the order; the weight is 1 or
the producer's transfer. As in the paper, the search never looks at the cost of segmentations, and
only its best order is segmented: the arrangement does not depend on k.
"""

import numpy as np

from boundmark.heuristics.evolution import BrkgaSettings, evolve
from boundmark.heuristics.pipeline.slicegraph import segment_order
from boundmark.heuristics.priority_order import Priorities, topological_order
from boundmark.problems.arrays import IntArray
from boundmark.problems.method import Budget, Progress
from boundmark.problems.pipeline import Partition, PipelineInstance


def run(
    instance: PipelineInstance,
    budget: Budget,
    seed: int,
    progress: Progress,
    *,
    weighted: bool,
    population: int,
    generations: int,
) -> None:
    """Minimise the arrangement's cost, then segment it once; report nothing before."""
    dag = instance.graph.dag
    weights = instance.graph.transfer[dag.sources] if weighted else np.ones(dag.edges, np.int64)
    best_order = dag.topological_order
    best: int | None = None

    def arrange(priorities: Priorities) -> int:
        nonlocal best, best_order
        order = topological_order(dag, priorities)
        cost = arrangement_cost(order, dag.sources, dag.targets, weights)
        if best is None or cost < best:
            best, best_order = cost, order
        return cost

    settings = BrkgaSettings(population, population * generations)
    evolve(instance.nodes, arrange, settings, seed, budget)
    _, ends = segment_order(instance, best_order)
    progress.solution(Partition.from_segments(best_order, ends))


def arrangement_cost(
    order: IntArray, sources: IntArray, targets: IntArray, weights: IntArray
) -> int:
    """Return the sum of weight x distance over the edges of a topological order."""
    position = np.empty_like(order)
    position[order] = np.arange(len(order))
    return int(weights @ (position[targets] - position[sources]))
