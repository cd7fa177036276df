"""First section: how far from optimal each method is, certified, and in what time."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from boundmark.reports.pages.page import Cell, Group, Section, Table
from boundmark.reports.problem_report import ProblemResults
from boundmark.reports.sections.methods_by_parameter import datasets_of
from boundmark.reports.tables.rows import rows
from boundmark.reports.text import MISSING, count, integer, percent, seconds

# Comparisons of one data set on the page; the table that is stored has all.
MOST_COMPARISONS = 4

TITLE = "How far from optimal"

TITLES = {
    "solutions": "How far are solutions from optimal, at most?",
    "bounds": "How far are bounds from optimal, at most?",
}
REFERENCES = {
    "solutions": 'the best certified bound of the instance, and of "to best" the best verified '
    "solution of all methods",
    "bounds": 'the best verified solution of the instance, and of "to best" the best certified '
    "bound of all methods",
}
COLUMNS = (
    "method", "n", "gap (%)", "95 % interval", "to best (%)", "optimal", "wins", "ties", "seconds",
    "tasks not ok",
)  # fmt: skip

NOTES = (
    "Methods stand together only over instances that all of them treated; of methods that were "
    "given other instances, each such set is a comparison of its own, and methods that share no "
    "instance are not compared. n: instances on which every method of the comparison delivered, "
    "one that delivered nowhere left out; the small number says on how many of the comparison's "
    "instances the method itself did.",
    "Gap: geometric mean of UB/LB, minus 1, over these n instances, with seeds averaged within an "
    "instance first and a percentile bootstrap interval over instances. Optimal: instances on "
    "which a seed is proven optimal. Wins and ties: over all instances of the comparison. "
    "Seconds: geometric mean of wall-clock time, shifted by 1 s, failed tasks with their limit.",
)


def answer_section(results: ProblemResults, gaps: pd.DataFrame) -> Section | None:
    """Return the tables of certified gaps by method; None where no method has any.

    Parameters
    ----------
    gaps
        From `method_gaps`.
    """
    found = [
        _table(role, gaps[gaps["role"] == role], results.highlight)
        for role in TITLES
        if (gaps["role"] == role).any()
    ]
    return Section(TITLE, tuple(found)) if found else None


def _table(role: str, gaps: pd.DataFrame, highlight: Sequence[str]) -> Table:
    groups = []
    for dataset in datasets_of(gaps):
        own = gaps[gaps["dataset"] == dataset]
        for _, part in list(own.groupby("comparison"))[:MOST_COMPARISONS]:
            groups.append(_group(dataset, part, highlight))
    notes: tuple[str, ...] = (f"The gap is that to {REFERENCES[role]}.", *NOTES)
    left_out = int((gaps["comparison"] >= MOST_COMPARISONS).sum())
    if left_out:
        notes += (
            f"Comparisons over fewer instances ({count(left_out, 'row')}): method_gaps.parquet.",
        )
    return Table(TITLES[role], COLUMNS, tuple(groups), notes)


def _group(dataset: str, part: pd.DataFrame, highlight: Sequence[str]) -> Group:
    number = int(part["instances"].iloc[0])
    heading = Cell(f"{dataset}: {count(number, 'instance')}")
    ordered = part.assign(
        behind=~part["method"].isin(highlight), gap=part["mean_gap"].fillna(float("inf"))
    ).sort_values(["behind", "gap", "method"], kind="stable")
    smallest = part["mean_gap"].min() if len(part) > 1 else None
    blank = (Cell(""),) * (len(COLUMNS) - 1)
    lines = tuple(_cells(row, smallest, row.method in highlight) for row in rows(ordered))
    return Group((heading, *blank), lines, dataset)


def _cells(row: Any, smallest: float | None, is_highlighted: bool) -> tuple[Cell, ...]:
    has_interval = row.mean_gap_low == row.mean_gap_low
    interval = f"{percent(row.mean_gap_low)} to {percent(row.mean_gap_high)}"
    detail = f"{row.delivered}/{row.instances}" if row.delivered < row.instances else ""
    return (
        Cell(row.method, best=is_highlighted),
        Cell(integer(row.common), detail),
        Cell(percent(row.mean_gap), best=smallest is not None and row.mean_gap == smallest),
        Cell(interval if has_interval else MISSING),
        Cell(percent(row.mean_gap_to_best)),
        Cell(integer(row.optimal)),
        Cell(integer(row.wins)),
        Cell(integer(row.ties)),
        Cell(seconds(row.mean_seconds)),
        Cell(integer(row.failed)),
    )
