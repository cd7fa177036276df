"""First section: how far from optimal each method is, certified, and in what time."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from boundmark.reports.pages.page import Cell, Section, Table
from boundmark.reports.problem_report import ProblemResults
from boundmark.reports.sections.page_tables import PageColumn, datasets_of, page_table
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
            heading = f"{dataset}: {count(int(part['instances'].iloc[0]), 'instance')}"
            groups.append((heading, rows(_ordered(part, highlight)), dataset))
    notes: tuple[str, ...] = (f"The gap is that to {REFERENCES[role]}.", *NOTES)
    left_out = int((gaps["comparison"] >= MOST_COMPARISONS).sum())
    if left_out:
        notes += (
            f"Comparisons over fewer instances ({count(left_out, 'row')}): method_gaps.parquet.",
        )
    return page_table(TITLES[role], COLUMNS, groups, notes)


def _ordered(part: pd.DataFrame, highlight: Sequence[str]) -> pd.DataFrame:
    """Return the methods of a comparison, those that were asked for first, then by gap."""
    is_smallest = (part["mean_gap"] == part["mean_gap"].min()) & (len(part) > 1)
    marked = part.assign(is_smallest=is_smallest, is_asked_for=part["method"].isin(highlight))
    ordered = marked.assign(
        behind=~marked["is_asked_for"], gap=part["mean_gap"].fillna(float("inf"))
    )
    return ordered.sort_values(["behind", "gap", "method"], kind="stable")


def _delivered(row: Any) -> str:
    return f"{row.delivered}/{row.instances}" if row.delivered < row.instances else ""


def _interval(row: Any) -> str:
    if row.mean_gap_low != row.mean_gap_low:
        return MISSING
    return f"{percent(row.mean_gap_low)} to {percent(row.mean_gap_high)}"


COLUMNS = (
    PageColumn("method", lambda row: Cell(row.method, best=row.is_asked_for), is_text=True),
    PageColumn("n", lambda row: Cell(integer(row.common), _delivered(row))),
    PageColumn("gap (%)", lambda row: Cell(percent(row.mean_gap), best=row.is_smallest)),
    PageColumn("95 % interval", _interval),
    PageColumn("to best (%)", lambda row: percent(row.mean_gap_to_best)),
    PageColumn("optimal", lambda row: integer(row.optimal)),
    PageColumn("wins", lambda row: integer(row.wins)),
    PageColumn("ties", lambda row: integer(row.ties)),
    PageColumn("seconds", lambda row: seconds(row.mean_seconds)),
    PageColumn("tasks not ok", lambda row: integer(row.failed)),
)
