"""Schedules by the names of blocks: what a table of start times says, and for how many."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from boundmark.problems.arrays import frozen
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.labels import Naming
from boundmark.problems.microbatch.instance import MOST_MICRO_BATCHES, MicrobatchInstance
from boundmark.problems.microbatch.layout import BlockLayout
from boundmark.problems.microbatch.schedule import LATEST, Schedule
from boundmark.problems.solution_table import Row, SolutionTable


def _schedule(rows: Sequence[Row], instance: MicrobatchInstance) -> Schedule:
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


def _renamed(instance: MicrobatchInstance, names: Sequence[str], tick: str) -> MicrobatchInstance:
    layout = instance.layout
    blocks = [replace(block, name=name) for block, name in zip(layout.blocks, names, strict=True)]
    edges = [(int(tail), int(head)) for tail, head in layout.dag.edge_pairs()]
    named = BlockLayout.from_blocks(blocks, edges, layout.devices)
    return MicrobatchInstance(named, instance.capacity, instance.micro_batches)


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
