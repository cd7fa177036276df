"""How much devices idle, by layout and method."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from boundmark.reports.natural_order import natural_order
from boundmark.reports.number_text import MISSING, count, percent
from boundmark.reports.page import Cell, Group, Plot, Section, Table


def bubble_rate_section(rates: pd.DataFrame, plots: Sequence[Plot]) -> Section | None:
    """Return the tables of bubble rates and their plots; None without a schedule."""
    if rates["bubble_rate"].notna().sum() == 0:
        return None
    tables = []
    for is_period, title in (
        (True, "Bubble rate in percent while schedules repeat"),
        (False, "Bubble rate in percent until the makespan"),
    ):
        part = rates[(rates["micro_batches"] == 0) == is_period]
        if part["bubble_rate"].notna().any():
            tables.append(_table(part, title))
    return Section("Bubble rates", tuple(tables), tuple(plots))


def _table(rates: pd.DataFrame, title: str) -> Table:
    methods = natural_order(rates["method"])
    groups = []
    for parameters in natural_order(rates["parameters"]):
        part = rates[rates["parameters"] == parameters]
        rows = []
        for sha256 in part["instance_sha256"].unique():
            own: Any = part[part["instance_sha256"] == sha256].set_index("method")
            best = own["bubble_rate"].min()
            cells = [
                _cell(own.loc[name], best) if name in own.index else Cell("") for name in methods
            ]
            rows.append((Cell(own["instance"].iloc[0]), *cells))
        heading = (Cell(parameters), Cell(f"n = {len(rows)}"), *(Cell(""),) * (len(methods) - 1))
        groups.append(Group(heading, tuple(rows)))
    notes = (
        "From the verified period or makespan, seeds averaged; the form of Lin et al., Tessel "
        "(HPCA 2024), Table II. The smallest of each row is marked. A cell is one instance; n: "
        "instances of a group.",
        f"×: the method does not support the layout. {MISSING}: it found no schedule, and its "
        "status stands beside. What a task found before it failed counts.",
    )
    return Table(title, ("layout", *methods), tuple(groups), notes)


def _cell(row: Any, best: float) -> Cell:
    if pd.isna(row["bubble_rate"]):
        if row["status"] == "unsupported":
            return Cell("×")
        return Cell(MISSING, row["status"] if row["status"] != "ok" else "nothing reported")
    return Cell(percent(row["bubble_rate"]), best=bool(row["bubble_rate"] == best))


def missing_instances(schedules: pd.DataFrame) -> str | None:
    """Return a sentence if the bubble rate of a verified schedule is unknown."""
    missing = int((schedules["objective"].notna() & schedules["bubble_rate"].isna()).sum())
    if not missing:
        return None
    return (
        f"The bubble rate of {count(missing, 'schedule')} is unknown, since the instance is not in "
        "the folder."
    )
