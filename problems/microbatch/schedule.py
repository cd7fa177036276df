"""Schedules of `microbatch`: when blocks start, constraints, earliest starts and measures.

The constraints are those of [TESSEL24], Equation 1. Measures beside the objective are bubble rates,
makespan and memory.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.json_documents import is_integer_list, is_integer_table
from boundmark.problems.labels import Naming
from boundmark.problems.microbatch.layout import BlockLayout
from boundmark.problems.problem import Row, SolutionTable

if TYPE_CHECKING:
    from boundmark.problems.microbatch.instance import MicrobatchInstance


# Methods and checkers keep an entry for every block of every micro-batch.
MOST_MICRO_BATCHES = 2**16

LONGEST_PERIOD = 2**44

# What comes later does not fit into 64 bits together with as many periods.
LATEST = 2**60


@dataclass(frozen=True, eq=False)
class Repetend:
    """The part of a schedule that repeats ([TESSEL24], Section III-C).

    Attributes
    ----------
    period
        Ticks from one repetition to the next.
    members
        For each block the micro-batch with which it is in the first repetition, shape (K,).
    """

    period: int
    members: IntArray

    def __post_init__(self) -> None:
        object.__setattr__(self, "members", frozen(self.members, "members"))
        if type(self.period) is not int or not 1 <= self.period <= LONGEST_PERIOD:
            raise InvalidInputError(
                f"period of the repetend is {self.period!r}; "
                f"expected an integer from 1 to {LONGEST_PERIOD}."
            )


@dataclass(frozen=True, eq=False)
class Schedule:
    """Start times, shape (N, K), and the repetend to repeat for more than N micro-batches.

    Block i of micro-batch m is part of the warm-up if m is before the repetend's member, and of the
    cool-down if it is after. One micro-batch more means one repetition more: the cool-down comes a
    period later, with micro-batch numbers higher by 1 ([TESSEL24], Section III-C).
    """

    starts: IntArray
    repetend: Repetend | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "starts", frozen(self.starts, "starts"))
        if self.starts.ndim != 2 or not self.starts.size:
            raise InvalidInputError(
                f"starts has the shape {self.starts.shape}; expected (micro-batches, blocks)."
            )
        if self.repetend is not None:
            members = self.repetend.members
            count, blocks = self.starts.shape
            if members.shape != (blocks,) or members.min() < 0 or members.max() >= count:
                raise InvalidInputError(
                    f"the repetend does not have one of the {count} micro-batches for each of the "
                    f"{blocks} blocks."
                )

    @property
    def micro_batches(self) -> int:
        """The least number of micro-batches that the schedule is for."""
        return len(self.starts)

    def starts_for(self, micro_batches: int) -> IntArray:
        """Return the start times for a number of micro-batches, shape (N, K).

        Raises
        ------
        InvalidInputError
            If there is no schedule for that number.
        """
        more = micro_batches - self.micro_batches
        if more == 0:
            return self.starts
        if self.repetend is None or more < 0:
            least = "exactly" if self.repetend is None else "at least"
            raise InvalidInputError(
                f"the schedule is for {least} {self.micro_batches} micro-batches; "
                f"expected one for {micro_batches}."
            )
        number = np.arange(micro_batches)[:, None]
        repetitions = np.clip(number - self.repetend.members, 0, more)
        blocks = np.arange(self.starts.shape[1])
        return frozen(
            self.starts[number - repetitions, blocks] + repetitions * self.repetend.period
        )

    def to_json(self) -> dict[str, Any]:
        """Return ``{"starts": [[...], ...], "repetend": {"period", "members"} or None}``."""
        return {
            "starts": self.starts.tolist(),
            "repetend": self.repetend
            and {"period": self.repetend.period, "members": self.repetend.members.tolist()},
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Schedule":
        """Read the JSON that `to_json` wrote."""
        starts, repetend = value.get("starts"), value.get("repetend")
        if not is_integer_table(starts) or not _is_in_time(starts):
            raise InvalidInputError("starts of the solution is not a table of integers up to 2^60.")
        if repetend is None:
            return cls(frozen(starts, "starts"))
        if (
            not isinstance(repetend, dict)
            or set(repetend) != {"period", "members"}
            or not is_integer_list(repetend["members"])
        ):
            raise InvalidInputError(
                "repetend of the solution is not a period and the members of the repetend."
            )
        members = frozen(repetend["members"], "members")
        return cls(frozen(starts, "starts"), Repetend(repetend["period"], members))


def _is_in_time(starts: Sequence[Sequence[int]]) -> bool:
    return all(abs(start) <= LATEST for row in starts for start in row)


def _schedule(rows: Sequence[Row], instance: "MicrobatchInstance") -> Schedule:
    """Return the schedule of start times; a table has no part that repeats."""
    nodes, count = instance.nodes, max(row[1] for row in rows) + 1
    if count > MOST_MICRO_BATCHES:
        raise InvalidInputError(
            f"micro-batch {count - 1} is named; expected numbers below {MOST_MICRO_BATCHES}."
        )
    if len(rows) < count * nodes:
        at = {(block, micro_batch) for block, micro_batch, _ in rows}
        for micro_batch in range(count):
            for block in range(nodes):
                if (block, micro_batch) not in at:
                    raise InvalidInputError(
                        f"block {block} of micro-batch {micro_batch} has no start; "
                        f"expected one for each block of micro-batches 0 to {count - 1}."
                    )
    starts = [[0] * nodes for _ in range(count)]
    for block, micro_batch, start in rows:
        starts[micro_batch][block] = start
    return Schedule(frozen(starts, "starts"))


def _rows(schedule: Schedule) -> Iterable[Row]:
    for micro_batch, starts in enumerate(schedule.starts.tolist()):
        for block, start in enumerate(starts):
            yield block, micro_batch, start


def _for_its_count(schedule: Schedule) -> tuple[Schedule, Mapping[str, int | str]]:
    """Return the schedule; one that does not repeat is for its own number of micro-batches."""
    return schedule, {} if schedule.repetend else {"micro_batches": schedule.micro_batches}


def _renamed(
    instance: "MicrobatchInstance", names: Sequence[str], tick: str
) -> "MicrobatchInstance":
    layout = instance.layout
    blocks = [replace(block, name=name) for block, name in zip(layout.blocks, names, strict=True)]
    edges = [(int(tail), int(head)) for tail, head in layout.dag.edge_pairs()]
    named = BlockLayout.from_blocks(blocks, edges, layout.devices)
    return replace(instance, layout=named)


TABLE = SolutionTable(
    columns=("block", "micro_batch", "start"),
    largest=LATEST,
    solution=_schedule,
    rows=_rows,
    implied=_for_its_count,
)

NAMING = Naming(
    names=lambda instance: [block.name for block in instance.layout.blocks], rename=_renamed
)


def steady_bubble_rate(layout: BlockLayout, period: int) -> Fraction:
    """Return the share of time that devices idle while a schedule repeats.

    It is the mean over the devices, "considering numerous micro-batches" ([TESSEL24], Table II).
    """
    return 1 - Fraction(sum(layout.loads), layout.devices * period)


def bubble_rate(layout: BlockLayout, starts: IntArray) -> Fraction:
    """Return the share of time that devices idle until the makespan of (N, K) start times."""
    return 1 - Fraction(sum(layout.loads) * len(starts), layout.devices * makespan(layout, starts))


def makespan(layout: BlockLayout, starts: IntArray) -> int:
    """Return when the last block ends, in ticks."""
    return int((starts + layout.durations).max())


def peak_memory(layout: BlockLayout, starts: IntArray) -> tuple[int, ...]:
    """Return the most memory that each device holds, shape (D,), with (N, K) start times."""
    peaks = []
    for members in layout.on_device:
        here = np.array(members, dtype=np.int64)
        order = np.argsort(starts[:, here].ravel(), kind="stable")
        held = np.cumsum(np.tile(layout.memory[here], len(starts))[order])
        peaks.append(max(0, int(held.max())) if len(held) else 0)
    return tuple(peaks)


# (micro-batch, block)
Job: TypeAlias = tuple[int, int]


def earliest_starts(layout: BlockLayout, jobs: Iterable[Job]) -> dict[Job, int]:
    """Return the earliest start of each job if the devices take up the jobs in this sequence."""
    producers = [layout.dag.producers_of(i).tolist() for i in range(layout.dag.nodes)]
    starts: dict[Job, int] = {}
    ends: dict[Job, int] = {}
    free = [0] * layout.devices
    for number, i in jobs:
        block = layout.blocks[i]
        inputs = (ends.get((number, producer), 0) for producer in producers[i])
        start = max(0, *inputs, *(free[device] for device in block.devices))
        starts[number, i] = start
        ends[number, i] = start + block.duration
        for device in block.devices:
            free[device] = start + block.duration
    return starts


def left_shifted(layout: BlockLayout, starts: IntArray) -> IntArray:
    """Return the earliest starts, shape (N, K), with the same order of blocks on each device.

    What a device holds depends on that order alone.
    """
    # What ends at a block's start began before it.
    sequence = np.argsort(starts, axis=None, kind="stable").tolist()
    earliest = earliest_starts(layout, (divmod(at, starts.shape[1]) for at in sequence))
    shifted = np.empty_like(starts)
    for job, start in earliest.items():
        shifted[job] = start
    return frozen(shifted)


# Starts, dependencies and devices to look at for one schedule, as many as the checker does at most.
MOST_STEPS = 2**26


def check_schedule(layout: BlockLayout, capacity: Sequence[int], starts: IntArray) -> None:
    """Check the start times of some micro-batches."""
    blocks = layout.blocks
    if starts.ndim != 2 or starts.shape[1] != len(blocks):
        raise InvalidInputError(
            f"the schedule has start times for {starts.shape[-1]} blocks; expected {len(blocks)}."
        )
    if starts.min() < 0:
        raise InvalidInputError(f"a block starts at {starts.min()}; expected no start before 0.")
    ends = starts + layout.durations
    sources, targets = layout.dag.sources, layout.dag.targets
    early = np.argwhere(starts[:, targets] < ends[:, sources])
    if len(early):
        number, edge = early[0]
        raise InvalidInputError(
            f"block {blocks[targets[edge]].name!r} of micro-batch {number} starts at "
            f"{starts[number, targets[edge]]}; expected the end of block "
            f"{blocks[sources[edge]].name!r} first, at {ends[number, sources[edge]]}."
        )
    for device, members in enumerate(layout.on_device):
        if not members:
            continue
        here = np.array(members)
        when = starts[:, here].ravel()
        order = np.argsort(when, kind="stable")
        free = ends[:, here].ravel()[order]
        overlapping = np.flatnonzero(when[order][1:] < free[:-1])
        if len(overlapping):
            first, second = order[overlapping[0] : overlapping[0] + 2]
            names = [
                f"{blocks[here[at % len(here)]].name!r} of micro-batch {at // len(here)}"
                for at in (first, second)
            ]
            raise InvalidInputError(
                f"device {device} runs {names[0]} and {names[1]} at once, from "
                f"{when[second]}; expected one block at a time."
            )
        held = np.cumsum(np.tile(layout.memory[here], len(starts))[order])
        if held.max() > capacity[device]:
            at = int(held.argmax())
            raise InvalidInputError(
                f"device {device} holds {held[at]} from {when[order[at]]} on; "
                f"expected at most {capacity[device]}."
            )


def check_for_every_count(layout: BlockLayout, capacity: Sequence[int], schedule: Schedule) -> None:
    """Check a schedule with a repetend for its own number of micro-batches and any larger one."""
    counts = counts_that_decide(layout, schedule)
    each = 1 + len(layout.blocks) + layout.dag.edges + 3 * sum(map(len, layout.on_device))
    # `len` knows no range beyond 64 bits.
    numbers = counts.stop - counts.start
    steps = numbers * layout.devices + each * numbers * (counts.start + counts.stop - 1) // 2
    if steps > MOST_STEPS:
        raise InvalidInputError(
            f"the schedule has to be checked for up to {counts.stop - 1} micro-batches, since it "
            f"lasts for so many periods, which takes more than {MOST_STEPS:,} steps; "
            "expected a shorter one."
        )
    for count in counts:
        check_schedule(layout, capacity, schedule.starts_for(count))


def counts_that_decide(layout: BlockLayout, schedule: Schedule) -> range:
    """Return numbers of micro-batches that decide whether a schedule is feasible for any number.

    With r repetitions more, the warm-up is over before the last repetition starts if r periods are
    longer than the schedule, T. From then on, one repetition more brings no pair of blocks as close
    as they have not been before, and every pair that depends on each other has been seen once r is
    at least the number of micro-batches. Between the end of the warm-up and the start of the
    cool-down, a device holds the same one period later, since micro-batches release what they
    allocate; r >= T / period + 2 leaves a whole period between.
    """
    if schedule.repetend is None:
        return range(schedule.micro_batches, schedule.micro_batches + 1)
    if schedule.starts.shape[1] != len(layout.blocks):
        raise InvalidInputError(
            f"the schedule has start times for {schedule.starts.shape[1]} blocks; "
            f"expected {len(layout.blocks)}."
        )
    length = makespan(layout, schedule.starts)
    more = max(schedule.micro_batches, -(-length // schedule.repetend.period) + 2)
    return range(schedule.micro_batches, schedule.micro_batches + more + 1)
