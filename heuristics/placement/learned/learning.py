"""Run a learned method: count its evaluations, and set JAX up before it is imported."""

import os
from collections.abc import Callable

import numpy as np

from boundmark.heuristics.incumbent import NO_COST
from boundmark.heuristics.placement.incumbent import PlacementIncumbent
from boundmark.heuristics.placement.room import with_room
from boundmark.problems.arrays import IntArray
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import Budget, Progress
from boundmark.problems.placement import PlacementInstance


class Evaluations:
    """Simulate placements as long as there are evaluations and time left.

    Attributes
    ----------
    best
        The best placement so far, which reports every improvement.
    done
        Number of evaluations; placements without room count, too.
    """

    def __init__(
        self, instance: PlacementInstance, budget: Budget, progress: Progress, most: int
    ) -> None:
        self.instance = instance
        self.best = PlacementIncumbent(instance, progress)
        self.done = 0
        self._budget = budget
        self._most = most

    @property
    def left(self) -> int:
        """Number of evaluations left; 0 if the time is up."""
        return 0 if self._budget.is_spent() else max(0, self._most - self.done)

    def latency(self, devices: IntArray) -> float:
        """Return the makespan of a placement in ticks, infinite if no room is found for it.

        Operators that a device does not support or has no room for move, as for other heuristics.

        Parameters
        ----------
        devices
            Of each operator, shape (n,).
        """
        self.done += 1
        placed = with_room(self.instance, np.asarray(devices, dtype=np.int64))
        return float("inf") if placed is None else float(self.best.evaluate(placed))

    def require_solution(self) -> None:
        """Raise `UnsupportedError` unless there is a placement."""
        if self.best.cost == NO_COST:
            raise UnsupportedError("no placement was found for which the devices have room.")


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
