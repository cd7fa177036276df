"""The certified table: what is known of each instance."""

from typing import Any

import pandas as pd

from boundmark.reports.number_text import decimal, integer, percent
from boundmark.reports.page import Cell, Group, Section, Table
from boundmark.reports.tables.rows import rows as rows_of


def instance_section(certified: pd.DataFrame) -> Section:
    """Return the table with one row an instance."""
    with_claims = bool(certified["claimed"].notna().any())
    groups = []
    columns = ("instance", "parameters", "nodes", "edges", "best UB", "best LB", "gap (%)")
    claimed = ("claimed LB",) if with_claims else ()
    blank = (Cell(""),) * (len(columns) + len(claimed) + 2)
    for dataset, part in certified.groupby("dataset"):
        rows = []
        for row in rows_of(part):
            cells = [
                Cell(row.instance),
                Cell(row.parameters),
                Cell(integer(row.nodes)),
                Cell(integer(row.edges)),
                Cell(integer(row.objective)),
                Cell(integer(row.bound)),
                Cell("optimal" if row.optimal else percent(row.gap)),
            ]
            if with_claims:
                cells.append(Cell(decimal(row.claimed, 1)))
            cells.append(Cell(_name(row.objective_method)))
            cells.append(Cell(_name(row.bound_method), _name(row.bound_kind)))
            rows.append(tuple(cells))
        groups.append(Group((Cell(str(dataset)), *blank[:-1]), tuple(rows)))
    table = Table(
        "Best verified solution and best certified bound of each instance",
        (*columns, *claimed, "UB found by", "LB certified by"),
        tuple(groups),
        (
            "Costs in ticks of the instance. Gap: UB/LB - 1; missing without solution or bound. "
            "Of several methods with the same value, the first by name is shown.",
        ),
        text_columns=2,
        text_columns_right=2,
    )
    return Section("Instances", (table,))


def _name(value: Any) -> str:
    return "" if pd.isna(value) else str(value)
