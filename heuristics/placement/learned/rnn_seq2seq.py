"""`rnn-seq2seq`: a sequence-to-sequence model names devices ([MIRHOSEINI17]).

Operators are co-located and described as for `hsdag-advantage`; the network is in
`rnn_policy`. It is trained by REINFORCE with a moving average of rewards and the square
root of latency as cost. Sizes and rates that the paper chose for clusters of workers are ours.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from boundmark.heuristics.placement.learned.learning import Evaluations, learn
from boundmark.heuristics.placement.room import leaving_room
from boundmark.problems.method import Budget, Progress
from boundmark.problems.placement import PlacementInstance


@dataclass(frozen=True)
class RnnSettings:
    """Settings of `rnn-seq2seq`'s training.

    Attributes
    ----------
    samples
        Placements between updates.
    hidden
        Size of embeddings and of the LSTMs' states.
    learning_rate
        Of Adam.
    no_room
        Latency that counts for a placement without room, in units of the worst one so far.
    """

    samples: int
    hidden: int
    learning_rate: float
    no_room: float = 2.0


@leaving_room
def run(
    instance: PlacementInstance,
    budget: Budget,
    seed: int,
    progress: Progress,
    evaluations: int,
    steps: int,
    hidden: int,
    learning_rate: float,
    **params: Any,
) -> None:
    """Report each better placement of training; raises as `learn` does."""
    settings = RnnSettings(steps, hidden, learning_rate)

    def train_policy(counted: Evaluations) -> None:
        from boundmark.heuristics.placement.learned.rnn_policy import train

        train(instance, counted, np.random.default_rng(seed), settings)

    learn(instance, budget, progress, evaluations, train_policy)
