"""Run a learned method: count its evaluations, and set JAX up before it is imported."""

import os
from collections.abc import Callable

import numpy as np

from boundmark.heuristics.placement.learned.evaluations import Evaluations
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import Budget, Progress
from boundmark.problems.placement import PlacementInstance


def prepare_jax(threads: int) -> None:
    """Set up JAX before it is imported; call this before importing a module that needs it.

    Raises
    ------
    UnsupportedError
        If it is not installed.
    """
    import importlib.util

    if importlib.util.find_spec("jax") is None:
        raise UnsupportedError("jax is not installed; expected it, as in boundmark[learned].")
    if threads == 1:
        # The second one is no flag of its own, but read from the same text.
        os.environ.setdefault(
            "XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
        )
    os.environ.setdefault("JAX_PLATFORMS", "cpu")


def learn(
    instance: PlacementInstance,
    budget: Budget,
    progress: Progress,
    most: int,
    train: Callable[[Evaluations], None],
) -> None:
    """Train with at most `most` evaluations, and report each better placement.

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
