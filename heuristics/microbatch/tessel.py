"""`tessel`: repetends of more and more micro-batches, then their ends ([TESSEL24]).

This is Algorithm 1 with two departures. The repetends of a number of micro-batches are not
enumerated and handed to Z3 one by one, but searched for in a tree that decides micro-batches and
orders block by block and leaves out what cannot have a shorter period than the best
(`repetend.search`). And their number is not limited by what one allocation allows: blocks
that keep nothing may be further apart than those that do.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from boundmark.heuristics.microbatch.repetend import RepetendSearch, TimedRepetend, longest_path
from boundmark.heuristics.microbatch.time_optimal import Find, OutOfTimeError, Phase, Starts, finder
from boundmark.problems.arrays import frozen
from boundmark.problems.errors import InvalidInputError, UnsupportedError
from boundmark.problems.method import Budget, Progress
from boundmark.problems.microbatch import BlockLayout, MicrobatchInstance, Repetend, Schedule
from boundmark.problems.microbatch.schedule import makespan


def run(
    instance: MicrobatchInstance, budget: Budget, seed: int, progress: Progress, *,
    lazy: bool, largest_repetend: int, only_repetend: int, memory: str,
) -> None:  # fmt: skip
    """Report each schedule that is better than the last one.

    Parameters
    ----------
    lazy
        Whether warm-up and cool-down are made short for the best repetend only (Section V).
    largest_repetend
        How many micro-batches a repetend may involve at most; 0 for as many as there are blocks on
        the longest path, with which each can run a repetition later than what it waits for.
    only_repetend
        How many micro-batches a repetend must involve; 0 for any number, as in Algorithm 1.
    memory
        How Z3 is told what a device holds: ``"timeline"``, as published, or ``"pairs"``.
    """
    for name, value in (("largest_repetend", largest_repetend), ("only_repetend", only_repetend)):
        if value < 0:
            raise InvalidInputError(f"{name} is {value}; expected a number of micro-batches or 0.")
    layout, count = instance.layout, instance.micro_batches
    most = largest_repetend or longest_path(layout.dag)
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
        for schedule in search(instance, sizes, budget, find, lazy=lazy):
            length = makespan(layout, schedule.starts_for(count)) if count else None
            if length is None or shortest is None or length < shortest:
                shortest = length
                progress.solution(schedule)
    except OutOfTimeError:
        return


def search(
    instance: MicrobatchInstance, sizes: Iterable[int], budget: Budget, find: Find, *,
    lazy: bool,
) -> Iterator[Schedule]:  # fmt: skip
    """Yield schedules, each with a shorter period or a shorter warm-up and cool-down."""
    best = None
    for repetend in shorter_repetends(instance, sizes, budget):
        completion = complete(instance.layout, instance.capacity, repetend, find)
        if completion is not None:
            best = completion
            yield best.schedule
            if not lazy:
                yield from shorten(best, find)
    if lazy and best is not None:
        yield from shorten(best, find)


def shorter_repetends(
    instance: MicrobatchInstance, sizes: Iterable[int], budget: Budget
) -> Iterator[TimedRepetend]:
    """Yield repetends with ever shorter periods.

    A number of micro-batches is asked for the load of a device, below which there is nothing, then
    for less than the best period, since most have none; then follows bisection (Section V). A
    number that was refuted is not asked again. When all numbers have had their first searches,
    those that are still undecided get longer ones.
    """
    shortest = max(instance.layout.loads)
    best = int(instance.layout.durations.sum()) + 1
    # Decisions of the first searches, thousands of which take a few milliseconds; how many times as
    # many the next ones get; and after how many nothing more is tried.
    steps, growth, most_steps = 1_000, 8, 1_000_000
    # The first bisections end when what is left between the bounds is this part of the period.
    precision = 1 / 64
    left = list(sizes)
    searcher = RepetendSearch(instance.layout, instance.capacity)
    while left and best > shortest and steps <= most_steps:
        undecided = []
        for size in left:
            least, period, is_refuted, is_first = shortest, shortest, False, True
            while period < best:
                if budget.is_spent():
                    raise OutOfTimeError
                verdict, repetend = searcher.find(size, period, steps)
                if repetend is None:
                    is_refuted = verdict == "refuted" and period == best - 1
                    least = period + 1
                else:
                    best = repetend.period
                    yield repetend
                if best - least <= precision * best:
                    break
                period = best - 1 if is_first else (least + best - 1) // 2
                is_first = False
            if not is_refuted:
                undecided.append(size)
        left, steps, precision = undecided, steps * growth, 0.0


@dataclass(frozen=True)
class Completion:
    """A repetend with start times of the blocks before and after it."""

    layout: BlockLayout
    repetend: TimedRepetend
    warm_up: Phase
    cool_down: Phase
    warm_up_starts: list[int]
    cool_down_starts: list[int]

    @property
    def schedule(self) -> Schedule:
        """The schedule of all three parts."""
        return concatenate(
            self.layout,
            self.repetend,
            self.warm_up.by_job(self.warm_up_starts),
            self.cool_down.by_job(self.cool_down_starts),
        )


def complete(
    layout: BlockLayout, capacity: Sequence[int], repetend: TimedRepetend, find: Find
) -> Completion | None:
    """Return a completion, None if there is none.

    What comes before and after are repetitions too, of which the micro-batches that there are not
    are left out; where that does not fit into memory, Z3 is asked.
    """
    warm_up = Phase.warm_up(layout, capacity, repetend.members)
    warm_up_starts = _repeated(warm_up, repetend) or warm_up.any_starts(find)
    if warm_up_starts is None:
        return None
    cool_down = Phase.cool_down(layout, capacity, repetend.members)
    cool_down_starts = _repeated(cool_down, repetend) or cool_down.any_starts(find)
    if cool_down_starts is None:
        return None
    return Completion(layout, repetend, warm_up, cool_down, warm_up_starts, cool_down_starts)


def _repeated(phase: Phase, repetend: TimedRepetend) -> list[int] | None:
    """Return the starts of a phase's jobs in the repetitions before or after the repetend."""
    starts = phase.earliest(
        [
            repetend.starts[i] + (number - repetend.members[i]) * repetend.period
            for number, i in phase.jobs
        ]
    )
    return starts if phase.fits(starts) else None


