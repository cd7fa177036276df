"""`packing`: weights of nodes of which no stage holds more than one whole (see `packing`)."""

from typing import Any

from boundmark.bounds.pipeline.packing.rising import report_rising_bounds
from boundmark.problems.method import Budget, Method, Progress
from boundmark.problems.pipeline import PipelineInstance


def run(
    instance: PipelineInstance, budget: Budget, seed: int, progress: Progress, **params: Any
) -> None:
    """Report the share bound, then better ones until the time is up or weights do no better."""
    report_rising_bounds(instance, budget, progress, METHOD.name)


METHOD = Method(
    name="packing",
    problem="pipeline",
    kind="bound",
    summary="Weights of which no stage holds more than one whole, as its connected parts show.",
    run=run,
)
