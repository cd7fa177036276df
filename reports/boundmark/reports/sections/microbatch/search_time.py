"""How long the search for schedules takes."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from boundmark.reports.natural_order import natural_order
from boundmark.reports.number_text import MISSING, plain, seconds
from boundmark.reports.page import Cell, Group, Plot, Section, Table
from boundmark.reports.tables.microbatch.search_time import reference_method


def search_time_section(
    times: pd.DataFrame, means: pd.DataFrame, plots: Sequence[Plot]
) -> Section | None:
    """Return the tables of seconds and of ratios, and the plot; None without times."""
    if times["seconds"].notna().sum() == 0:
        return None
    tables = [_seconds(times)]
    if len(means) > 1:
        tables.append(_ratios(times, means))
    return Section("Search time", tuple(tables), tuple(plots))


def _seconds(times: pd.DataFrame) -> Table:
    methods = natural_order(times["method"])
    groups = []
    for parameters in natural_order(times["parameters"]):
        part = times[times["parameters"] == parameters]
        rows = []
        for sha256 in part["instance_sha256"].unique():
            own: Any = part[part["instance_sha256"] == sha256].set_index("method")
            cells = [_cell(own.loc[name]) if name in own.index else Cell("") for name in methods]
            rows.append((Cell(own["instance"].iloc[0]), *cells))
        heading = (Cell(parameters), Cell(f"n = {len(rows)}"), *(Cell(""),) * (len(methods) - 1))
        groups.append(Group(heading, tuple(rows)))
    notes = (
        "Wall-clock seconds, seeds averaged, verification not included; the small number is how "
        "often it is the time of the reference method, where that ended ok. A cell is one "
        "instance; n: instances of a group.",
        "Failures: ≥ marks a task that did not end ok, with its time limit, or the time it took if "
        "that is longer. ×: the method does not support the placement.",
    )
    return Table("Search time in seconds", ("placement", *methods), tuple(groups), notes)


def _cell(row: Any) -> Cell:
    if pd.isna(row["seconds"]):
        return Cell("×")
    sign = "≥ " if row["is_limited"] else ""
    detail = "" if pd.isna(row["ratio"]) else f"{sign}{_times(row['ratio'])}"
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
        ("method", "mean ratio", "n", "not ok"),
        (Group((), rows),),
        (
            f"Geometric mean of the ratios over the n instances on which {reference} ended ok and "
            "the method ran. Not ok: instances among them with a task that did not end ok; they "
            "count with the time limit, so that the mean is one at least.",
        ),
    )
