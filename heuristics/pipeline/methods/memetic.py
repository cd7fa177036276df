"""`memetic`: genetic search over orders, then annealed moves of nodes and slicing anew.

It begins with the better slicing of two orders: the graph's own, and one that keeps the transfers
of open tensors low, which is far ahead where tensors live long, as in training. BRKGA searches
orders and finds the rough shape of a partition, also where moves of single nodes would take long;
`annealing.py` then has most of the time.
"""

import math

import numpy as np

from boundmark.heuristics.pipeline.orders.fewest_open import fewest_open_order
from boundmark.heuristics.pipeline.searches.annealing import refine
from boundmark.heuristics.pipeline.searches.evolution import evolve_slicings
from boundmark.heuristics.pipeline.searches.incumbent import Incumbent
from boundmark.heuristics.pipeline.slicing.best_slicing import slice_order
from boundmark.problems.method import Budget, Progress
from boundmark.problems.pipeline import PipelineInstance

# Of the evaluations or, without a limit on these, of the time.
EVOLVED_SHARE = 0.1
POPULATION = 100
MOST_EVOLVED = 10_000


def run(
    instance: PipelineInstance, budget: Budget, seed: int, progress: Progress, *, evaluations: int
) -> None:
    """Search until the evaluations are used up or, if they are 0, until the budget ends.

    Two runs find the same only if a number of evaluations is given.
    """
    best = Incumbent(progress)
    starts = instance.graph.dag.topological_order, fewest_open_order(instance.graph)
    for done, order in enumerate(starts, start=1):
        cost, ends = slice_order(instance, order)
        best.offer_slices(cost, order, ends)
        if budget.is_spent() or evaluations == done:
            return

    if evaluations == 0:
        evolved, left = MOST_EVOLVED, None
        evolution_budget = budget.part(EVOLVED_SHARE)
    else:
        evolved = math.ceil(EVOLVED_SHARE * (evaluations - len(starts)))
        left = evaluations - len(starts) - evolved
        evolution_budget = budget
    evolve_slicings(instance, best, POPULATION, evolved, seed, evolution_budget)
    refine(instance, best, budget, left, np.random.default_rng(seed))
