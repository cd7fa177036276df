"""What each method achieved, for problems that have no tables by k."""

from typing import Any

import pandas as pd

from boundmark.reports.natural_order import natural_order
from boundmark.reports.number_text import MISSING, decimal, integer, seconds
from boundmark.reports.page import Cell, Group, Section, Table


def method_section(methods: pd.DataFrame) -> Section | None:
    """Return the table of the methods of a problem; None without any."""
    if len(methods) == 0:
        return None
    by_name = methods.set_index("method")
    lines: list[Any] = [by_name.loc[name] for name in natural_order(by_name.index)]
    with_claims = bool((methods["claiming"] > 0).any())
    rows = tuple(
        (
            Cell(str(row.name)),
            Cell(row.method_kind),
            Cell(integer(row.instances)),
            _mean(row.upper, row.solved, row.instances, row.method_kind != "bound"),
            _mean(row.shared_upper, row.shared, row.shared, row.method_kind != "bound"),
            _mean(row.lower, row.bounded, row.instances, row.method_kind != "heuristic"),
            *([_claims(row)] if with_claims else []),
            Cell(seconds(row.mean_seconds), f"n = {row.timed}" if row.timed else ""),
            Cell(integer(row.failed)),
        )
        for row in lines
    )
    columns = (
        "method", "kind", "n", "UB/LB", "UB/LB, shared", "LB/UB",
        *(["claimed/UB"] if with_claims else []), "seconds", "tasks not ok",
    )  # fmt: skip
    notes = (
        "n: instances that the method was run on. UB/LB: geometric mean of its verified objective "
        "over the best certified bound of the instance; shared: the same, of methods that were run "
        "on every instance, over the instances that all of these solved, which compares them on "
        "equal terms. LB/UB: geometric mean of its certified bound over the best verified "
        "objective; claimed: of its bounds on a solver's word, unless above a solution. 1 is best "
        "in all. The small number: instances behind a mean.",
        "Seconds: geometric mean of wall-clock time, shifted by 1 s; a task that did not end ok "
        "counts with its time limit, or with the time it took if that is longer.",
        "Failures: where a method delivered nothing, the instance is left out of its mean. What a "
        "task reported before it failed counts.",
    )
    table = Table("Methods over all instances", columns, (Group((), rows),), notes, text_columns=2)
    return Section("Methods", (table,))


def _claims(row: Any) -> Cell:
    return _mean(row.claimed, row.claiming, row.instances, row.method_kind != "heuristic")


def _mean(value: float, over: int, of: int, is_asked: bool) -> Cell:
    if not is_asked or not over:
        return Cell(MISSING if is_asked else "")
    return Cell(decimal(value, 4), f"{over}" if over == of else f"{over}/{of}")
