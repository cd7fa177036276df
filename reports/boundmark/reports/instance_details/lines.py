"""The table of all tasks of one instance."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from boundmark.reports.pages.page import Cell, Group, Table
from boundmark.reports.tables.rows import rows
from boundmark.reports.text.number_text import decimal, integer, seconds

COLUMNS = ("method", "kind", "seed", "cost", "bound", "seconds", "status", "detail")
WITH_CLAIMS = (*COLUMNS[:5], "claimed", *COLUMNS[5:])

# Enough to recognise a message; the whole text is in the results.
LONGEST = 100


def task_table(title: str, tasks: pd.DataFrame, marks: Mapping[str, int], dataset: str) -> Table:
    """Return one row per task, with links to its solution and its certificate.

    Parameters
    ----------
    tasks
        Of one instance, in the order of the rows.
    marks
        Number of the mark of each method.
    """
    lowest, highest = tasks["objective"].min(), tasks["bound_certified"].max()
    with_claims = bool(tasks["bound_claimed"].notna().any())
    lines = tuple(
        (
            Cell(row.method, mark=marks[row.method]),
            Cell(row.method_kind),
            Cell(integer(row.seed)),
            _value(row.objective, lowest, "solutions", row.solution_sha256),
            _value(row.bound_certified, highest, "certificates", row.certificate_sha256),
            *([Cell(decimal(row.bound_claimed, 1))] if with_claims else []),
            Cell(seconds(row.wall_seconds)),
            Cell(row.status),
            Cell(_detail(row)),
        )
        for row in rows(tasks)
    )
    return Table(
        title,
        WITH_CLAIMS if with_claims else COLUMNS,
        (Group((), lines, dataset),),
        text_columns=2,
        text_columns_right=2,
    )


def _value(value: Any, best: Any, folder: str, digest: Any) -> Cell:
    if pd.isna(value):
        return Cell("")
    return Cell(integer(value), best=bool(value == best), href=f"{folder}/{digest}.json")


def _detail(row: Any) -> str:
    if row.status == "ok" or pd.isna(row.status_detail):
        return ""
    text = str(row.status_detail)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
