"""`tessel`: repetends one after another, each with its shortest period ([TESSEL24]).

This is Algorithm 1 as published; where the paper leaves something open, it is read as follows. A
repetend as long as all its blocks one after another is accepted, as there is none shorter on a
single device. The solver is only asked for repetends shorter than the best, which changes nothing
but the time. The number of micro-batches in a repetend is limited by `most_in_flight`.
"""

from collections.abc import Iterable, Iterator, Sequence

from boundmark.heuristics.microbatch.searches.completion import complete, shorten
from boundmark.heuristics.microbatch.searches.repetend import (
    assignments,
    most_in_flight,
    shortest_repetend,
)
from boundmark.heuristics.microbatch.searches.start_times import Find, OutOfTimeError, finder
from boundmark.problems.errors import InvalidInputError, UnsupportedError
from boundmark.problems.method import Budget, Progress
from boundmark.problems.microbatch import BlockLayout, MicrobatchInstance, Schedule
from boundmark.problems.microbatch.measures import makespan


def run(
    instance: MicrobatchInstance, budget: Budget, seed: int, progress: Progress, *,
    lazy: bool, largest_repetend: int, only_repetend: int, memory: str,
) -> None:  # fmt: skip
    """Report every schedule that is better than those before.

    Parameters
    ----------
    lazy
        Whether warm-up and cool-down are made short for the best repetend only (Section V).
    largest_repetend
        How many micro-batches a repetend may involve at most; 0 for as many as there is memory for.
    only_repetend
        How many micro-batches a repetend must involve, whatever the memory; 0 for any number, as in
        Algorithm 1.
    memory
        How Z3 is told what a device holds: ``"timeline"``, as published, or ``"pairs"``.
    """
    for name, value in (("largest_repetend", largest_repetend), ("only_repetend", only_repetend)):
        if value < 0:
            raise InvalidInputError(f"{name} is {value}; expected a number of micro-batches or 0.")
    layout, count = instance.layout, instance.micro_batches
    most = largest_repetend or most_in_flight(layout, instance.capacity)
    sizes = [only_repetend] if only_repetend else list(range(1, most + 1))
    if count:
        sizes = [size for size in sizes if size <= count]
    if not sizes:
        raise UnsupportedError(
            f"a repetend of {only_repetend} micro-batches is asked for; "
            f"expected at most the {count} of the instance."
        )
    find = finder(budget, seed, memory)
    shortest = None
    try:
        for schedule in search(layout, instance.capacity, sizes, find, lazy=lazy):
            length = makespan(layout, schedule.starts_for(count)) if count else None
            if length is None or shortest is None or length < shortest:
                shortest = length
                progress.solution(schedule)
    except OutOfTimeError:
        return


def search(
    layout: BlockLayout, capacity: Sequence[int], sizes: Iterable[int], find: Find, *, lazy: bool
) -> Iterator[Schedule]:
    """Yield schedules, each with a shorter period or a shorter warm-up and cool-down.

    Parameters
    ----------
    sizes
        Numbers of micro-batches in a repetend, in the order in which they are tried.
    """
    optimal = int(layout.durations.sum()) + 1
    lower_bound = max(layout.loads)
    best = None
    for members in (members for size in sizes for members in assignments(layout.dag, size)):
        repetend = shortest_repetend(layout, capacity, members, optimal - 1, find)
        if repetend is None:
            continue
        completion = complete(layout, capacity, repetend, find)
        if completion is None:
            continue
        optimal, best = repetend.period, completion
        yield best.schedule
        if not lazy:
            yield from shorten(best, find)
        if optimal == lower_bound:
            break
    if lazy and best is not None:
        yield from shorten(best, find)
