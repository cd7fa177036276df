"""The learned methods, and `random-sets`, with which they are compared.

JAX is set up before any module that needs it is imported.
"""

import os
from collections.abc import Callable
from typing import Any

import numpy as np

from boundmark.heuristics.placement.learned.graphs import colocated
from boundmark.heuristics.placement.learned.hsdag import HsdagSettings
from boundmark.heuristics.placement.learned.learning import Evaluations, allowed_devices
from boundmark.heuristics.placement.room import leaving_room
from boundmark.problems.method import Budget, Progress, require_module
from boundmark.problems.placement import PlacementInstance


@leaving_room
def run_random_sets(
    instance: PlacementInstance,
    budget: Budget,
    seed: int,
    progress: Progress,
    samples: int,
    **params: Any,
) -> None:
    """Report each better placement of `samples` that draw one device for each co-location set.

    Learned methods are to be compared with chance on equal terms: as many placements, of the same
    sets.
    """
    sets = colocated(instance.graph.dag)
    allowed = allowed_devices(instance.graph.is_supported, sets.set_of, sets.nodes)
    generator = np.random.default_rng(seed)
    evaluations = Evaluations(instance, budget, progress, max(1, samples))
    while evaluations.left or not evaluations.done:
        # The largest of random keys, of devices that support the set.
        keys = np.where(allowed, generator.random(allowed.shape), -1.0)
        evaluations.latency(keys.argmax(axis=1)[sets.set_of])
    evaluations.best.require_solution()


@leaving_room
def run_hsdag(
    instance: PlacementInstance, budget: Budget, seed: int, progress: Progress, **params: Any
) -> None:
    """Report each better placement of training, from and into checkpoints if they are named."""
    settings = HsdagSettings.of(params)

    def train_agent(evaluations: Evaluations) -> None:
        from boundmark.heuristics.placement.learned import hsdag_training as training

        agent = training.Agent(instance, settings, np.random.default_rng(seed))
        if settings.load:
            evaluations.latency(agent.greedy())
        training.train_as_printed(agent, evaluations)
        evaluations.best.require_solution()
        agent.save()

    learn(instance, budget, progress, settings.evaluations, train_agent)


@leaving_room
def run_placeto(
    instance: PlacementInstance,
    budget: Budget,
    seed: int,
    progress: Progress,
    evaluations: int,
    **params: Any,
) -> None:
    """Report each better placement of training; raises as `learn` does."""

    def train_policy(counted: Evaluations) -> None:
        from boundmark.heuristics.placement.learned.placeto import train

        train(instance, counted, np.random.default_rng(seed), **params)

    learn(instance, budget, progress, evaluations, train_policy)


@leaving_room
def run_rnn_seq2seq(
    instance: PlacementInstance,
    budget: Budget,
    seed: int,
    progress: Progress,
    evaluations: int,
    **params: Any,
) -> None:
    """Report each better placement of training; raises as `learn` does."""

    def train_policy(counted: Evaluations) -> None:
        from boundmark.heuristics.placement.learned.rnn_seq2seq import train

        train(instance, counted, np.random.default_rng(seed), **params)

    learn(instance, budget, progress, evaluations, train_policy)


def learn(
    instance: PlacementInstance,
    budget: Budget,
    progress: Progress,
    most: int,
    train: Callable[[Evaluations], None],
) -> None:
    """Train with at most `most` evaluations, and report each better placement.

    `train` is called when JAX is ready to be imported, and not if there is one device only.
    """
    evaluations = Evaluations(instance, budget, progress, most)
    if instance.graph.devices == 1:
        evaluations.latency(np.zeros(instance.nodes, dtype=np.int64))
    else:
        prepare_jax(budget.threads)
        try:
            train(evaluations)
        except RuntimeError as error:
            # JAX has no exception of its own for this.
            if "Out of memory allocating" not in str(error):
                raise
            raise MemoryError(str(error)) from error
    evaluations.best.require_solution()


def prepare_jax(threads: int) -> None:
    """Set up JAX before it is imported; call this before importing a module that needs it."""
    require_module("jax")
    if threads == 1:
        # The second one is no flag of its own, but read from the same text.
        os.environ.setdefault(
            "XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
        )
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
