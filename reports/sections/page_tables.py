"""Tables of the page: one row for each row of a data frame, or one for each method."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from boundmark.reports.pages.page import Cell, Group, Table
from boundmark.reports.problem_report import Grouping
from boundmark.reports.stored.statuses import FAILURES
from boundmark.reports.tables.parameters import ALL, Value, values_in_order
from boundmark.reports.text import MISSING, natural_order


@dataclass(frozen=True)
class PageColumn:
    """A column of a table on the page: its heading, its texts and its alignment.

    Attributes
    ----------
    head
        What stands above it.
    cell
        Returns the cell of a row, or its text.
    is_text
        Whether it holds text and no numbers; columns of text stand at the left and at the right.
    """

    head: str
    cell: Callable[[Any], Cell | str]
    is_text: bool = False


def page_table(
    title: str,
    columns: Sequence[PageColumn],
    groups: Iterable[tuple[str | Sequence[Cell], Iterable[Any], str]],
    notes: Sequence[str] = (),
    lead: str = "",
) -> Table:
    """Return a table with one row for each row of a data frame, in groups."""
    made = [
        Group(
            _heading(heading, len(columns)),
            tuple(tuple(_cell_of(column, row) for column in columns) for row in rows),
            dataset,
        )
        for heading, rows, dataset in groups
    ]
    are_texts = [column.is_text for column in columns]
    left = are_texts.index(False) if False in are_texts else len(are_texts)
    right = are_texts[::-1].index(False) if left < len(are_texts) else 0
    heads = tuple(column.head for column in columns)
    return Table(title, heads, tuple(made), tuple(notes), left, right, lead=lead)


def _heading(heading: str | Sequence[Cell], columns: int) -> tuple[Cell, ...]:
    if not isinstance(heading, str):
        return tuple(heading)
    return (Cell(heading), *(Cell(""),) * (columns - 1)) if heading else ()


def _cell_of(column: PageColumn, row: Any) -> Cell:
    made = column.cell(row)
    return made if isinstance(made, Cell) else Cell(made)


COMMON = (
    "As above, over the n instances on which every method delivered, ignoring methods that "
    "delivered on no instance of a column. Only these numbers compare methods on equal terms."
)


@dataclass(frozen=True)
class Shown:
    """Which columns of a data frame a table shows, and how.

    Attributes
    ----------
    value, form
        Column of the cells, and how its values are written.
    instances
        Column with the number of instances, for the heading of each group.
    delivered
        Column with the number of instances behind a cell, shown where it is lower.
    smaller_is_better
        Marks the best of each column in which all methods delivered on all instances.
    last
        Method that comes last.
    totals
        Columns whose sums over all values stand at the right.
    with_statuses
        Whether the numbers of tasks that did not end `ok` stand at the right.
    """

    value: str
    form: Callable[[Any], str]
    instances: str = "instances"
    delivered: str | None = None
    smaller_is_better: bool | None = None
    last: str | None = None
    totals: tuple[str, ...] = ()
    with_statuses: bool = True


def datasets_of(frame: pd.DataFrame) -> list[str]:
    """Return the data sets to show, all together first unless there is only one."""
    names = list(dict.fromkeys(frame["dataset"]))
    single = sorted(name for name in names if name != ALL)
    return single if len(single) == 1 else [ALL, *single]


def methods_by_parameter(
    frame: pd.DataFrame, grouping: Grouping, title: str, shown: Shown, notes: Sequence[str]
) -> Table:
    """Return a table in the form of [MTPP24], Tables 1 to 3."""
    values = values_in_order(frame[grouping.column])
    groups = tuple(
        _group(frame[frame["dataset"] == dataset], grouping.column, values, shown)
        for dataset in datasets_of(frame)
    )
    columns = ("method", *map(grouping.heading, values), *shown.totals)
    return Table(
        title,
        (*columns, "not ok") if shown.with_statuses else columns,
        groups,
        tuple(notes),
        text_columns_right=1 if shown.with_statuses else 0,
    )


def _group(part: pd.DataFrame, by: str, values: Sequence[Value], shown: Shown) -> Group:
    sizes: dict[Any, float] = part.groupby(by)[shown.instances].max().to_dict()
    heading = (
        Cell(str(part["dataset"].iloc[0])),
        *(Cell(f"n = {int(sizes.get(value, 0))}") for value in values),
        *(Cell("") for _ in shown.totals),
        *([Cell("")] if shown.with_statuses else []),
    )
    best = _best(part, by, shown)
    methods = natural_order(part["method"])
    methods.sort(key=lambda method: method == shown.last)
    rows = []
    for method in methods:
        chosen = part[part["method"] == method].set_index(by)
        row = [Cell(method)]
        for value in values:
            is_there = value in chosen.index
            row.append(_cell(chosen.loc[value], best, shown) if is_there else Cell(MISSING))
        row += [Cell(f"{int(chosen[total].sum()):,}") for total in shown.totals]
        if shown.with_statuses:
            row.append(Cell(_statuses(chosen)))
        rows.append(tuple(row))
    return Group(heading, tuple(rows), str(part["dataset"].iloc[0]))


def _cell(entry: Any, best: dict[Any, float], shown: Shown) -> Cell:
    """Return the cell of a method (the entry's `method`) and a value (the entry's name)."""
    detail = ""
    if shown.delivered and 0 < entry[shown.delivered] < entry[shown.instances]:
        detail = f"{int(entry[shown.delivered])}/{int(entry[shown.instances])}"
    is_best = entry["method"] != shown.last and best.get(entry.name) == entry[shown.value]
    return Cell(shown.form(entry[shown.value]), detail, bool(is_best))


def _best(part: pd.DataFrame, by: str, shown: Shown) -> dict[Any, float]:
    if shown.smaller_is_better is None:
        return {}
    compared = part[part["method"] != shown.last]
    if compared["method"].nunique() < 2:
        return {}
    if shown.delivered:
        complete = compared[shown.delivered] == compared[shown.instances]
        compared = compared[complete.groupby(compared[by]).transform("all")]
    values = compared.groupby(by)[shown.value]
    return (values.min() if shown.smaller_is_better else values.max()).to_dict()


def _statuses(rows: pd.DataFrame) -> str:
    if rows["ok"].isna().all():
        return ""
    counts = {status: int(rows[status].sum()) for status in FAILURES}
    failed = [f"{n}\N{NO-BREAK SPACE}{status}" for status, n in counts.items() if n]
    return ", ".join(failed) or "none"
