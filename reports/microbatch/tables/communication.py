"""Times of schedules when tensors need time to travel (the form of [TESSEL24], Figure 17)."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import pandas as pd

from boundmark.problems.microbatch import Block, BlockLayout, MicrobatchInstance, Schedule
from boundmark.problems.microbatch.measures import makespan
from boundmark.problems.microbatch.runtime.lowering import program_of
from boundmark.problems.microbatch.runtime.simulation import simulate
from boundmark.reports.microbatch.stored_schedules import Pair
from boundmark.reports.tables.rows import rows

# A transfer as a part of the shortest block.
TRANSFERS = (Fraction(1, 4), Fraction(1, 2), Fraction(1))

# Enough for the steady state to count.
LEAST_MICRO_BATCHES = 32

COLUMNS = [
    "dataset",
    "instance",
    "parameters",
    "instance_sha256",
    "method",
    "micro_batches",
    "transfer",
    "blocking",
    "non_blocking",
]


def communication_table(chosen: pd.DataFrame, drawn: Mapping[str, Pair]) -> pd.DataFrame:
    """Return how much longer schedules take with transfers, as instruction lists would.

    Parameters
    ----------
    chosen
        Rows of `best_schedules`; makespans are left out.
    drawn
        Instance and schedule by instance hash.

    Returns
    -------
    pandas.DataFrame
        Columns of the schedules; `micro_batches` simulated; `transfer`, as a part of the shortest
        block; `blocking` and `non_blocking`, the simulated makespan over that of the schedule,
        where transfers take no time.
    """
    found = []
    for row in rows(chosen[chosen["micro_batches"] == 0]):
        if row.instance_sha256 in drawn:
            instance, schedule = drawn[row.instance_sha256]
            found += [(row, *line) for line in _simulated(instance, schedule)]
    return pd.DataFrame([_line(*line) for line in found], columns=COLUMNS)


def _line(row: Any, count: int, transfer: Fraction, *ratios: float) -> tuple[Any, ...]:
    where = (row.dataset, row.instance, row.parameters, row.instance_sha256, row.method)
    return (*where, count, float(transfer), *ratios)


def _simulated(
    instance: MicrobatchInstance, schedule: Schedule
) -> list[tuple[int, Fraction, float, float]]:
    layout = instance.layout
    count = max(LEAST_MICRO_BATCHES, schedule.micro_batches)
    starts = schedule.starts_for(count)
    # Finer ticks, so that all transfers are integers.
    finer = max(transfer.denominator for transfer in TRANSFERS)
    slow = _slowed(layout, finer)
    shortest = min(block.duration for block in slow.blocks)
    alone = makespan(layout, starts) * finer
    programs = [program_of(layout, starts, is_blocking=blocking) for blocking in (True, False)]
    lines = []
    for transfer in TRANSFERS:
        ticks = [int(transfer * shortest)] * len(slow.blocks)
        taken = [simulate(slow, program, ticks).makespan / alone for program in programs]
        lines.append((count, transfer, taken[0], taken[1]))
    return lines


def _slowed(layout: BlockLayout, factor: int) -> BlockLayout:
    blocks = tuple(
        Block(block.name, block.kind, block.duration * factor, block.memory, block.devices)
        for block in layout.blocks
    )
    return BlockLayout(blocks, layout.dag, layout.devices)
