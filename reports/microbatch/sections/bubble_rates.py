"""How much devices idle, by layout and method."""

from functools import partial
from typing import Any

import pandas as pd

from boundmark.reports.microbatch.plots.bubble_rate_by_memory import (
    bubble_rate_by_memory_data,
    draw_bubble_rate_by_memory,
)
from boundmark.reports.microbatch.plots.bubble_rate_by_repetend import (
    bubble_rate_by_repetend_data,
    draw_bubble_rate_by_repetend,
)
from boundmark.reports.microbatch.sections.layout_table import layout_table
from boundmark.reports.pages.page import Cell, Section
from boundmark.reports.plots.plot import Panels, Plot
from boundmark.reports.plots.style import looks
from boundmark.reports.problem_report import ProblemResults, Tables
from boundmark.reports.text.natural_order import natural_order
from boundmark.reports.text.number_text import MISSING, percent

NOTES = (
    "From the verified period or makespan, seeds averaged; the form of Lin et al., Tessel (HPCA "
    "2024), Table II. The smallest of each row is marked. A cell is one instance; n: instances of "
    "a group.",
    f"×: the method does not support the layout. {MISSING}: it found no schedule, and its status "
    "stands beside. What a task found before it failed counts.",
)


def bubble_rate_section(results: ProblemResults, tables: Tables) -> Section | None:
    """Return the tables of bubble rates and their plots; None without a schedule."""
    rates = tables["bubble_rates"]
    is_period = rates["micro_batches"] == 0
    halves = (
        ("Bubble rate in percent while schedules repeat", rates[is_period]),
        ("Bubble rate in percent until the makespan", rates[~is_period]),
    )
    found = [
        layout_table(title, part, _cell, NOTES)
        for title, part in halves
        if part["bubble_rate"].notna().any()
    ]
    return Section("Bubble rates", tuple(found), _plots(tables)) if found else None


def _cell(row: Any, own: pd.DataFrame) -> Cell:
    if pd.isna(row["bubble_rate"]):
        if row["status"] == "unsupported":
            return Cell("×")
        return Cell(MISSING, row["status"] if row["status"] != "ok" else "nothing reported")
    return Cell(
        percent(row["bubble_rate"]), best=bool(row["bubble_rate"] == own["bubble_rate"].min())
    )


def _plots(tables: Tables) -> tuple[Plot, ...]:
    by_memory = bubble_rate_by_memory_data(tables["best_schedules"])
    layouts = looks(natural_order(by_memory["instance"]))
    return (
        Plot(
            "bubble_rate_by_memory",
            "Bubble rate over memory",
            "Bubble rate of the best verified period, one line per layout that keeps something in "
            "memory; marks are filled where the period is proven optimal.",
            by_memory,
            partial(draw_bubble_rate_by_memory, looks=layouts),
            Panels("devices", lambda devices: f"{devices} devices", has_common_x=False),
        ),
        Plot(
            "bubble_rate_by_repetend",
            "Bubble rate over micro-batches in a repetition",
            "Smallest bubble rate of all verified schedules whose repetition involves at most the "
            "given number of micro-batches; each layout at its largest memory.",
            bubble_rate_by_repetend_data(tables["schedules"]),
            draw_bubble_rate_by_repetend,
            height=3.2,
        ),
    )
