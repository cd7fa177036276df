"""The headline: how far best solutions are from best certified bounds."""

from collections.abc import Sequence

from boundmark.reports.analysis import Analysis
from boundmark.reports.number_text import MISSING, decimal, integer, percent
from boundmark.reports.page import Cell, Group, Plot, Section, Table
from boundmark.reports.sections.by_k import datasets_of
from boundmark.reports.tables.rows import rows as rows_of


def gap_section(analysis: Analysis, plots: Sequence[Plot]) -> Section | None:
    """Return the gap table by data set and k, and its plots; None without k."""
    gaps = analysis.gap_by_k
    if len(gaps) == 0:
        return None
    groups = []
    for dataset in datasets_of(gaps):
        rows = [
            (
                Cell(f"{row.k}"),
                Cell(integer(row.instances)),
                Cell(integer(row.bounded)),
                Cell(percent(row.mean_gap)),
                Cell(
                    f"{percent(row.mean_gap_low)} to {percent(row.mean_gap_high)}"
                    if row.bounded > 1
                    else MISSING
                ),
                Cell(decimal(row.mean_quality, 4)),
                Cell(integer(row.optimal)),
            )
            for row in rows_of(gaps[gaps["dataset"] == dataset])
        ]
        blank = (Cell(""),) * 6
        groups.append(Group((Cell(dataset), *blank), tuple(rows)))
    columns = ("k", "n", "with gap", "mean gap (%)", "95 % interval", "mean LB/UB", "optimal")
    notes = (
        "n: instances. With gap: those that have a verified solution (UB) and a certified lower "
        "bound (LB) above 0; the means are over these, the others are only counted.",
        "Mean gap: geometric mean of UB/LB, minus 1. Mean LB/UB: geometric mean, the form of "
        "Archer et al. (ICML 2024). Interval: percentile bootstrap over instances, 2,000 "
        "resamples.",
        "Optimal: UB = LB, so that the best solution is proven optimal.",
    )
    table = Table(
        "Gap between best solution and best certified bound", columns, tuple(groups), notes
    )
    return Section("Gaps", (table,), tuple(plots))
