"""`hsdag`: learn groups of operators and their devices by policy gradients ([HSDAG24]).

Operators are co-located (Appendix G), described by features (Section 2.3), embedded by a graph
convolutional network and grouped by the scores that edges are given; a perceptron draws a device
for each group, and REINFORCE with the buffered loss of Equation 14 trains all of it (Algorithm 1,
Table 6). The reward comes from the simulator that all heuristics share. The first placements are
those of a random policy.

As printed, where the text says how, although it is not always for the best:

- A step's weight is its own reward times gamma to the power of its number in the buffer, without a
  baseline: every placement that is seen becomes likelier, good ones a little more.
- Embeddings chain through the 20 steps of a buffer; the first step begins with the features again.
- Updates repeat with one buffer although the policy has moved (K_epochs).
- Convolution is along the edges' direction, and output shapes are features as they are.

Where the text is silent: gamma is 0.99; a position has 16 features; scores are trained through the
weight that nodes have in their group; a group's embedding is a mean; dropout leaves out edges when
groups are formed and nowhere else; distances for the fractal dimension ignore directions.

`hsdag-advantage` trains the same network on the same features and groups in the way that is usual
today. What differs:

- A placement's weight is its advantage: how much better than the mean of its batch it is, in
  standard deviations of the logarithm of latency, so that placements below average become less
  likely.
- A batch's placements all begin at the first state: they are drawn and simulated together, with one
  pass of the encoder, and none depends on what was drawn before.
- One update per batch, at three times the learning rate, with an entropy bonus.
- Logarithms of the extents of output shapes are features, instead of numbers up to tens of
  thousands.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from boundmark.heuristics.placement.learned.features import FeatureChoice
from boundmark.heuristics.placement.learned.learning import Evaluations, learn
from boundmark.heuristics.placement.room import leaving_room
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.method import Budget, Progress
from boundmark.problems.placement import PlacementInstance


@dataclass(frozen=True)
class HsdagSettings:
    """Hyper-parameters of training ([HSDAG24], Table 6), for `hsdag` and `hsdag-advantage`.

    Attributes
    ----------
    evaluations
        Most placements that are simulated; Table 6 has 100 episodes of 20.
    steps
        Placements between updates ("update_timestep").
    updates
        Updates with each of these batches ("K_epochs").
    learning_rate
        Of Adam.
    hidden
        Size of embeddings ("hidden_channel").
    dropped_edges
        Share of the edges that are left out, at random, when groups are formed ("dropout_network").
    discount
        Gamma of Equation 14, which the paper leaves open.
    entropy
        Weight of the entropy bonus, of `hsdag-advantage` only.
    types, structure, shapes, positions
        Which features nodes have.
    raw_shapes
        Whether extents of output shapes are features as they are, or their logarithms.
    shared_columns
        Whether features have columns for any graph, so that a policy can place others, or for
        this one only; a loaded policy keeps its own.
    load, save
        Files to start from and to keep the policy in; empty for none.
    train
        Whether there are updates; otherwise a loaded policy places as it is.
    no_room
        Latency that counts for a placement without room, in units of the worst one with room in its
        batch; of `hsdag-advantage` only.
    """

    evaluations: int
    steps: int
    updates: int
    learning_rate: float
    hidden: int
    dropped_edges: float
    types: bool
    structure: bool
    shapes: bool
    positions: bool
    raw_shapes: bool
    shared_columns: bool
    load: str
    save: str
    train: bool
    discount: float = 1.0
    entropy: float = 0.0
    no_room: float = 2.0

    def __post_init__(self) -> None:
        for name in ("evaluations", "steps", "updates", "hidden"):
            _check(name, getattr(self, name) >= 1, getattr(self, name), "at least 1")
        for name in ("dropped_edges", "discount"):
            value = getattr(self, name)
            _check(name, 0 <= value <= 1, value, "a number from 0 to 1")
        _check("learning_rate", self.learning_rate > 0, self.learning_rate, "a positive number")
        _check("entropy", self.entropy >= 0, self.entropy, "a number of at least 0")
        if not (self.types or self.structure or self.shapes or self.positions):
            raise InvalidInputError("all features are left out; expected at least one sort.")
        if not self.train and not self.load:
            raise InvalidInputError(
                "train is false and load is empty; expected a checkpoint to place with."
            )

    @classmethod
    def of(cls, params: Mapping[str, Any]) -> "HsdagSettings":
        """Return the settings in a method's parameters; others are left out."""
        names = {field.name for field in fields(cls)}
        return cls(**{name: value for name, value in params.items() if name in names})

    @property
    def features(self) -> FeatureChoice:
        """Which features nodes have."""
        return FeatureChoice(self.types, self.structure, self.shapes, self.positions)


def _check(name: str, is_right: bool, value: object, expected: str) -> None:
    if not is_right:
        raise InvalidInputError(f"{name} is {value!r}; expected {expected}.")


@leaving_room
def run(
    instance: PlacementInstance, budget: Budget, seed: int, progress: Progress, **params: Any
) -> None:
    """Report each better placement of training as printed; raises as `learn_groups` does."""
    learn_groups(instance, budget, seed, progress, params, uses_advantages=False)


@leaving_room
def run_advantage(
    instance: PlacementInstance, budget: Budget, seed: int, progress: Progress, **params: Any
) -> None:
    """Report each better placement of training by advantages; raises as `learn_groups` does."""
    learn_groups(instance, budget, seed, progress, params, uses_advantages=True)


def learn_groups(
    instance: PlacementInstance,
    budget: Budget,
    seed: int,
    progress: Progress,
    params: Mapping[str, Any],
    *,
    uses_advantages: bool,
) -> None:
    """Train HSDAG's network, from a checkpoint and into one if the parameters name them.

    Raises
    ------
    UnsupportedError
        As `learn` does.
    InvalidInputError
        If a parameter or the checkpoint is not what it should be.
    """
    settings = HsdagSettings.of(params)

    def train_agent(evaluations: Evaluations) -> None:
        from boundmark.heuristics.placement.learned import hsdag_training as training

        agent = training.Agent(instance, settings, np.random.default_rng(seed))
        if settings.load:
            evaluations.latency(agent.greedy())
        train = training.train_by_advantages if uses_advantages else training.train_as_printed
        train(agent, evaluations)
        evaluations.require_solution()
        agent.save()

    learn(instance, budget, progress, settings.evaluations, train_agent)
