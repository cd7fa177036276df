"""The certified table: what is known of each instance."""

from typing import Any

from boundmark.reports.pages.page import Cell, Section
from boundmark.reports.problem_report import ProblemResults, Tables
from boundmark.reports.sections.instance_details import anchor_of
from boundmark.reports.sections.page_tables import PageColumn, page_table
from boundmark.reports.tables.rows import rows as rows_of
from boundmark.reports.text import decimal, integer, percent, text

NOTE = (
    "Costs in ticks of the instance. Gap: UB/LB - 1; missing without solution or bound. Of several "
    "methods with the same value, the fastest is shown."
)


def instance_section(results: ProblemResults, tables: Tables) -> Section:
    """Return the table with one row per instance."""
    certified = results.certified
    claimed = PageColumn("claimed LB", lambda row: decimal(row.claimed, 1))
    columns = (
        PageColumn("instance", _linked, is_text=True),
        PageColumn("parameters", lambda row: row.parameters, is_text=True),
        PageColumn("nodes", lambda row: integer(row.nodes)),
        PageColumn("edges", lambda row: integer(row.edges)),
        PageColumn("best UB", lambda row: integer(row.objective)),
        PageColumn("best LB", lambda row: integer(row.bound)),
        PageColumn("gap (%)", lambda row: "optimal" if row.optimal else percent(row.gap)),
        *([claimed] if certified["claimed"].notna().any() else []),
        PageColumn("UB found by", lambda row: text(row.objective_method), is_text=True),
        PageColumn(
            "LB certified by",
            lambda row: Cell(text(row.bound_method), text(row.bound_kind)),
            is_text=True,
        ),
    )
    groups = [
        (str(dataset), rows_of(part), str(dataset))
        for dataset, part in certified.groupby("dataset")
    ]
    title = "Best verified solution and best certified bound of each instance"
    return Section("Instances", (page_table(title, columns, groups, (NOTE,)),))


def _linked(row: Any) -> Cell:
    return Cell(row.instance, href=f"#{anchor_of(row.instance_sha256)}")
