"""`layer-pipeline`: whole operators, a run of them on each device, as a pipeline has its stages."""

from typing import Any

from boundmark.heuristics.slicing.plans.incumbent import Incumbent
from boundmark.heuristics.slicing.plans.simple import layers
from boundmark.problems.method import Budget, Progress
from boundmark.problems.slicing import SlicingInstance


def run(
    instance: SlicingInstance, budget: Budget, seed: int, progress: Progress, **params: Any
) -> None:
    """Report the plan; it needs the least memory, and never computes on two devices at once."""
    Incumbent(instance, progress).require(layers(instance), "a run of whole operators per device")
