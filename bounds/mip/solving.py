"""The interface of solvers: inputs and outcomes of a search, and how bounds are claimed."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from boundmark.bounds.best import Best
from boundmark.bounds.mip.linear_model import FloatArray, LinearModel
from boundmark.problems.arrays import IntArray
from boundmark.problems.certificate import Claim
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import Budget, Progress


class ModelTooLargeError(UnsupportedError):
    """The solver's licence covers smaller models, but not this one."""


def ignore_incumbent(values: FloatArray) -> None:
    """Do nothing with a solution."""


def ignore_bound(ticks: float) -> None:
    """Do nothing with a bound."""


@dataclass(frozen=True)
class Search:
    """The inputs of a solver besides the model: limits, start and callbacks."""

    # The solver stops when its time is up and takes no more threads than it says; memory as far as
    # the solver can limit it.
    budget: Budget
    # For the solver's random choices.
    seed: int = 0
    # A feasible solution to begin with.
    start: IntArray | None = None
    # Called with the columns' values of each better solution; costs may be in the solver's unit.
    on_incumbent: Callable[[FloatArray], None] = ignore_incumbent
    # Called with each better lower bound, in ticks.
    on_bound: Callable[[float], None] = ignore_bound
    # A bound that need not be improved, in ticks.
    enough: float = math.inf


@dataclass(frozen=True)
class Outcome:
    """The result of a solver: its status, best solution and bound."""

    # Lower bound in ticks: minus infinity if nothing is known, infinity if there is no solution.
    bound: float
    # Whether the bound is the model's optimum, up to the solver's tolerances.
    finished: bool
    # Nodes of the search tree, as the solver counts; 0 if presolving or the time left none.
    nodes: int = 0


class Solve(Protocol):
    """The type of solvers: functions that minimise a model.

    Raises `UnsupportedError` if the solver is not installed, or has no licence. Raises
    `ModelTooLargeError` if the licence does not cover the model.
    """

    def __call__(self, model: LinearModel, search: Search) -> Outcome:
        """Solve the model as the search says."""


class Presolve(Protocol):
    """The type of functions that presolve a model and return its remaining size.

    Raises `UnsupportedError` if the solver is not installed, or its licence does not cover the
    model.
    """

    def __call__(self, model: LinearModel) -> tuple[int, int]:
        """Return the numbers of columns and of rows that the solver's presolve leaves."""


@dataclass
class Improving:
    """Callback that passes on finite bounds better than all before."""

    report: Callable[[float], None]
    best: float = field(default=-math.inf)

    def __call__(self, ticks: float) -> None:
        """Report a bound if it is better."""
        if math.isfinite(ticks) and ticks > self.best:
            self.best = ticks
            self.report(ticks)


# A solver's optimum may lie above the true one by its tolerances.
RELATIVE_TOLERANCE = 1e-9
ABSOLUTE_TOLERANCE = 1e-6


def rounded_up(ticks: float) -> float:
    """Return the integer that a bound of integers proves, up to a solver's tolerances."""
    if not math.isfinite(ticks):
        return ticks
    return float(math.ceil(ticks - ABSOLUTE_TOLERANCE - RELATIVE_TOLERANCE * abs(ticks)))


def claim(kind: str, ticks: float, progress: Progress) -> None:
    """Report a bound unless it is infinite; it is never rounded up.

    Optima are integers, so a bound that exceeds an integer by no more than tolerances is meant to
    be that integer.
    """
    if not math.isfinite(ticks):
        return
    integer = math.floor(ticks)
    excess = ticks - integer
    bound = integer if excess <= ABSOLUTE_TOLERANCE + RELATIVE_TOLERANCE * integer else ticks
    progress.bound(Claim(kind, float(bound)))


def claim_up_to_best(kind: str, best: Best, ticks: float) -> None:
    """Claim a solver's bound, but no more than the best solution's cost.

    A model may leave out the others, so no more than the best one's cost bounds the optimum.
    """
    claim(kind, min(ticks, best.objective), best)
