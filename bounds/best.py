"""Keeps the best that a method has found so far, and hands on only what is better."""

import math
from dataclasses import dataclass
from typing import Any

from boundmark.problems.certificate import Certificate, Claim
from boundmark.problems.method import Progress
from boundmark.problems.problem import Instance


@dataclass
class Best:
    """Stands before a `Progress`, and knows the best solution's cost and the best bounds.

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
        """Return the receiver itself if it is one, so that what it knows is known here."""
        return progress if isinstance(progress, cls) else cls(instance, progress)

    @property
    def lower(self) -> float:
        """The best bound, certified or claimed."""
        return max(self.certified, self.claimed)

    @property
    def is_proven(self) -> bool:
        """Whether no solution can be better than the best one."""
        return self.objective <= self.lower

    def solution(self, solution: Any) -> None:
        """Take a solution.

        Raises
        ------
        InvalidInputError
            If the solution breaks a constraint.
        """
        objective = self.instance.objective(solution)
        if objective < self.objective or (self.passes_equals and objective == self.objective):
            self.objective = objective
            self.progress.solution(solution)

    def bound(self, bound: Certificate | Claim) -> None:
        """Take a bound; a certificate has to beat certificates only."""
        if isinstance(bound, Certificate):
            if bound.bound > self.certified:
                self.certified = bound.bound
                self.progress.bound(bound)
        elif self.passes_claims and bound.bound > self.lower:
            self.claimed = bound.bound
            self.progress.bound(bound)
