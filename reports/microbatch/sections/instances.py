"""The best schedule and bound of each instance."""

from typing import Any

import pandas as pd

from boundmark.reports.pages.page import Cell, Group, Section, Table
from boundmark.reports.problem_report import ProblemResults, Tables
from boundmark.reports.tables.rows import rows as rows_of
from boundmark.reports.text.number_text import MISSING, decimal, integer, percent

OBJECTIVES = ((True, "period"), (False, "makespan"))

NOTES = (
    "Best: shortest verified period, or makespan where a number of micro-batches is given, in "
    "ticks. Bound: the best certified one; claimed: the largest on a solver's word, which enters "
    "no gap. Gap: best/bound - 1; optimal where the certified bound is reached.",
    "Bubble: bubble rate, the share of time during which devices idle, averaged over devices: in "
    "the steady state if the period counts, until the makespan otherwise. NR: number of "
    "micro-batches that take part in a repetition. Of several methods with the same value, the "
    "first by name is shown.",
)


def instance_section(results: ProblemResults, tables: Tables) -> Section | None:
    """Return the table with one row per instance, periods before makespans; None without any."""
    best = tables["best_schedules"]
    if len(best) == 0:
        return None
    with_claims = bool(best["claimed"].notna().any())
    columns = (
        "layout", "parameters", "devices", "best", "bound",
        *(["claimed"] if with_claims else []), "gap (%)", "bubble (%)", "NR", "found by",
        "certified by",
    )  # fmt: skip
    groups = []
    for is_period, objective in OBJECTIVES:
        part = best[(best["micro_batches"] == 0) == is_period]
        for dataset, own in part.groupby("dataset"):
            heading = (Cell(f"{dataset}: {objective}"), *(Cell(""),) * (len(columns) - 1))
            groups.append(Group(heading, tuple(_row(row, with_claims) for row in rows_of(own))))
    title = "Best verified schedule and best certified bound of each instance"
    table = Table(title, columns, tuple(groups), NOTES, text_columns=2, text_columns_right=2)
    return Section("Instances", (table,))


def _row(row: Any, with_claims: bool) -> tuple[Cell, ...]:
    return (
        Cell(row.instance),
        Cell(row.parameters),
        Cell(integer(row.devices)),
        Cell(integer(row.objective)),
        Cell(integer(row.bound)),
        *([Cell(decimal(row.claimed, 0))] if with_claims else []),
        Cell("optimal" if row.optimal else percent(row.gap)),
        Cell(percent(row.bubble_rate)),
        Cell(integer(row.repetend_micro_batches)),
        Cell(_name(row.method) or MISSING),
        Cell(_name(row.bound_method) or MISSING),
    )


def _name(value: Any) -> str:
    return "" if pd.isna(value) else str(value)
