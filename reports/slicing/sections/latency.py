"""How much slicing saves against one device and against equal slices."""

from typing import Any

import pandas as pd

from boundmark.reports.pages.page import Cell, Group, Section, Table
from boundmark.reports.problem_report import ProblemResults, Tables
from boundmark.reports.statistics.geometric_mean import geometric_mean
from boundmark.reports.tables.rows import rows
from boundmark.reports.text.number_text import MISSING, integer, percent

COLUMNS = (
    "instance", "cluster", "parameters", "best latency", "bound", "gap %", "one device", "saved %",
    "equal slices", "saved %", "by",
)  # fmt: skip

NOTES = (
    "Latency in ticks of the best verified plan; gap: latency over certified bound, minus 1. "
    "Saved: 1 minus the latency over that of `one-device` or `equal-slices`; the mean is 1 minus "
    "the geometric mean of these ratios, over the n instances for which both were found. Zhang et "
    "al., MemoriaNova (2024), report 33.9 % less latency for models and devices of their own.",
)


def latency_section(results: ProblemResults, tables: Tables) -> Section | None:
    """Return the table, None without any plan."""
    latency = tables["latency"]
    if len(latency) == 0:
        return None
    groups = tuple(
        _group(str(device), str(parameters), part)
        for (device, parameters), part in latency.groupby(["device", "parameters"], sort=False)
    )
    table = Table(
        "Latency against one device and equal slices", COLUMNS, groups, NOTES, text_columns=3,
        text_columns_right=1,
    )  # fmt: skip
    return Section("Latency", (table,))


def saved(latency: "pd.Series[Any]", reference: "pd.Series[Any]") -> tuple[float, int]:
    """Return the mean saving, and over how many instances that is."""
    known = latency.notna() & reference.notna() & (latency > 0) & (reference > 0)
    ratios = (latency[known] / reference[known]).astype("float64")
    return 1 - geometric_mean(ratios), len(ratios)


def _group(device: str, parameters: str, part: pd.DataFrame) -> Group:
    means = [saved(part["latency"], part[column]) for column in ("one_device", "equal_slices")]
    heading = [Cell("all of them"), Cell(device or MISSING), Cell(parameters), *[Cell("")] * 8]
    for place, (mean, number) in zip((7, 9), means, strict=True):
        heading[place] = Cell(percent(mean), f"n = {number}")
    return Group(tuple(heading), tuple(_row(row) for row in rows(part)))


def _row(row: Any) -> tuple[Cell, ...]:
    gap = row.latency / row.bound - 1 if not pd.isna(row.bound) and row.bound > 0 else None
    return (
        Cell(f"{row.dataset}/{row.instance}"),
        Cell(row.device or MISSING),
        Cell(row.parameters),
        Cell(integer(row.latency)),
        Cell(integer(row.bound)),
        Cell(percent(gap)),
        Cell(integer(row.one_device)),
        Cell(_saving(row.latency, row.one_device)),
        Cell(integer(row.equal_slices)),
        Cell(_saving(row.latency, row.equal_slices)),
        Cell(row.method),
    )


def _saving(latency: Any, reference: Any) -> str:
    return MISSING if pd.isna(reference) or not reference else percent(1 - latency / reference)
