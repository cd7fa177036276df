"""Counted evaluations, draws of devices and averages of rewards, which learned methods share."""

import numpy as np
import numpy.typing as npt

from boundmark.heuristics.placement.incumbent import PlacementIncumbent
from boundmark.heuristics.placement.room import with_room
from boundmark.problems.arrays import IntArray
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
