"""`hsdag-advantage`: HSDAG's network, trained in the way that is usual today.

Features, grouping and network are those of `hsdag`. What differs:

- What weighs a placement is its advantage: how much better than the mean of its batch it is, in
  standard deviations of the logarithm of latency, so that placements below average become less
  likely.
- A batch's placements all begin at the first state: they are drawn and simulated together, with one
  pass of the encoder, and none depends on what was drawn before.
- One update per batch, at three times the learning rate, with an entropy bonus.
- Logarithms of the extents of output shapes are features, instead of numbers up to tens of
  thousands.
"""

from typing import TYPE_CHECKING, Any

from boundmark.heuristics.placement.learned.evaluations import Evaluations
from boundmark.heuristics.placement.learned.learning import learn_groups
from boundmark.problems.method import Budget, Progress
from boundmark.problems.placement import PlacementInstance

if TYPE_CHECKING:
    from boundmark.heuristics.placement.learned.hsdag_agent import Agent


def _train(agent: "Agent", evaluations: Evaluations) -> None:
    from boundmark.heuristics.placement.learned.advantage_training import train

    train(agent, evaluations)


def run(
    instance: PlacementInstance, budget: Budget, seed: int, progress: Progress, **params: Any
) -> None:
    """Report each placement that is better than those before; raises as `learn_groups` does."""
    learn_groups(instance, budget, seed, progress, params, _train)
