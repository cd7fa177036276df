"""`hsdag`: learns groups of operators and their devices by policy gradients ([HSDAG24]).

Operators are co-located (Appendix G), described by features (Section 2.3), embedded by a graph
convolutional network and grouped by the scores that edges are given; a perceptron draws a device
for each group, and REINFORCE with the buffered loss of Equation 14 trains all of it (Algorithm 1,
Table 6). The reward is that of the simulator all heuristics share. Nothing is started from: the
first placements are those of a random policy.

As printed, where the text says how, although it is not always for the best:

- A step's weight is its own reward times gamma to the power of its number in the buffer, without a
  baseline: every placement that is seen becomes likelier, good ones a little more.
- Embeddings chain through the 20 steps of a buffer; the first step begins with the features again.
- Updates repeat with one buffer although the policy has moved (K_epochs).
- Convolution is along the edges' direction, and output shapes are features as they are.

Where the text is silent: gamma is 0.99; a position has 16 features; scores are trained through the
weight that nodes have in their group; a group's embedding is a mean; dropout leaves out edges when
groups are formed and nowhere else; distances for the fractal dimension ignore directions.
"""

from typing import TYPE_CHECKING, Any

from boundmark.heuristics.placement.learned.evaluations import Evaluations
from boundmark.heuristics.placement.learned.learning import learn_groups
from boundmark.problems.method import Budget, Progress
from boundmark.problems.placement import PlacementInstance

if TYPE_CHECKING:
    from boundmark.heuristics.placement.learned.hsdag_agent import Agent


def _train(agent: "Agent", evaluations: Evaluations) -> None:
    from boundmark.heuristics.placement.learned.hsdag_training import train

    train(agent, evaluations)


def run(
    instance: PlacementInstance, budget: Budget, seed: int, progress: Progress, **params: Any
) -> None:
    """Report each placement that is better than those before; raises as `learn_groups` does."""
    learn_groups(instance, budget, seed, progress, params, _train)
