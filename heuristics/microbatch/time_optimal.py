"""`time-optimal`: search all blocks of all micro-batches at once (TO of [TESSEL24], VI-B)."""

import numpy as np

from boundmark.heuristics.microbatch.phase import Phase
from boundmark.heuristics.microbatch.start_times import OutOfTimeError, finder
from boundmark.problems.arrays import frozen
from boundmark.problems.certificate import Claim
from boundmark.problems.errors import InvalidInputError, UnsupportedError
from boundmark.problems.method import Budget, Progress
from boundmark.problems.microbatch import MicrobatchInstance, Schedule
from boundmark.problems.microbatch.measures import peak_memory


def run(
    instance: MicrobatchInstance, budget: Budget, seed: int, progress: Progress, *, memory: str
) -> None:
    """Bisect over makespans: report schedules that Z3 finds, and claim bounds that it refutes.

    Parameters
    ----------
    memory
        How Z3 is told what a device holds: ``"timeline"``, as published, or ``"pairs"``.

    Raises
    ------
    UnsupportedError
        If the number of micro-batches is open.
    """
    if not instance.micro_batches:
        raise UnsupportedError(
            "micro_batches is 0, which leaves their number open; expected a number of them."
        )
    phase = Phase.whole(instance.layout, instance.capacity, instance.micro_batches)
    find = finder(budget, seed, memory)
    shape = (instance.micro_batches, instance.nodes)
    progress.bound(Claim("time-optimal", phase.least_makespan))
    try:
        starts = _start_one_after_another(instance, phase) or phase.any_starts(find)
        if starts is None:
            raise InvalidInputError("no schedule fits into the memory; expected more memory.")
        progress.solution(Schedule(frozen(np.reshape(starts, shape))))
        shortest = phase.makespan(starts)
        least = phase.least_makespan
        for better, bound in phase.improve(starts, find):
            if (length := phase.makespan(better)) < shortest:
                shortest = length
                progress.solution(Schedule(frozen(np.reshape(better, shape))))
            if bound > least:
                least = bound
                progress.bound(Claim("time-optimal", bound))
    except OutOfTimeError:
        return


def _start_one_after_another(instance: MicrobatchInstance, phase: Phase) -> list[int] | None:
    """Return the start times if the blocks run in topological order, None if they do not fit."""
    positions = np.argsort(instance.layout.dag.topological_order)
    starts = phase.earliest(
        [number * instance.nodes + int(positions[i]) for number, i in phase.jobs]
    )
    table = np.reshape(starts, (instance.micro_batches, instance.nodes))
    peaks = peak_memory(instance.layout, table)
    fits = all(peak <= room for peak, room in zip(peaks, instance.capacity, strict=True))
    return starts if fits else None
