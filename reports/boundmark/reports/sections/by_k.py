"""Tables with a row a method and a column a k, in groups by data set."""

from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd

from boundmark.reports.natural_order import natural_order
from boundmark.reports.number_text import MISSING
from boundmark.reports.page import Cell, Group, Table
from boundmark.reports.statuses import FAILURES
from boundmark.reports.tables.tasks import ALL


def datasets_of(frame: pd.DataFrame) -> list[str]:
    """Return the data sets to show, all together first unless there is only one."""
    names = list(dict.fromkeys(frame["dataset"]))
    single = sorted(name for name in names if name != ALL)
    return single if len(single) == 1 else [ALL, *single]


def methods_by_k(
    frame: pd.DataFrame,
    title: str,
    value: str,
    form: Callable[[Any], str],
    notes: Sequence[str],
    *,
    instances: str = "instances",
    delivered: str | None = None,
    smaller_is_better: bool | None = None,
    last: str | None = None,
    totals: Sequence[str] = (),
    with_statuses: bool = True,
) -> Table:
    """Return a table in the form of papers/mtpp, Tables 1 to 3.

    Parameters
    ----------
    frame
        Columns `dataset`, `method`, `k` and those named by the other parameters.
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
        Columns whose sums over k stand at the right.
    with_statuses
        Whether the numbers of tasks that did not end `ok` stand at the right.
    """
    values = sorted({int(k) for k in frame["k"]})
    groups = []
    for dataset in datasets_of(frame):
        part = frame[frame["dataset"] == dataset]
        sizes: dict[Any, float] = part.groupby("k")[instances].max().to_dict()
        heading = (
            Cell(dataset),
            *(Cell(f"n = {int(sizes.get(k, 0))}") for k in values),
            *(Cell("") for _ in totals),
            *([Cell("")] if with_statuses else []),
        )
        best = _best(part, value, instances, delivered, smaller_is_better, last)
        methods = natural_order(part["method"])
        methods.sort(key=lambda method: method == last)
        rows = []
        for method in methods:
            chosen = part[part["method"] == method].set_index("k")
            row = [Cell(method)]
            for k in values:
                if k not in chosen.index:
                    row.append(Cell(MISSING))
                    continue
                entry: Any = chosen.loc[k]
                detail = ""
                if delivered and 0 < entry[delivered] < entry[instances]:
                    detail = f"{int(entry[delivered])}/{int(entry[instances])}"
                is_best = method != last and best.get(k) == entry[value]
                row.append(Cell(form(entry[value]), detail, is_best))
            row += [Cell(f"{int(chosen[total].sum()):,}") for total in totals]
            if with_statuses:
                row.append(Cell(_statuses(chosen)))
            rows.append(tuple(row))
        groups.append(Group(heading, tuple(rows)))
    columns = ["method", *(f"k = {k}" for k in values), *totals]
    return Table(
        title,
        (*columns, "not ok") if with_statuses else tuple(columns),
        tuple(groups),
        tuple(notes),
        text_columns_right=1 if with_statuses else 0,
    )


def _best(
    part: pd.DataFrame,
    value: str,
    instances: str,
    delivered: str | None,
    smaller_is_better: bool | None,
    last: str | None,
) -> dict[Any, float]:
    if smaller_is_better is None:
        return {}
    compared = part[part["method"] != last]
    if compared["method"].nunique() < 2:
        return {}
    if delivered:
        complete = compared[delivered] == compared[instances]
        compared = compared[complete.groupby(compared["k"]).transform("all")]
    by_k = compared.groupby("k")[value]
    return (by_k.min() if smaller_is_better else by_k.max()).to_dict()


def _statuses(rows: pd.DataFrame) -> str:
    if rows["ok"].isna().all():
        return ""
    counts = {status: int(rows[status].sum()) for status in FAILURES}
    failed = [f"{n}\N{NO-BREAK SPACE}{status}" for status, n in counts.items() if n]
    return ", ".join(failed) or "none"
