"""A solution of `microbatch`: when each block of each micro-batch starts."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

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
        """Read the JSON that `to_json` wrote.

        Raises
        ------
        InvalidInputError
            If a field is missing or malformed.
        """
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
