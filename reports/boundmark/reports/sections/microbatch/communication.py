"""What schedules lose when tensors need time to travel."""

from collections.abc import Sequence
from fractions import Fraction

import pandas as pd

from boundmark.reports.number_text import decimal, integer
from boundmark.reports.page import Cell, Group, Plot, Section, Table
from boundmark.reports.statistics.geometric_mean import geometric_mean
from boundmark.reports.tables.rows import rows as rows_of


def communication_section(table: pd.DataFrame, plots: Sequence[Plot]) -> Section | None:
    """Return the table of simulated times and its plot; None without any."""
    if len(table) == 0:
        return None
    columns = (
        "layout", "parameters", "micro-batches", "blocking", "non-blocking", "speed-up",
    )  # fmt: skip
    groups = []
    for transfer, part in table.groupby("transfer"):
        mean = geometric_mean(part["blocking"] / part["non_blocking"])
        heading = (
            Cell(f"transfer = {Fraction(float(str(transfer)))} of the shortest block"),
            *(Cell(""),) * 4,
            Cell(f"mean {decimal(mean, 3)}, n = {len(part)}"),
        )
        rows = tuple(
            (
                Cell(row.instance),
                Cell(row.parameters),
                Cell(integer(row.micro_batches)),
                Cell(decimal(row.blocking, 3)),
                Cell(decimal(row.non_blocking, 3)),
                Cell(decimal(row.blocking / row.non_blocking, 3)),
            )
            for row in rows_of(part)
        )
        groups.append(Group(heading, rows))
    notes = (
        "Simulated, not measured: the instruction lists of the schedules drawn below, with the "
        "order of blocks as scheduled. Cells: makespan over the makespan without transfers. "
        "Blocking: both devices wait until a transfer is over; non-blocking: it runs beside their "
        "blocks. Every result takes equally long to each device that needs it.",
        "Speed-up: blocking over non-blocking; its mean is geometric, over the n layouts. A "
        "layout whose schedule is not stored is left out.",
    )
    table_ = Table("Simulated time with transfers", columns, tuple(groups), notes, text_columns=2)
    return Section("Communication", (table_,), tuple(plots))
