"""`reorder`: simulated annealing that exchanges neighbouring runs of an order ([KIRKPATRICK83]).

Branches of a model are runs of a few operators, so runs move as a whole. For the peak, the sum over
all operators decides between orders of the same peak: most steps change nothing about the peak.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from boundmark.heuristics.ordering.constructed import constructed
from boundmark.heuristics.ordering.incumbent import OrderIncumbent
from boundmark.heuristics.ordering.memory_kernels import anneal, peak_and_sum
from boundmark.problems.arrays import IntArray
from boundmark.problems.method import Budget, Progress
from boundmark.problems.ordering import OrderingInstance


@dataclass(frozen=True)
class ReorderSettings:
    """Settings of `reorder`.

    Attributes
    ----------
    hottest, coldest
        Temperature at the beginning and the end of a round, in units of the best order's mean
        memory of an operator.
    rounds
        Number of rounds, each of which cools down once, from the best order on.
    mean_length
        Mean length of a run; lengths are geometrically distributed.
    steps
        Steps between two looks at the clock.
    """

    hottest: float = 2.0
    coldest: float = 0.001
    rounds: int = 4
    mean_length: float = 4.0
    steps: int = 1000


DEFAULTS = ReorderSettings()


def run(
    instance: OrderingInstance,
    budget: Budget,
    seed: int,
    progress: Progress,
    evaluations: int,
    settings: ReorderSettings = DEFAULTS,
    **params: Any,
) -> None:
    """Report the simple methods' orders, then improve the best one by annealing.

    Parameters
    ----------
    evaluations
        Number of steps; 0 for as many as the budget allows. The cooling follows it or the clock.
    """
    best = OrderIncumbent(instance, progress)
    for order in constructed(instance):
        best.evaluate(order)
    nodes = instance.nodes
    if nodes == 1:
        return
    generator = np.random.default_rng(seed)
    weight = nodes if instance.metric == "peak" else 0
    time, done, current_round = budget.remaining(), 0, -1
    current = best.solution.order.copy()
    while not budget.is_spent() and (not evaluations or done < evaluations):
        spent = done / evaluations if evaluations else 1 - budget.remaining() / time
        cooled, new_round = math.modf(spent * settings.rounds)
        if new_round > current_round:
            current_round, current = int(new_round), best.solution.order.copy()
        steps = min(settings.steps, evaluations - done) if evaluations else settings.steps
        peak, total = peak_and_sum(best.solution.order, best.tensors)
        heat = settings.hottest * (settings.coldest / settings.hottest) ** cooled
        temperature = heat * (weight * peak + total) / nodes
        found = current.copy()
        allowed = temperature * generator.exponential(size=steps)
        moves = random_runs(nodes, steps, generator, settings.mean_length)
        anneal(weight, current, found, moves, allowed, best.tensors)
        best.evaluate(found)
        done += steps


def random_runs(
    nodes: int, steps: int, generator: np.random.Generator, mean_length: float
) -> IntArray:
    """Return begin, middle and end of two neighbouring runs for each step, shape (steps, 3)."""
    lengths = generator.geometric(min(1.0, 1 / min(mean_length, nodes / 2)), (steps, 2))
    lengths = np.minimum(lengths, max(1, nodes // 2))
    middle = 1 + generator.integers(0, nodes - 1, steps)
    begin = np.maximum(0, middle - lengths[:, 0])
    end = np.minimum(nodes, middle + lengths[:, 1])
    return np.ascontiguousarray(np.stack([begin, middle, end], 1))
