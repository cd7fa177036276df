"""How long the search for schedules takes."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from boundmark.reports.natural_order import natural_order
from boundmark.reports.number_text import MISSING, plain, seconds
from boundmark.reports.page import Cell, Group, Plot, Section, Table
from boundmark.reports.tables.microbatch.search_time import REFERENCE, reference_method


def search_time_section(
    times: pd.DataFrame, means: pd.DataFrame, plots: Sequence[Plot]
) -> Section | None:
    """Return the tables of seconds and of ratios, and the plot; None without times."""
    if times["seconds"].notna().sum() == 0:
        return None
    tables = [_seconds(times)]
    if len(means):
        tables.append(_ratios(times, means))
    return Section("Search time", tuple(tables), tuple(plots))


def _seconds(times: pd.DataFrame) -> Table:
    methods = natural_order(times["method"])
    reference = reference_method(methods)
    groups = []
    for parameters in natural_order(times["parameters"]):
        part = times[times["parameters"] == parameters]
        rows = []
        for sha256 in part["instance_sha256"].unique():
            own: Any = part[part["instance_sha256"] == sha256].set_index("method")
            cells = [
                _cell(own.loc[name], reference) if name in own.index else Cell("")
                for name in methods
            ]
            rows.append((Cell(own["instance"].iloc[0]), *cells))
        heading = (Cell(parameters), Cell(f"n = {len(rows)}"), *(Cell(""),) * (len(methods) - 1))
        groups.append(Group(heading, tuple(rows)))
    notes = (
        "Wall-clock seconds, seeds averaged, verification not included; the small number is how "
        f"often it is the time of {REFERENCE}, where that needed less than its time limit. Loading "
        "a solver is part of a task and of these times. A cell is one instance; n: instances of a "
        "group.",
        "≥ marks a task that used its whole time, or that failed and counts with its time limit, "
        "or the time it took if that is longer. ×: the method does not support the placement.",
    )
    return Table("Search time in seconds", ("placement", *methods), tuple(groups), notes)


def _cell(row: Any, reference: str | None) -> Cell:
    if pd.isna(row["seconds"]):
        return Cell("×")
    sign = "≥ " if row["is_limited"] else ""
    is_other = not pd.isna(row["ratio"]) and row.name != reference
    detail = f"{sign}{_times(row['ratio'])}" if is_other else ""
    return Cell(sign + seconds(row["seconds"]), detail)


def _times(ratio: float) -> str:
    return f"{plain(float(f'{ratio:.2g}'))}×" if ratio < 1e5 else f"{ratio:.1e}×"


def _ratios(times: pd.DataFrame, means: pd.DataFrame) -> Table:
    by_name = means.set_index("method")
    lines: list[Any] = [by_name.loc[name] for name in natural_order(by_name.index)]
    rows = tuple(
        (
            Cell(str(row.name)),
            Cell(("≥ " if row.limited else "") + _times(row.mean_ratio)),
            Cell(f"{int(row.instances)}"),
            Cell(f"{int(row.limited)}" if row.limited else MISSING),
        )
        for row in lines
    )
    reference = reference_method(times["method"].unique())
    return Table(
        f"Search time relative to {reference}",
        ("method", "mean ratio", "n", "limited"),
        (Group((), rows),),
        (
            f"Geometric mean of the ratios over the n instances on which {reference} needed less "
            "than its time limit and the method ran. Limited: instances among them on which the "
            "method used its whole time or failed; they make the mean a lower bound, marked ≥.",
        ),
    )
