"""Runs a method and keeps what it reports; a budget that counts looks instead of seconds."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from boundmark.problems.catalog import methods
from boundmark.problems.certificate import Certificate, Claim
from boundmark.problems.method import Budget
from boundmark.problems.problem import Instance, ParameterValue, Solution

# Evolution and sampling repeat the same step; a few evaluations show what it does on a tiny graph.
FEW_EVALUATIONS = {"samples": 20, "population": 5, "generations": 3, "evaluations": 30}


class LooksBudget(Budget):
    """A budget that ends when it has been looked at a number of times."""

    def remaining(self) -> float:
        """Return the looks left, in seconds."""
        object.__setattr__(self, "wall_seconds", self.wall_seconds - 1)
        return max(0.0, self.wall_seconds)


@dataclass
class Recorder:
    """What a method reported, in turn."""

    solutions: list[Solution] = field(default_factory=list)
    bounds: list[Certificate | Claim] = field(default_factory=list)

    def solution(self, solution: Solution) -> None:
        """Keep a solution."""
        self.solutions.append(solution)

    def bound(self, bound: Certificate | Claim) -> None:
        """Keep a bound."""
        self.bounds.append(bound)


def record(
    name: str,
    instance: Instance,
    *,
    seed: int = 1,
    seconds: float = 20,
    params: Mapping[str, ParameterValue] | None = None,
) -> Recorder:
    """Run the method with a name; parameters that are not given have their defaults."""
    method, recorder = methods()[name], Recorder()
    given = {**method.params, **(params or {})}
    method.run(instance, Budget(wall_seconds=seconds), seed, recorder, **given)  # type: ignore[call-arg]
    return recorder
