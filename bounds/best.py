"""A filter of a method's reports: it passes on solutions and bounds better than those before."""

import math
from dataclasses import dataclass
from typing import Any

from boundmark.problems.certificate import Certificate, Claim
from boundmark.problems.method import Progress
from boundmark.problems.problem import Instance


@dataclass
class Best:
    """A `Progress` that remembers the best cost and the best bounds, and passes on improvements.

    Attributes
    ----------
    passes_equals
        Whether a solution that is as good as the best one is handed on: it may be better in what
        the objective leaves out.
    passes_claims
        Whether claims are handed on, or only certificates.
    objective
        What the best solution costs; infinite while there is none.
    certified, claimed
        The best bounds of either sort; minus infinity while there is none.
    """

    instance: Instance
    progress: Progress
    passes_equals: bool = False
    passes_claims: bool = True
    objective: float = math.inf
    certified: float = -math.inf
    claimed: float = -math.inf

    @classmethod
    def before(cls, instance: Instance, progress: Progress) -> "Best":
        """Return `progress` if it is a `Best` already; otherwise wrap it."""
        return progress if isinstance(progress, cls) else cls(instance, progress)

    @property
    def lower(self) -> float:
        """The best bound, certified or claimed."""
        return max(self.certified, self.claimed)

    @property
    def proven(self) -> int:
        """The best certified bound, 0 while there is none: no cost is less."""
        return int(self.certified) if math.isfinite(self.certified) else 0

    @property
    def is_proven(self) -> bool:
        """Whether the best solution is proven optimal."""
        return self.objective <= self.lower

    def solution(self, solution: Any) -> None:
        """Pass on a solution if it is better than the best one."""
        objective = self.instance.objective(solution)
        if objective < self.objective or (self.passes_equals and objective == self.objective):
            self.objective = objective
            self.progress.solution(solution)

    def bound(self, bound: Certificate | Claim) -> None:
        """Pass on a bound if it is better; a certificate has to beat certificates only."""
        if isinstance(bound, Certificate):
            if bound.bound > self.certified:
                self.certified = bound.bound
                self.progress.bound(bound)
        elif self.passes_claims and bound.bound > self.lower:
            self.claimed = bound.bound
            self.progress.bound(bound)
