"""`reslice`: local search that sorts the nodes by their stages and slices that order anew.

Noise lets nodes of neighbouring stages change places, see `noisy_order`.
"""

import numpy as np

from boundmark.heuristics.pipeline.orders.noisy_order import noisy_order
from boundmark.heuristics.pipeline.searches.incumbent import Incumbent
from boundmark.heuristics.pipeline.slicing.best_slicing import beats, slice_order
from boundmark.problems.method import Budget, Progress
from boundmark.problems.pipeline import Partition, PipelineInstance

# Noise spans this many stages; one of them is drawn for each order.
NOISE = (1.0, 1.5, 2.0, 3.0)
# After this many orders per node without improvement, the search goes on from a distant order.
PATIENCE = 5
DISTANT = 8.0


def run(
    instance: PipelineInstance, budget: Budget, seed: int, progress: Progress, *, evaluations: int
) -> None:
    """Search from the graph's own order until the evaluations or the budget are used up.

    An order that is as good replaces the current one, so that the search drifts along plateaus.
    """
    generator = np.random.default_rng(seed)
    order = instance.graph.dag.topological_order
    cost, ends = slice_order(instance, order)
    stages = Partition.from_slices(order, ends).stages
    best = Incumbent(progress)
    best.offer(cost, stages)
    idle, done = 0, 1
    while done != evaluations and not budget.is_spent():
        done += 1
        if idle == PATIENCE * instance.nodes:
            idle = 0
            order = noisy_order(instance, best.stages, DISTANT, generator)
            cost = slice_order(instance, order)[0]
        else:
            order = noisy_order(instance, stages, generator.choice(NOISE), generator)
            idle += 1
        if beats(instance, order, cost):
            new_cost, ends = slice_order(instance, order)
            if new_cost < cost:
                idle = 0
            cost, stages = new_cost, Partition.from_slices(order, ends).stages
            best.offer(cost, stages)
