"""`placeto`: a graph network moves one set of operators at a time ([PLACETO19]).

An episode begins with a random placement and gives every co-location set a turn. Each turn is an
evaluation, and its reward is how much the latency falls; REINFORCE with a moving average for each
turn trains the network in `placeto_policy` after every episode. Sizes and rates are
ours.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from boundmark.heuristics.placement.learned.learning import Evaluations, learn
from boundmark.heuristics.placement.room import leaving_room
from boundmark.problems.method import Budget, Progress
from boundmark.problems.placement import PlacementInstance


@dataclass(frozen=True)
class PlacetoSettings:
    """Settings of `placeto`'s training.

    Attributes
    ----------
    hidden
        Size of embeddings.
    learning_rate
        Of Adam.
    discount
        Factor by which a reward counts less with each turn that lies between.
    no_room
        Latency that counts for a placement without room, in units of the last one with room.
    """

    hidden: int
    learning_rate: float
    discount: float = 0.97
    no_room: float = 2.0


@leaving_room
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
    """Report each better placement of training; raises as `learn` does."""
    settings = PlacetoSettings(hidden, learning_rate)

    def train_policy(counted: Evaluations) -> None:
        from boundmark.heuristics.placement.learned.placeto_policy import train

        train(instance, counted, np.random.default_rng(seed), settings)

    learn(instance, budget, progress, evaluations, train_policy)
