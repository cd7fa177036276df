"""The certified table: what is known of each instance."""

from typing import Any

import pandas as pd

from boundmark.reports.pages.page import Cell, Group, Section, Table
from boundmark.reports.problem_report import ProblemResults, Tables
from boundmark.reports.sections.instance_details import anchor_of
from boundmark.reports.tables.rows import rows as rows_of
from boundmark.reports.text import decimal, integer, percent

NOTE = (
    "Costs in ticks of the instance. Gap: UB/LB - 1; missing without solution or bound. Of several "
    "methods with the same value, the fastest is shown."
)


def instance_section(results: ProblemResults, tables: Tables) -> Section:
    """Return the table with one row per instance."""
    certified = results.certified
    with_claims = bool(certified["claimed"].notna().any())
    columns = (
        "instance", "parameters", "nodes", "edges", "best UB", "best LB", "gap (%)",
        *(["claimed LB"] if with_claims else []), "UB found by", "LB certified by",
    )  # fmt: skip
    blank = (Cell(""),) * (len(columns) - 1)
    groups = tuple(
        Group(
            (Cell(str(dataset)), *blank),
            tuple(_cells(row, with_claims) for row in rows_of(part)),
            str(dataset),
        )
        for dataset, part in certified.groupby("dataset")
    )
    title = "Best verified solution and best certified bound of each instance"
    table = Table(title, columns, groups, (NOTE,), text_columns=2, text_columns_right=2)
    return Section("Instances", (table,))


def _cells(row: Any, with_claims: bool) -> tuple[Cell, ...]:
    return (
        Cell(row.instance, href=f"#{anchor_of(row.instance_sha256)}"),
        Cell(row.parameters),
        Cell(integer(row.nodes)),
        Cell(integer(row.edges)),
        Cell(integer(row.objective)),
        Cell(integer(row.bound)),
        Cell("optimal" if row.optimal else percent(row.gap)),
        *([Cell(decimal(row.claimed, 1))] if with_claims else []),
        Cell(_name(row.objective_method)),
        Cell(_name(row.bound_method), _name(row.bound_kind)),
    )


def _name(value: Any) -> str:
    return "" if pd.isna(value) else str(value)
