"""The best segmentation of an order ([MTPP24], Section 4.1), and searches for orders to segment.

`slicegraph` cuts the graph's own topological order, `random-T` tries T random ones (Appendix C.1).

`brkga-100`, `brkga-10000`: genetic search over orders, each segmented (Section 4.2). The paper
states the population and the number of evaluations. It leaves the rest open;
`boundmark.heuristics.evolution` sets it within what [BRKGA11], which the paper cites, recommends.
The paper counts population x generations evaluations, whether or not the elite is decoded again.
Here an evaluation is a priority vector that was decoded, and the search ends after exactly as many
as population x generations, so that "10000" is the same work as in `random-10000`; as the elite is
not decoded again, there are in fact 124 generations.

`mla`, `mla-weighted`: cut a minimum linear arrangement (Appendix C.1). It minimises the sum over
edges of weight x distance in the order; the weight is 1 or the producer's transfer. As in the
paper, the search never looks at the cost of segmentations, and only its best order is segmented:
the arrangement does not depend on k.

`reslice`: local search that sorts the nodes by their stages and segments that order again. Noise
lets nodes of neighbouring stages change places, see `noisy_order`.
"""

from functools import partial

import numpy as np

from boundmark.heuristics.evolution import evolve
from boundmark.heuristics.incumbent import Incumbent
from boundmark.heuristics.pipeline.kernel_graph import kernel_graph
from boundmark.heuristics.pipeline.orders import NOISES, noisy_order
from boundmark.heuristics.pipeline.segmentation_kernels import best_segmentation, is_segmentable
from boundmark.heuristics.priority_order import Priorities, topological_order
from boundmark.problems.arrays import IntArray
from boundmark.problems.method import Budget, Progress
from boundmark.problems.pipeline import Partition, PipelineInstance


def segment_order(
    instance: PipelineInstance, order: IntArray, *, largest_table: int = 2**23
) -> tuple[int, IntArray]:
    """Cut the order into at most k stages so that the bottleneck stage is as cheap as possible.

    Exact.
    """
    k = min(instance.k, instance.nodes)
    graph = kernel_graph(instance.graph)
    cost, ends = best_segmentation(order, graph, k, largest_table)
    return int(cost), ends


def has_segmentation(instance: PipelineInstance, order: IntArray, threshold: int) -> bool:
    """Return whether the order can be cut into at most k stages of cost <= threshold each.

    Several times cheaper than `segment_order`, most of all when the answer is no.
    """
    k = min(instance.k, instance.nodes)
    return bool(is_segmentable(order, kernel_graph(instance.graph), k, threshold))


def run_slicegraph(
    instance: PipelineInstance, budget: Budget, seed: int, progress: Progress
) -> None:
    """Report the best segmentation of `Dag.topological_order`."""
    order = instance.graph.dag.topological_order
    _, ends = segment_order(instance, order)
    progress.solution(Partition.from_segments(order, ends))


def run_random(
    instance: PipelineInstance, budget: Budget, seed: int, progress: Progress, *, samples: int
) -> None:
    """Draw priorities from U(0, 1) and segment the orders that improve on the incumbent.

    With one seed, the orders of a smaller T are the first of a larger T.
    """
    generator = np.random.default_rng(seed)
    best: Incumbent[Partition] = Incumbent(progress)
    for number in range(samples):
        if number > 0 and budget.is_spent():
            return
        order = topological_order(instance.graph.dag, generator.random(instance.nodes))
        if has_segmentation(instance, order, best.cost - 1):
            cost, ends = segment_order(instance, order)
            best.offer(cost, partial(Partition.from_segments, order, ends))


def run_brkga(
    instance: PipelineInstance,
    budget: Budget,
    seed: int,
    progress: Progress,
    *,
    population: int,
    generations: int,
) -> None:
    """Search for priorities whose order has the cheapest segmentation."""
    best: Incumbent[Partition] = Incumbent(progress)
    evolve_segmentations(instance, best, population, population * generations, seed, budget)


def evolve_segmentations(
    instance: PipelineInstance,
    best: Incumbent[Partition],
    population: int,
    evaluations: int,
    seed: int,
    budget: Budget,
) -> None:
    """Search for priorities whose order has the cheapest segmentation; offer all to `best`."""

    def sort_and_segment(priorities: Priorities) -> int:
        order = topological_order(instance.graph.dag, priorities)
        cost, ends = segment_order(instance, order)
        best.offer(cost, partial(Partition.from_segments, order, ends))
        return cost

    evolve(instance.nodes, sort_and_segment, population, evaluations, seed, budget)


def run_mla(
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

    evolve(instance.nodes, arrange, population, population * generations, seed, budget)
    _, ends = segment_order(instance, best_order)
    progress.solution(Partition.from_segments(best_order, ends))


def arrangement_cost(
    order: IntArray, sources: IntArray, targets: IntArray, weights: IntArray
) -> int:
    """Return the sum of weight x distance over the edges of a topological order."""
    position = np.empty_like(order)
    position[order] = np.arange(len(order))
    return int(weights @ (position[targets] - position[sources]))


def run_reslice(
    instance: PipelineInstance,
    budget: Budget,
    seed: int,
    progress: Progress,
    *,
    evaluations: int,
) -> None:
    """Search from the graph's own order until the evaluations or the budget are used up.

    An order that is as good replaces the current one, so that the search drifts along plateaus.
    """
    # Orders per node without improvement before the search goes on from a distant order, and the
    # number of stages that the noise of that one spans.
    patience, distant_noise = 5, 8.0
    generator = np.random.default_rng(seed)
    order = instance.graph.dag.topological_order
    cost, ends = segment_order(instance, order)
    stages = Partition.from_segments(order, ends).stages
    best: Incumbent[Partition] = Incumbent(progress)
    best.offer(cost, partial(Partition, stages))
    idle, done = 0, 1
    while done != evaluations and not budget.is_spent():
        done += 1
        if idle == patience * instance.nodes:
            idle = 0
            order = noisy_order(instance, best.solution.stages, distant_noise, generator)
            cost = segment_order(instance, order)[0]
        else:
            order = noisy_order(instance, stages, generator.choice(NOISES), generator)
            idle += 1
        if has_segmentation(instance, order, cost):
            new_cost, ends = segment_order(instance, order)
            if new_cost < cost:
                idle = 0
            cost, stages = new_cost, Partition.from_segments(order, ends).stages
            best.offer(cost, partial(Partition, stages))
