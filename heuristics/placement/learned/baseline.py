"""A moving average of rewards that new ones are compared with."""

import numpy as np
import numpy.typing as npt

Row = npt.NDArray[np.float64]


class MovingBaseline:
    """Subtracts an exponential moving average from rewards and divides by their spread.

    The spread is the moving average of absolute differences, so that rewards of any unit train
    alike.
    """

    def __init__(self, decay: float = 0.9) -> None:
        self._decay = decay
        self._mean: Row | None = None
        self._spread = 0.0

    def advantages(self, rewards: Row) -> Row:
        """Return the advantages of a batch of rewards, shape (b,), and take it into the average."""
        return self.differences(rewards, np.full(len(rewards), rewards.mean()))

    def differences(self, rewards: Row, expected: Row) -> Row:
        """Return rewards less the average of what was expected so far, entry by entry.

        Parameters
        ----------
        expected
            What is taken into the average, shape (b,).
        """
        if self._mean is None:
            self._mean = expected
            self._spread = float(np.abs(rewards - expected).mean())
        difference = rewards - self._mean
        spread = float(np.abs(difference).mean())
        self._spread = self._decay * self._spread + (1 - self._decay) * spread
        self._mean = self._decay * self._mean + (1 - self._decay) * expected
        return np.asarray(difference / max(self._spread, 1e-9))
