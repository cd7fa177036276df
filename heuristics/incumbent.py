"""The incumbent: the best solution that a search has found so far."""

from collections.abc import Callable
from typing import Generic, TypeVar

from boundmark.problems.method import Progress
from boundmark.problems.problem import Solution

S = TypeVar("S", bound=Solution)

# More than any solution costs, and so far from the end of 64 bits that kernels can add to it.
NO_COST = 2**60


class Incumbent(Generic[S]):
    """Keep the best solution and report every improvement.

    Attributes
    ----------
    cost
        What the best solution costs; `NO_COST` before there is one.
    """

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._solution: S | None = None
        self.cost = NO_COST

    @property
    def solution(self) -> S:
        """The best solution; there has to be one."""
        assert self._solution is not None
        return self._solution

    def offer(self, cost: int, make: Callable[[], S]) -> bool:
        """Build, keep and report a solution if it is better than the best; return whether it is."""
        if cost >= self.cost:
            return False
        self.cost, self._solution = cost, make()
        self._progress.solution(self._solution)
        return True
