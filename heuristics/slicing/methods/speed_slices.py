"""`speed-slices`: every operator on all devices, in parts proportional to their speeds."""

from typing import Any

from boundmark.heuristics.slicing.plans.incumbent import Incumbent
from boundmark.heuristics.slicing.plans.simple import divided, shares_pattern, speeds
from boundmark.problems.method import Budget, Progress
from boundmark.problems.slicing import SlicingInstance


def run(
    instance: SlicingInstance, budget: Budget, seed: int, progress: Progress, **params: Any
) -> None:
    """Report the plan."""
    vectors = divided(instance, shares_pattern(speeds(instance)))
    Incumbent(instance, progress).require(vectors, "a division by speeds")
