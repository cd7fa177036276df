"""Warm-up and cool-down around a repetend ([TESSEL24], Section IV-C)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from boundmark.heuristics.microbatch.searches.concatenation import concatenate
from boundmark.heuristics.microbatch.searches.phase import Phase
from boundmark.heuristics.microbatch.searches.repetend import TimedRepetend
from boundmark.heuristics.microbatch.searches.start_times import Find
from boundmark.problems.microbatch import BlockLayout, Schedule
from boundmark.problems.microbatch.measures import makespan


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
        """The three parts, put together."""
        return concatenate(
            self.layout,
            self.repetend,
            self.warm_up.by_job(self.warm_up_starts),
            self.cool_down.by_job(self.cool_down_starts),
        )


def complete(
    layout: BlockLayout, capacity: Sequence[int], repetend: TimedRepetend, find: Find
) -> Completion | None:
    """Return a completion by one satisfiability check per phase, None if there is none."""
    warm_up = Phase.warm_up(layout, capacity, repetend.members)
    warm_up_starts = warm_up.any_starts(find)
    if warm_up_starts is None:
        return None
    cool_down = Phase.cool_down(layout, capacity, repetend.members)
    cool_down_starts = cool_down.any_starts(find)
    if cool_down_starts is None:
        return None
    return Completion(layout, repetend, warm_up, cool_down, warm_up_starts, cool_down_starts)


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
