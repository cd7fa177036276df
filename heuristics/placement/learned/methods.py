"""The learned methods, `random-sets`, with which they are compared, and what they share.

JAX is set up before any module that needs it is imported.
"""

import importlib.util
import os
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from boundmark.heuristics.placement.incumbent import PlacementIncumbent
from boundmark.heuristics.placement.learned.graphs import colocated
from boundmark.heuristics.placement.learned.hsdag import HsdagSettings
from boundmark.heuristics.placement.room import leaving_room, with_room
from boundmark.problems.arrays import IntArray
from boundmark.problems.errors import UnsupportedError, extra_with
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
        """
        self.done += 1
        placed = with_room(self.instance, np.asarray(devices, dtype=np.int64))
        return float("inf") if placed is None else float(self.best.evaluate(placed))


Logits = npt.NDArray[np.float32]


def drawn(logits: Logits, generator: np.random.Generator) -> IntArray:
    """Return a choice for each row of logits with the probabilities of their softmax."""
    # The largest of logits with Gumbel noise.
    noise = generator.gumbel(size=logits.shape)
    return np.asarray((logits + noise).argmax(axis=-1), dtype=np.int64)


def likeliest(logits: Logits) -> IntArray:
    """Return the choice with the largest logit of each row, shape (...)."""
    return np.asarray(logits.argmax(axis=-1), dtype=np.int64)


def allowed_devices(
    is_supported: npt.NDArray[np.bool_], group_of: IntArray, groups: int
) -> npt.NDArray[np.bool_]:
    """Return which devices support all operators of a group, shape (groups, D).

    A group without any is allowed everywhere; those of its operators that have to then move.
    """
    allowed = np.ones((groups, is_supported.shape[1]), dtype=bool)
    np.logical_and.at(allowed, group_of, is_supported)
    allowed[~allowed.any(axis=1)] = True
    return allowed


Row = npt.NDArray[np.float64]


class MovingAverage:
    """Subtract an exponential moving average from rewards and divide by their spread.

    The spread is the moving average of absolute differences, so that rewards of any unit train
    alike.
    """

    def __init__(self, decay: float = 0.9) -> None:
        self._decay = decay
        self._mean: Row | None = None
        self._spread = 0.0

    def advantages(self, rewards: Row) -> Row:
        """Return the advantages of rewards, shape (b,); update the average with their mean."""
        return self.differences(rewards, np.full(len(rewards), rewards.mean()))

    def differences(self, rewards: Row, expected: Row) -> Row:
        """Subtract the moving average from rewards, entry by entry, and divide by the spread.

        Expected values, entry by entry, update the average.
        """
        if self._mean is None:
            self._mean = expected
            self._spread = float(np.abs(rewards - expected).mean())
        difference = rewards - self._mean
        spread = float(np.abs(difference).mean())
        self._spread = self._decay * self._spread + (1 - self._decay) * spread
        self._mean = self._decay * self._mean + (1 - self._decay) * expected
        return np.asarray(difference / max(self._spread, 1e-9))


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
    if importlib.util.find_spec("jax") is None:
        raise UnsupportedError(f"jax is not installed{extra_with('jax')}.")
    if threads == 1:
        # The second one is no flag of its own, but read from the same text.
        os.environ.setdefault(
            "XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
        )
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
