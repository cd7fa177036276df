"""`certify`: the cheap bounds, then the exact method for narrow graphs, then branch and bound.

Only what is better than everything before is reported, and branch and bound is not begun once the
best bound is the cost of the best partition.
"""

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from boundmark.bounds.pipeline import ideal_dp, mip_tree, share
from boundmark.problems.certificate import Certificate, Claim
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import Budget, Method, Progress
from boundmark.problems.pipeline import PipelineInstance

# Of the time, at most, for the dynamic program: where it applies, it usually takes far less.
IDEALS_FRACTION = 0.5


@dataclass
class _Best:
    """Hands on improvements, and knows whether they have met."""

    instance: PipelineInstance
    progress: Progress
    objective: int | None = None
    certified: int = -1

    @property
    def is_proven(self) -> bool:
        return self.objective == self.certified

    def solution(self, solution: Any) -> None:
        objective = self.instance.objective(solution)
        if self.objective is None or objective < self.objective:
            self.objective = objective
            self.progress.solution(solution)

    def bound(self, bound: Certificate | Claim) -> None:
        # What is only claimed is not what this method is for.
        if isinstance(bound, Certificate) and bound.bound > self.certified:
            self.certified = bound.bound
            self.progress.bound(bound)


def run(
    instance: PipelineInstance, budget: Budget, seed: int, progress: Progress, *, ideals: int
) -> None:
    """Report certificates, and partitions where the dynamic program finds them."""
    best = _Best(instance, progress)
    share.run(instance, budget, seed, best)
    part = Budget(IDEALS_FRACTION * budget.remaining(), budget.memory_bytes, budget.threads)
    # Too many down-sets, or a graph beyond the checker's limits: what came before stands.
    with suppress(UnsupportedError):
        ideal_dp.run(instance, part, seed, best, ideals=ideals)
    if not best.is_proven:
        with suppress(UnsupportedError):
            mip_tree.run(instance, budget, seed, best)


METHOD = Method(
    name="certify",
    problem="pipeline",
    kind="bound",
    summary="The best certificate in the time given: share, then ideal-dp, then mip-tree.",
    run=run,
    params={"ideals": 20_000},
)
