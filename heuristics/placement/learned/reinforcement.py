"""Shared by policies: draws of devices by logits, and the moving average of rewards."""

import numpy as np
import numpy.typing as npt

from boundmark.problems.arrays import IntArray

Logits = npt.NDArray[np.float32]


def drawn(logits: Logits, generator: np.random.Generator) -> IntArray:
    """Return a choice for each row of logits with the probabilities of their softmax.

    Parameters
    ----------
    logits
        Shape (..., D).

    Returns
    -------
    IntArray
        Shape (...).
    """
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

    Parameters
    ----------
    is_supported
        Whether each device supports each operator, shape (n, D).
    group_of
        Of each operator, shape (n,).
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

        Parameters
        ----------
        expected
            Values that update the average, shape (b,).
        """
        if self._mean is None:
            self._mean = expected
            self._spread = float(np.abs(rewards - expected).mean())
        difference = rewards - self._mean
        spread = float(np.abs(difference).mean())
        self._spread = self._decay * self._spread + (1 - self._decay) * spread
        self._mean = self._decay * self._mean + (1 - self._decay) * expected
        return np.asarray(difference / max(self._spread, 1e-9))
