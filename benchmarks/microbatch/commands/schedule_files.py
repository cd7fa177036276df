"""Reads the schedules of `simulate` and `execute`, for a number of micro-batches."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from boundmark.problems.arrays import IntArray
    from boundmark.problems.microbatch import BlockLayout


def read_schedule(
    instance: Path, solution: Path, micro_batches: int | None
) -> "tuple[BlockLayout, IntArray]":
    """Return a layout, and the start times of a number of micro-batches, shape (N, K).

    Parameters
    ----------
    micro_batches
        None for as many as the instance asks for, or else as few as the schedule is for.

    Raises
    ------
    InvalidInputError
        If the files do not hold these, or the schedule breaks a constraint.
    """
    from boundmark.benchmarks.stored import load_instance, load_solution
    from boundmark.problems.microbatch import MicrobatchInstance, Schedule
    from boundmark.problems.microbatch.feasibility import check_schedule

    found = load_instance(instance, MicrobatchInstance)
    schedule = load_solution(solution, "microbatch", found.sha256)
    assert isinstance(schedule, Schedule)
    count = micro_batches or found.micro_batches or schedule.micro_batches
    starts = schedule.starts_for(count)
    check_schedule(found.layout, found.capacity, starts)
    return found.layout, starts
