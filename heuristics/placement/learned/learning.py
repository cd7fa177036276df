"""Run learned methods: count evaluations, prepare JAX, keep checkpoints."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from boundmark.heuristics.placement.learned.evaluations import Evaluations
from boundmark.heuristics.placement.learned.jax_runtime import prepare_jax
from boundmark.heuristics.placement.learned.settings import Settings
from boundmark.problems.method import Budget, Progress
from boundmark.problems.placement import PlacementInstance

if TYPE_CHECKING:
    # It needs JAX.
    from boundmark.heuristics.placement.learned.hsdag_agent import Agent


def learn(
    instance: PlacementInstance,
    budget: Budget,
    progress: Progress,
    most: int,
    train: Callable[[Evaluations], None],
) -> None:
    """Train with so many evaluations at most, and report each better placement.

    Parameters
    ----------
    train
        Is called when JAX is ready to be imported, and not if there is one device only.

    Raises
    ------
    UnsupportedError
        If JAX is not installed, or no placement is found for which the devices have room.
    """
    evaluations = Evaluations(instance, budget, progress, most)
    if instance.graph.devices == 1:
        evaluations.latency(np.zeros(instance.nodes, dtype=np.int64))
    else:
        prepare_jax(budget.threads)
        train(evaluations)
    evaluations.require_solution()


def learn_groups(
    instance: PlacementInstance,
    budget: Budget,
    seed: int,
    progress: Progress,
    params: Mapping[str, Any],
    train: "Callable[[Agent, Evaluations], None]",
) -> None:
    """Train HSDAG's network in some way, from a checkpoint and into one if they are named.

    Raises
    ------
    UnsupportedError
        As `learn` does.
    InvalidInputError
        If a parameter or the checkpoint is not what it should be.
    """
    settings = Settings.of(params)

    def train_agent(evaluations: Evaluations) -> None:
        from boundmark.heuristics.placement.learned.hsdag_agent import Agent

        agent = Agent(instance, settings, np.random.default_rng(seed))
        if settings.load:
            evaluations.latency(agent.greedy())
        train(agent, evaluations)
        evaluations.require_solution()
        agent.save()

    learn(instance, budget, progress, settings.evaluations, train_agent)
