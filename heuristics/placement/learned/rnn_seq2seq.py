"""`rnn-seq2seq`: a sequence-to-sequence model names devices ([MIRHOSEINI17]).

Operators are co-located and described as for `hsdag-advantage`; the network is in
`rnn_policy`. It is trained by REINFORCE with a moving average as baseline and the square
root of latency as cost. Sizes and rates that the paper chose for clusters of workers are ours.
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
    steps: int,
    hidden: int,
    learning_rate: float,
    **params: Any,
) -> None:
    """Report each placement that is better than those before; raises as `learn` does."""

    def train_policy(counted: Evaluations) -> None:
        from boundmark.heuristics.placement.learned.rnn_policy import train

        train(instance, counted, np.random.default_rng(seed), steps, hidden, learning_rate)

    learn(instance, budget, progress, evaluations, train_policy)
