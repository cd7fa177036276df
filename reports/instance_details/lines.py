"""The table of all tasks of one instance."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from boundmark.reports.pages.page import Cell, Group, Table
from boundmark.reports.text.number_text import decimal, integer, seconds

COLUMNS = ("method", "kind", "seed", "cost", "bound", "seconds", "status", "detail")
WITH_CLAIMS = (*COLUMNS[:5], "claimed", *COLUMNS[5:])

# Enough to recognise a message; the whole text is in the results.
LONGEST = 100


def task_table(title: str, tasks: Sequence[Any], marks: Mapping[str, int], dataset: str) -> Table:
    """Return one row per task, with links to its solution and its certificate.

    Parameters
    ----------
    tasks
        Rows of one instance, in their order.
    marks
        Number of the mark of each method.
    """
    lowest = min(_known(task.objective for task in tasks), default=None)
    highest = max(_known(task.bound_certified for task in tasks), default=None)
    with_claims = any(not pd.isna(task.bound_claimed) for task in tasks)
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
        for row in tasks
    )
    return Table(
        title,
        WITH_CLAIMS if with_claims else COLUMNS,
        (Group((), lines, dataset),),
        text_columns=2,
        text_columns_right=2,
    )


def _known(values: Iterable[Any]) -> Iterator[Any]:
    return (value for value in values if not pd.isna(value))


def _value(value: Any, best: Any, folder: str, digest: Any) -> Cell:
    if pd.isna(value):
        return Cell("")
    return Cell(integer(value), best=bool(value == best), href=f"{folder}/{digest}.json")


def _detail(row: Any) -> str:
    if row.status == "ok" or pd.isna(row.status_detail):
        return ""
    text = str(row.status_detail)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
