"""`boundmark evaluate --noise`: a solution's cost and lead when times are drawn at random."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from boundmark.benchmarks.grading import GivenSolution
from boundmark.problems.catalog import methods, problems
from boundmark.problems.certificate import Certificate, Claim
from boundmark.problems.errors import BoundmarkError, InvalidInputError, find
from boundmark.problems.method import Budget, Method
from boundmark.problems.noise import Lead, Noise, lead_over
from boundmark.problems.problem import Instance
from boundmark.reports.report import report_of

# Baselines are what one has without a search.
SECONDS = 10.0


@dataclass(frozen=True)
class Robustness:
    """A solution's cost and lead over a baseline under noise.

    Attributes
    ----------
    baseline
        The method whose solution it is held against, and its cost without noise.
    lead
        1 - the solution's cost / the baseline's, without noise.
    draws
        How often times were drawn.
    by_deviation
        The same with noise, by its standard deviation.
    """

    baseline: str
    baseline_cost: int
    lead: float
    draws: int
    by_deviation: dict[float, Lead]


def robustness(
    given: GivenSolution, deviations: Sequence[float], draws: int, against: str | None
) -> Robustness:
    """Return a solution's cost, and its lead over a baseline, when times are drawn at random.

    Parameters
    ----------
    against
        The baseline, a method; None for the first one of the problem's baselines that has a
        solution.

    Raises
    ------
    InvalidInputError
        If the problem's costs are no times that can be drawn, noise is none, or the baseline finds
        no solution.
    """
    instance = given.source.instance
    problem = problems()[instance.problem]
    if problem.noisy_costs is None:
        able = sorted(name for name, one in problems().items() if one.noisy_costs is not None)
        raise InvalidInputError(
            f"--noise is given for problem {problem.name!r}; expected one of {', '.join(able)}."
        )
    noises = [Noise(deviation, draws) for deviation in deviations]
    baseline, reference = _baseline(instance, against)
    solution = problem.solution_from_json(given.document)
    cost = instance.objective(reference)
    return Robustness(
        baseline,
        cost,
        1 - given.objective / cost if cost else float("nan"),
        draws,
        {
            noise.deviation: lead_over(
                problem.noisy_costs(instance, solution, noise),
                problem.noisy_costs(instance, reference, noise),
                given.objective,
            )
            for noise in noises
        },
    )


def _baseline(instance: Instance, against: str | None) -> tuple[str, Any]:
    """Return a baseline's name and its solution."""
    known = methods(instance.problem)
    if against is not None:
        solution = _solution(find("method", against, known), instance)
        if solution is None:
            raise InvalidInputError(f"{against} finds no solution to hold the given one against.")
        return against, solution
    names = report_of(instance.problem)[0].baselines
    for name in names:
        solution = _solution(known[name], instance)
        if solution is not None:
            return name, solution
    raise InvalidInputError(
        f"{' and '.join(names) or 'no method'} finds no solution to hold the given one against; "
        "expected another one with --baseline."
    )


def _solution(method: Method, instance: Instance) -> Any | None:
    """Return the best solution that a method finds, None without any."""
    kept = _Best(instance)
    try:
        method.run(instance, Budget(wall_seconds=SECONDS), 1, kept, **method.params)
    except BoundmarkError:
        return kept.solution_found
    return kept.solution_found


class _Best:
    """Keeps the best solution that is reported."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        self._cost: int | None = None
        self.solution_found: Any | None = None

    def solution(self, solution: Any) -> None:
        cost = self._instance.objective(solution)
        if self._cost is None or cost < self._cost:
            self._cost, self.solution_found = cost, solution

    def bound(self, bound: Certificate | Claim) -> None:
        """Leave bounds out."""
