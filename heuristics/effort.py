"""The effort of a search: evaluations or, without a number of these, time."""

import math
from dataclasses import dataclass

from boundmark.problems.method import Budget


@dataclass
class Effort:
    """Measure how much of its evaluations or of its time a search has spent.

    Attributes
    ----------
    budget
        Its time counts from when this is made.
    evaluations
        Limit, None if the clock alone decides.
    done
        Evaluations so far.
    """

    budget: Budget
    evaluations: int | None
    done: int = 0

    def __post_init__(self) -> None:
        self._time = self.budget.remaining()

    def spent(self) -> float:
        """Return the fraction that is spent, 1.0 at the end."""
        if self.evaluations is not None:
            return self.done / self.evaluations if self.evaluations else 1.0
        return 1 - self.budget.remaining() / self._time if self._time else 1.0

    def is_spent(self) -> bool:
        """Whether the evaluations or the time are used up."""
        return self.budget.is_spent() or self.done == self.evaluations

    def cooled(self, rounds: int, hottest: float, coldest: float) -> tuple[int, float]:
        """Return the number of the round of annealing, and its temperature at this time."""
        within, number = math.modf(self.spent() * rounds)
        return int(number), hottest * (coldest / hottest) ** within

    def take(self, most: int) -> int:
        """Count up to `most` evaluations as done, and return how many these are."""
        taken = most if self.evaluations is None else min(most, self.evaluations - self.done)
        self.done += taken
        return taken
