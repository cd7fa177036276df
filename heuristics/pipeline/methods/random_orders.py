"""`random-T`: the best slicing of T random topological orders ([MTPP24], Appendix C.1)."""

import numpy as np

from boundmark.heuristics.pipeline.orders.priorities import topological_order
from boundmark.heuristics.pipeline.searches.incumbent import Incumbent
from boundmark.heuristics.pipeline.slicing.best_slicing import beats, slice_order
from boundmark.problems.method import Budget, Progress
from boundmark.problems.pipeline import PipelineInstance


def run(
    instance: PipelineInstance, budget: Budget, seed: int, progress: Progress, *, samples: int
) -> None:
    """Draw priorities from U(0, 1) and slice the orders that beat the best so far.

    With one seed, the orders of a smaller T are the first of a larger T.
    """
    generator = np.random.default_rng(seed)
    best = Incumbent(progress)
    for number in range(samples):
        if number > 0 and budget.is_spent():
            return
        order = topological_order(instance.graph.dag, generator.random(instance.nodes))
        if beats(instance, order, best.cost - 1):
            cost, ends = slice_order(instance, order)
            best.offer_slices(cost, order, ends)
