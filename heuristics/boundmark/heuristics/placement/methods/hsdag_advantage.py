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

from typing import Any

import numpy as np

from boundmark.heuristics.placement.learned.evaluations import Evaluations
from boundmark.heuristics.placement.learned.jax_runtime import prepare_jax
from boundmark.heuristics.placement.learned.settings import Settings
from boundmark.heuristics.placement.methods.hsdag import PARAMS
from boundmark.problems.method import Budget, Method, Progress
from boundmark.problems.placement import PlacementInstance


def run(
    instance: PlacementInstance, budget: Budget, seed: int, progress: Progress, **params: Any
) -> None:
    """Report each placement that is better than those before.

    Raises
    ------
    UnsupportedError
        If JAX is not installed, or no placement is found for which the devices have room.
    InvalidInputError
        If a parameter or the checkpoint is not what it should be.
    """
    settings = Settings.of(params)
    evaluations = Evaluations(instance, budget, progress, settings.evaluations)
    if instance.graph.devices == 1:
        evaluations.latency(np.zeros(instance.nodes, dtype=np.int64))
        evaluations.require_solution()
        return
    prepare_jax(budget.threads)
    from boundmark.heuristics.placement.learned.advantage_training import train
    from boundmark.heuristics.placement.learned.hsdag_agent import Agent

    agent = Agent(instance, settings, np.random.default_rng(seed))
    if settings.load:
        evaluations.latency(agent.greedy())
    train(agent, evaluations)
    evaluations.require_solution()
    agent.save()


HSDAG_ADVANTAGE = Method(
    name="hsdag-advantage",
    problem="placement",
    kind="heuristic",
    summary="HSDAG's network trained with advantages over batches instead of raw rewards.",
    run=run,
    params={
        **{name: value for name, value in PARAMS.items() if name != "discount"},
        "updates": 1,
        "learning_rate": 3e-4,
        "entropy": 0.01,
        "raw_shapes": False,
    },
    seeded=True,
    requires=("jax",),
)
