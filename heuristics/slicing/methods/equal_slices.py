"""`equal-slices`: every operator in equal parts on all devices."""

from typing import Any

import numpy as np

from boundmark.heuristics.slicing.plans.incumbent import Incumbent
from boundmark.heuristics.slicing.plans.simple import divided, shares_pattern
from boundmark.problems.method import Budget, Progress
from boundmark.problems.slicing import SlicingInstance


def run(
    instance: SlicingInstance, budget: Budget, seed: int, progress: Progress, **params: Any
) -> None:
    """Report the plan."""
    pattern = shares_pattern(np.ones(instance.graph.devices))
    Incumbent(instance, progress).require(divided(instance, pattern), "a division in equal parts")
