"""An instance of `microbatch`: a layout, memory capacities, and maybe a number of micro-batches."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from boundmark.problems.dag import Dag
from boundmark.problems.errors import InvalidInputError, quoted
from boundmark.problems.json_documents import (
    check_edges,
    is_integer_list,
)
from boundmark.problems.microbatch.layout import Block, BlockLayout
from boundmark.problems.microbatch.schedule import (
    MOST_MICRO_BATCHES,
    Schedule,
    check_for_every_count,
    check_schedule,
    makespan,
)
from boundmark.problems.stored_instance import StoredInstance
from boundmark.problems.ticks import LARGEST_TOTAL

FIELDS = (
    "micro_batches", "capacity", "duration", "memory", "device_sets", "kinds", "edges",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class MicrobatchInstance(StoredInstance):
    """Schedule the blocks of N micro-batches on devices ([TESSEL24], Equation 1).

    Minimise::

        max over i, m of start(i, m) + duration(i)               for a given N
        P, where start(i, m + 1) = start(i, m) + P for all i     for any N

    over a start for each block i of each micro-batch m. A block starts when the blocks that it
    depends on have ended. It occupies all its devices, and a device runs one block at a time. From
    its start on, a block takes or releases memory on its devices, which never hold more than their
    capacity. For any N, the period P holds between a warm-up and a cool-down.

    Attributes
    ----------
    layout
        The blocks of a micro-batch, and their dependencies.
    capacity
        Memory of each device, shape (D,); counted from the starts of blocks, as in [TESSEL24],
        Equation 1, constraint [2].
    micro_batches
        N if the makespan of N micro-batches is minimised; 0 if the period is, in which a schedule
        for any number of micro-batches repeats.
    """

    problem: ClassVar[str] = "microbatch"

    layout: BlockLayout
    capacity: tuple[int, ...]
    micro_batches: int = 0

    def __post_init__(self) -> None:
        layout = self.layout
        if len(self.capacity) != layout.devices:
            raise InvalidInputError(
                f"capacity has {len(self.capacity)} values; "
                f"expected one for each of the {layout.devices} devices."
            )
        for device, capacity in enumerate(self.capacity):
            if type(capacity) is not int or not 0 <= capacity < LARGEST_TOTAL:
                raise InvalidInputError(
                    f"capacity of device {device} is {capacity!r}; "
                    "expected a non-negative integer below 2^53."
                )
        if type(self.micro_batches) is not int or not 0 <= self.micro_batches <= MOST_MICRO_BATCHES:
            raise InvalidInputError(
                f"micro_batches is {self.micro_batches!r}; "
                f"expected 0, for the period, or up to {MOST_MICRO_BATCHES}."
            )
        # As long as everything one after another; what devices hold is limited by the capacity.
        total = sum(block.duration for block in layout.blocks) * max(1, self.micro_batches)
        if total > LARGEST_TOTAL:
            raise InvalidInputError(
                f"the blocks of {self.micro_batches} micro-batches take {total:.3g} ticks; "
                "expected at most 2^53, so use a coarser tick or fewer micro-batches."
            )
        for block in layout.blocks:
            for device in block.devices:
                if block.memory > self.capacity[device]:
                    raise InvalidInputError(
                        f"block {block.name!r} needs {block.memory} of memory on device {device}, "
                        f"which has {self.capacity[device]}; expected a block that fits."
                    )

    @classmethod
    def of(
        cls, layout: BlockLayout, *, memory: int = 0, micro_batches: int = 0
    ) -> "MicrobatchInstance":
        """Build an instance whose devices have equal memory, less what the layout holds.

        If 0 is given, it is the memory that the layout says, or 2 D.

        Raises
        ------
        InvalidInputError
            If a device holds more than its memory, or has no room for a block.
        """
        each = memory or layout.memory_per_device or 2 * layout.devices
        held = layout.held or (0,) * layout.devices
        for device, amount in enumerate(held):
            if amount > each:
                raise InvalidInputError(
                    f"weights on device {device} take {amount} of memory; "
                    f"expected at most the {each} that it has."
                )
        return cls(layout, tuple(each - amount for amount in held), micro_batches)

    @property
    def dag(self) -> Dag:
        """The blocks of a micro-batch, and which wait for which."""
        return self.layout.dag

    @property
    def parameters(self) -> dict[str, int]:
        """The largest capacity of a device, and the number of micro-batches unless it is open."""
        held = self.layout.held or (0,) * self.layout.devices
        parameters = {"memory": max(map(sum, zip(self.capacity, held, strict=True)))}
        if self.micro_batches:
            parameters["micro_batches"] = self.micro_batches
        return parameters

    def with_parameters(self, given: Mapping[str, Any]) -> "MicrobatchInstance":
        """Return the instance with another memory or number of micro-batches, as given."""
        memory = given.get("memory")
        return MicrobatchInstance(
            self.layout,
            self.capacity if memory is None else self.of(self.layout, memory=memory).capacity,
            given.get("micro_batches", self.micro_batches),
        )

    def objective(self, solution: Schedule) -> int:
        """Return the period, or the makespan of N micro-batches, in ticks.

        Raises
        ------
        InvalidInputError
            If the schedule breaks a constraint, for any number of micro-batches if N is open.
        """
        if self.micro_batches:
            starts = solution.starts_for(self.micro_batches)
            check_schedule(self.layout, self.capacity, starts)
            return makespan(self.layout, starts)
        if solution.repetend is None:
            raise InvalidInputError(
                "the schedule has no repetend; expected one, since the number of micro-batches "
                "is open."
            )
        check_for_every_count(self.layout, self.capacity, solution)
        return solution.repetend.period

    def fields(self) -> dict[str, Any]:
        """Return all that the optimum depends on, as integers and texts."""
        layout = self.layout
        return {
            "micro_batches": self.micro_batches,
            "capacity": list(self.capacity),
            "duration": layout.durations.tolist(),
            "memory": layout.memory.tolist(),
            "device_sets": [list(block.devices) for block in layout.blocks],
            "kinds": [block.kind for block in layout.blocks],
            "edges": layout.dag.edge_pairs().tolist(),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "MicrobatchInstance":
        """Read the JSON that `to_json` wrote; blocks get their numbers as names."""
        cls.check_head(value, FIELDS, FIELDS[1:])
        columns = [value[field] for field in ("kinds", "duration", "memory", "device_sets")]
        if len({len(column) for column in columns}) != 1:
            raise InvalidInputError(
                "kinds, duration, memory and device_sets differ in length; "
                "expected one entry per block in each."
            )
        for devices in value["device_sets"]:
            if not is_integer_list(devices) or sorted(set(devices)) != devices:
                raise InvalidInputError(
                    f"device_sets has {quoted(devices)}; expected ascending device numbers."
                )
        check_edges(value["edges"], "block numbers")
        blocks = [
            Block(str(number), kind, duration, memory, tuple(devices))
            for number, (kind, duration, memory, devices) in enumerate(zip(*columns, strict=True))
        ]
        layout = BlockLayout.from_blocks(blocks, value["edges"], len(value["capacity"]))
        return cls(layout, tuple(value["capacity"]), value["micro_batches"])