def shorten(completion: Completion, find: Find) -> Iterator[Schedule]:
    """Yield shorter and shorter schedules until both phases are time-optimal on their own."""
    warm_up, cool_down = completion.warm_up, completion.cool_down
    shortest = _length(completion)

    def completions() -> Iterator[Completion]:
        last = completion
        for starts, _ in warm_up.improve(completion.warm_up_starts, find):
            last = replace(completion, warm_up_starts=starts)
            yield last
        for starts, _ in cool_down.improve(completion.cool_down_starts, find):
            yield replace(last, cool_down_starts=starts)

    for better in completions():
        if (length := _length(better)) < shortest:
            shortest = length
            yield better.schedule


def _length(completion: Completion) -> int:
    return makespan(completion.layout, completion.schedule.starts)


def concatenate(
    layout: BlockLayout, repetend: TimedRepetend, warm_up: Starts, cool_down: Starts
) -> Schedule:
    """Return a schedule for as many micro-batches as the repetend has, or any number more.

    Each part comes as early as the one before allows, as repetitions do (Figure 6b): a device runs
    its blocks of one part after the other, and no block starts before what it waits for is done.
    """
    members, period = repetend.members, repetend.period
    begin = _begin_of_repetend(layout, repetend, warm_up)
    shift = _begin_of_cool_down(layout, repetend, warm_up, cool_down, begin)
    starts = np.empty((max(members) + 1, len(members)), dtype=np.int64)
    for (number, i), start in warm_up.items():
        starts[number, i] = start
    for i, member in enumerate(members):
        starts[member, i] = begin + repetend.starts[i]
    for (number, i), start in cool_down.items():
        starts[number, i] = shift + start
    return Schedule(frozen(starts), Repetend(period, frozen(members)))


def _begin_of_repetend(layout: BlockLayout, repetend: TimedRepetend, warm_up: Starts) -> int:
    blocks, members = layout.blocks, repetend.members
    begins = [0]
    for here in layout.on_device:
        ends = [start + blocks[i].duration for (_, i), start in warm_up.items() if i in here]
        if ends:
            begins.append(max(ends) - min(repetend.starts[i] for i in here))
    for i, j in layout.dag.edge_pairs().tolist():
        # Repetition number - members[j] has block j of the micro-batch.
        for number in range(members[j], members[i]):
            end = warm_up[number, i] + blocks[i].duration
            begins.append(end - repetend.starts[j] - (number - members[j]) * repetend.period)
    return max(begins)


def _begin_of_cool_down(
    layout: BlockLayout, repetend: TimedRepetend, warm_up: Starts, cool_down: Starts, begin: int
) -> int:
    blocks, members = layout.blocks, repetend.members
    ends_of_repetend = [
        begin + start + block.duration for start, block in zip(repetend.starts, blocks, strict=True)
    ]
    begins = [0]
    for here in layout.on_device:
        starts = [start for (_, i), start in cool_down.items() if i in here]
        if starts:
            begins.append(max(ends_of_repetend[i] for i in here) - min(starts))
    for i, j in layout.dag.edge_pairs().tolist():
        for number in range(members[j] + 1, members[i] + 1):
            start = cool_down[number, j]
            back = members[i] - number
            begins.append(ends_of_repetend[i] - back * repetend.period - start)
            # With up to that many repetitions more, the warm-up still has what is waited for.
            for more in range(back):
                end = warm_up[number + more, i] + blocks[i].duration
                begins.append(end - more * repetend.period - start)
    return max(begins)
