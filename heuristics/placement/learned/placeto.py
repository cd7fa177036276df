"""`placeto`: a graph network moves one set of operators at a time ([PLACETO19]).

An episode begins with a random placement and gives every co-location set a turn. Each turn is an
evaluation, and its reward is how much the latency falls; REINFORCE with a moving average for each
turn trains the network in `placeto_policy` after every episode. Sizes and rates are
ours.
"""

from typing import Any

import numpy as np

from boundmark.heuristics.placement.learned.evaluations import Evaluations
from boundmark.heuristics.placement.learned.learning import learn
from boundmark.problems.method import Budget, Progress
from boundmark.problems.placement import PlacementInstance


def run(
    instance: PlacementInstance,
    budget: Budget,
    seed: int,
    progress: Progress,
    evaluations: int,
    hidden: int,
    learning_rate: float,
    **params: Any,
) -> None:
    """Report each placement that is better than those before; raises as `learn` does."""

    def train_policy(counted: Evaluations) -> None:
        from boundmark.heuristics.placement.learned.placeto_policy import train

        train(instance, counted, np.random.default_rng(seed), hidden, learning_rate)

    learn(instance, budget, progress, evaluations, train_policy)
