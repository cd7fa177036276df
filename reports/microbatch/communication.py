"""Times of schedules when tensors need time to travel (the form of [TESSEL24], Figure 17)."""

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pandas as pd

from boundmark.problems.microbatch import Block, BlockLayout, MicrobatchInstance, Schedule
from boundmark.problems.microbatch.runtime import program_of, simulate
from boundmark.problems.microbatch.schedule import makespan
from boundmark.reports.dictionary import columns_of
from boundmark.reports.microbatch.drawings import Pair
from boundmark.reports.pages.page import Cell, Section
from boundmark.reports.plots import COLOURS, GREY, Panels, Plot, distinct_names, names_below
from boundmark.reports.problem_report import ProblemResults, Tables
from boundmark.reports.sections.page_tables import PageColumn, page_table
from boundmark.reports.statistics import geometric_mean
from boundmark.reports.tables.rows import rows
from boundmark.reports.text import decimal, integer, natural_order

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# A transfer as a part of the shortest block.
TRANSFERS = (Fraction(1, 4), Fraction(1, 2), Fraction(1))

# Enough for the steady state to count.
LEAST_MICRO_BATCHES = 32

INSTANCE_AND_METHOD = ("dataset", "instance", "parameters", "instance_sha256", "method")


def communication_table(chosen: pd.DataFrame, drawn: Mapping[str, Pair]) -> pd.DataFrame:
    """Return how much longer schedules take with transfers, as instruction lists would."""
    found = []
    for row in rows(chosen[chosen["micro_batches"] == 0]):
        if row.instance_sha256 in drawn:
            instance, schedule = drawn[row.instance_sha256]
            where = {name: getattr(row, name) for name in INSTANCE_AND_METHOD}
            found += [where | line for line in _simulated(instance, schedule)]
    return pd.DataFrame(found, columns=columns_of("microbatch/communication"))


def _simulated(instance: MicrobatchInstance, schedule: Schedule) -> list[dict[str, Any]]:
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
        lines.append(
            {
                "micro_batches": count,
                "transfer": float(transfer),
                "blocking": taken[0],
                "non_blocking": taken[1],
            }
        )
    return lines


def _slowed(layout: BlockLayout, factor: int) -> BlockLayout:
    blocks = tuple(
        Block(block.name, block.kind, block.duration * factor, block.memory, block.devices)
        for block in layout.blocks
    )
    return BlockLayout(blocks, layout.dag, layout.devices)


SIDES = (("blocking", COLOURS[1]), ("non_blocking", COLOURS[0]))
BAR = 0.38


def draw_communication(data: pd.DataFrame, axes: "Axes") -> None:
    """Draw two bars per layout."""
    names = natural_order(data["instance"])
    at = [names.index(name) for name in data["instance"]]
    for side, (column, color) in enumerate(SIDES):
        places = [place + (side - 0.5) * BAR for place in at]
        axes.bar(places, data[column], BAR, color=color, label=column.replace("_", "-"))
    names_below(axes, names)
    axes.axhline(1.0, color=GREY, linewidth=0.8)
    axes.set_ylabel("time, without transfers = 1")


NOTES = (
    "Simulated, not measured, from the instruction lists of the schedules drawn below, which keep "
    "the order of blocks. Cells: makespan over the makespan without transfers. Blocking: both "
    "devices wait until a transfer is over; non-blocking: it runs beside their blocks. A result "
    "takes equally long to each device that needs it.",
    "Speed-up: blocking over non-blocking; its mean is geometric, over the n layouts. A layout "
    "whose schedule is not stored is left out.",
)

INCHES_PER_BAR = 0.28

PAGE_COLUMNS = (
    PageColumn("layout", lambda row: row.instance, is_text=True),
    PageColumn("parameters", lambda row: row.parameters, is_text=True),
    PageColumn("micro-batches", lambda row: integer(row.micro_batches)),
    PageColumn("blocking", lambda row: decimal(row.blocking, 3)),
    PageColumn("non-blocking", lambda row: decimal(row.non_blocking, 3)),
    PageColumn("speed-up", lambda row: decimal(row.blocking / row.non_blocking, 3)),
)


def communication_section(results: ProblemResults, tables: Tables) -> Section | None:
    """Return the table of simulated times and its plot; None without any."""
    simulated = tables["communication"]
    if len(simulated) == 0:
        return None
    groups = [
        (_heading(Fraction(float(str(transfer))), part), rows(part), "")
        for transfer, part in simulated.groupby("transfer")
    ]
    table = page_table("Simulated time with transfers", PAGE_COLUMNS, groups, NOTES)
    data = simulated.assign(instance=distinct_names(simulated))
    bars = data["instance"].nunique() * data["transfer"].nunique()
    plot = Plot(
        "communication",
        "Blocking and non-blocking communication",
        "Simulated makespan of the best schedule of a layout over that without transfers; each "
        "transfer takes the given part of the shortest block's time.",
        data,
        draw_communication,
        Panels("transfer", lambda transfer: f"transfer: {Fraction(transfer)}"),
        width=max(7.4, 1.0 + INCHES_PER_BAR * bars),
    )
    return Section("Communication", (table,), (plot,))


def _heading(transfer: Fraction, part: pd.DataFrame) -> tuple[Cell, ...]:
    mean = geometric_mean(part["blocking"] / part["non_blocking"])
    return (
        Cell(f"transfer = {transfer} of the shortest block"),
        *(Cell(""),) * 4,
        Cell(f"mean {decimal(mean, 3)}, n = {len(part)}"),
    )
