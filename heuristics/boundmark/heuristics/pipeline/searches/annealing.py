"""Simulated annealing over moves of nodes, with slicing anew around what it finds.

The usual scheme ([KIRKPATRICK83]) on the partition itself: a move of a node to
another stage changes the costs of two stages, and is tried in a two-hundredth of the time that
sorting and slicing an order takes. Temperatures, margin and rounds were chosen on regal-style
graphs and k = 4 .. 32; see docs/performance.md.
"""

import math

import numpy as np

from boundmark.heuristics.pipeline.kernels.graph import kernel_graph
from boundmark.heuristics.pipeline.kernels.node_moves import DRAWS, Walk, anneal
from boundmark.heuristics.pipeline.orders.noisy_order import noisy_order
from boundmark.heuristics.pipeline.searches.incumbent import Incumbent
from boundmark.heuristics.pipeline.slicing.best_slicing import beats, slice_order
from boundmark.problems.arrays import IntArray
from boundmark.problems.method import Budget
from boundmark.problems.pipeline import PipelineInstance
from boundmark.problems.pipeline.objective import stage_costs, stage_overflow

# Several rounds instead of one long one cost little and give good partitions early.
ROUNDS = 3
# At the beginning of a round, in units of the best cost, as is the margin; and at its end, in units
# of what a node costs in the mean. Large stages can be balanced to a small part of their cost, and
# what is too hot for that ends anywhere near the best partition.
HOTTEST, COLDEST = 0.03, 0.015
MARGIN = 0.02
# Together about as long as sorting and slicing an order takes.
MOVES_PER_EVALUATION = 200
EVALUATIONS_PER_STEP = 20
# Orders sliced around a partition that annealing has found.
RESLICED = 4


def _walk_from(instance: PipelineInstance, stages: IntArray) -> Walk:
    """Return a walk that begins with a copy of a partition."""
    graph, count = instance.graph, min(instance.k, instance.nodes)
    loads = np.zeros(count, np.int64)
    np.add.at(loads, stages, graph.param_load)
    costs = stage_costs(graph, stages, count) - stage_overflow(graph, stages, count)
    return Walk(stages.copy(), costs, loads)


def coldest(instance: PipelineInstance) -> float:
    """Return the temperature at the end of a round, in units of the best cost."""
    return COLDEST * min(instance.k, instance.nodes) / instance.nodes


def refine(
    instance: PipelineInstance,
    best: Incumbent,
    budget: Budget,
    evaluations: int | None,
    generator: np.random.Generator,
) -> None:
    """Improve the best partition until the evaluations are used up or the budget ends.

    Parameters
    ----------
    evaluations
        Orders sliced, and moves at `MOVES_PER_EVALUATION` each. The cooling follows their number
        or, without one, the clock.
    """
    graph = kernel_graph(instance.graph)
    time, end = budget.remaining(), coldest(instance)
    done, current_round = 0, -1
    while best.cost > 0 and not budget.is_spent() and done != evaluations:
        spent = 1 - budget.remaining() / time if evaluations is None else done / evaluations
        progress, new_round = math.modf(spent * ROUNDS)
        if new_round > current_round:
            current_round = int(new_round)
            walk = _walk_from(instance, best.stages)
        left = EVALUATIONS_PER_STEP if evaluations is None else evaluations - done
        step = min(EVALUATIONS_PER_STEP, left)
        done += step
        temperature = HOTTEST * (end / HOTTEST) ** progress
        draws = generator.random((step * MOVES_PER_EVALUATION, DRAWS))
        found = np.empty_like(best.stages)
        cost = anneal(graph, walk, draws, temperature, MARGIN, best.cost, found)
        if best.offer(int(cost), found):
            orders = RESLICED if evaluations is None else min(RESLICED, evaluations - done)
            done += orders
            if reslice(instance, best, orders, generator):
                walk = _walk_from(instance, best.stages)


def reslice(
    instance: PipelineInstance, best: Incumbent, orders: int, generator: np.random.Generator
) -> bool:
    """Slice orders consistent with the best partition; return whether one was better."""
    is_better = False
    for _ in range(orders):
        order = noisy_order(instance, best.stages, 1.0, generator)
        if beats(instance, order, best.cost - 1):
            cost, ends = slice_order(instance, order)
            is_better = best.offer_slices(cost, order, ends)
    return is_better
