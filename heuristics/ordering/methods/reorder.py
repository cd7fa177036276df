"""`reorder`: simulated annealing that exchanges neighbouring runs of an order ([KIRKPATRICK83]).

Branches of a model are runs of a few operators, so runs move as a whole. For the peak, the sum over
all operators decides between orders of the same peak: most steps change nothing about the peak.
"""

import math
from typing import Any

import numpy as np

from boundmark.heuristics.ordering.kernels.memory import anneal, peak_and_sum
from boundmark.heuristics.ordering.orders.constructed import constructed
from boundmark.heuristics.ordering.orders.incumbent import Incumbent
from boundmark.problems.arrays import IntArray
from boundmark.problems.method import Budget, Progress
from boundmark.problems.ordering import OrderingInstance

# In units of the best order's memory of an operator on average, at the beginning and the end of a
# round.
HOTTEST, COLDEST = 2.0, 0.001
ROUNDS = 4
# Of runs, of which the lengths are geometrically distributed.
MEAN_LENGTH = 4.0
# Steps between looks at the clock.
STEPS = 1000


def random_runs(nodes: int, steps: int, generator: np.random.Generator) -> IntArray:
    """Return begin, middle and end of two neighbouring runs for each step, shape (steps, 3)."""
    lengths = generator.geometric(min(1.0, 1 / min(MEAN_LENGTH, nodes / 2)), (steps, 2))
    lengths = np.minimum(lengths, max(1, nodes // 2))
    middle = 1 + generator.integers(0, nodes - 1, steps)
    begin = np.maximum(0, middle - lengths[:, 0])
    end = np.minimum(nodes, middle + lengths[:, 1])
    return np.ascontiguousarray(np.stack([begin, middle, end], 1))


def run(
    instance: OrderingInstance,
    budget: Budget,
    seed: int,
    progress: Progress,
    evaluations: int,
    **params: Any,
) -> None:
    """Report the simple methods' orders, then what annealing makes of the best one.

    Parameters
    ----------
    evaluations
        Number of steps; 0 for as many as the budget allows. The cooling follows it or the clock.
    """
    best = Incumbent(instance, progress)
    for order in constructed(instance):
        best.offer(order)
    nodes = instance.nodes
    if nodes == 1:
        return
    generator = np.random.default_rng(seed)
    weight = nodes if instance.metric == "peak" else 0
    time, done, current_round = budget.remaining(), 0, -1
    current = best.order.copy()
    while not budget.is_spent() and (not evaluations or done < evaluations):
        spent = done / evaluations if evaluations else 1 - budget.remaining() / time
        cooled, new_round = math.modf(spent * ROUNDS)
        if new_round > current_round:
            current_round, current = int(new_round), best.order.copy()
        steps = min(STEPS, evaluations - done) if evaluations else STEPS
        peak, total = peak_and_sum(best.order, best.tensors)
        temperature = HOTTEST * (COLDEST / HOTTEST) ** cooled * (weight * peak + total) / nodes
        found = current.copy()
        allowed = temperature * generator.exponential(size=steps)
        anneal(weight, current, found, random_runs(nodes, steps, generator), allowed, best.tensors)
        best.offer(found)
        done += steps
