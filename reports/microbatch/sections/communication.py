"""Section on what schedules lose when tensors need time to travel."""

from fractions import Fraction

import pandas as pd

from boundmark.reports.microbatch.plots.communication import draw_communication
from boundmark.reports.pages.page import Cell, Group, Section, Table
from boundmark.reports.plots.plot import Panels, Plot
from boundmark.reports.problem_report import ProblemResults, Tables
from boundmark.reports.statistics.geometric_mean import geometric_mean
from boundmark.reports.tables.rows import rows as rows_of
from boundmark.reports.text.number_text import decimal, integer

COLUMNS = ("layout", "parameters", "micro-batches", "blocking", "non-blocking", "speed-up")

NOTES = (
    "Simulated, not measured: the instruction lists of the schedules drawn below, with the order "
    "of blocks as scheduled. Cells: makespan over the makespan without transfers. Blocking: both "
    "devices wait until a transfer is over; non-blocking: it runs beside their blocks. Every "
    "result takes equally long to each device that needs it.",
    "Speed-up: blocking over non-blocking; its mean is geometric, over the n layouts. A layout "
    "whose schedule is not stored is left out.",
)

INCHES_PER_BAR = 0.28


def communication_section(results: ProblemResults, tables: Tables) -> Section | None:
    """Return the table of simulated times and its plot; None without any."""
    simulated = tables["communication"]
    if len(simulated) == 0:
        return None
    groups = tuple(
        _group(Fraction(float(str(transfer))), part)
        for transfer, part in simulated.groupby("transfer")
    )
    table = Table("Simulated time with transfers", COLUMNS, groups, NOTES, text_columns=2)
    bars = simulated["instance"].nunique() * simulated["transfer"].nunique()
    plot = Plot(
        "communication",
        "Blocking and non-blocking communication",
        "Simulated makespan of the best schedule of a layout over that without transfers; each "
        "transfer takes that part of the shortest block.",
        simulated,
        draw_communication,
        Panels("transfer", lambda transfer: f"transfer: {Fraction(transfer)}"),
        width=max(7.4, 1.0 + INCHES_PER_BAR * bars),
    )
    return Section("Communication", (table,), (plot,))


def _group(transfer: Fraction, part: pd.DataFrame) -> Group:
    mean = geometric_mean(part["blocking"] / part["non_blocking"])
    heading = (
        Cell(f"transfer = {transfer} of the shortest block"),
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
    return Group(heading, rows)
