"""`packing`: weights of nodes of which no stage holds more than one whole (see `packing`)."""

import math

from boundmark.bounds.best import Best
from boundmark.bounds.pipeline.packing.rising import report_rising_bounds
from boundmark.problems.method import Budget, Method, Progress
from boundmark.problems.pipeline import PipelineInstance


def run(instance: PipelineInstance, budget: Budget, seed: int, progress: Progress) -> None:
    """Report the share bound, then better ones until the time is up or weights do no better."""
    best = Best.before(instance, progress)
    below = int(best.objective) if math.isfinite(best.objective) else None
    known = int(best.certified) if math.isfinite(best.certified) else 0
    report_rising_bounds(instance, budget, best, METHOD.name, below=below, known=known)


METHOD = Method(
    name="packing",
    problem="pipeline",
    kind="bound",
    summary="Weights of which no stage holds more than one whole, as its connected parts show.",
    run=run,
)
