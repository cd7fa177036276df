"""`packing`: weights of nodes of which no stage holds more than one whole (see `packing`)."""

import math

from boundmark.bounds.best import Best
from boundmark.bounds.pipeline.mip.quick_slicing import quick_partition
from boundmark.bounds.pipeline.packing.rising import report_rising_bounds
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.method import Budget, Progress
from boundmark.problems.pipeline import PipelineInstance

# Of the time, at most, for a partition to learn from.
START_FRACTION = 0.03


def run(
    instance: PipelineInstance,
    budget: Budget,
    seed: int,
    progress: Progress,
    *,
    precision: float = 0.0,
) -> None:
    """Report the share bound, then better ones until the time is up or weights do no better.

    Parameters
    ----------
    precision
        How far the last bound may stay below what weights prove, as a part of it. Proofs of the
        last percent take most of the time.

    Raises
    ------
    InvalidInputError
        If the precision is negative.
    UnsupportedError
        If the graph is too large to check, or each proof is.
    """
    if not precision >= 0:
        raise InvalidInputError(f"packing: precision is {precision}; expected 0 or more.")
    best = Best.before(instance, progress)
    known = int(best.certified) if math.isfinite(best.certified) else 0
    start = quick_partition(instance, seed, budget.part(START_FRACTION), known)
    below = int(min(best.objective, instance.objective(start)))
    report_rising_bounds(
        instance, budget, best, "packing",
        below=below, known=known, start=start, precision=precision,
    )  # fmt: skip
