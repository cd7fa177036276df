"""The headline: how far best solutions are from best certified bounds."""

from functools import partial
from typing import Any

from boundmark.reports.pages.page import Cell, Group, Section, Table
from boundmark.reports.plots.gap_by_parameter import draw_gap_by_parameter, gap_by_parameter_data
from boundmark.reports.plots.gap_distribution import draw_gap_distribution, gap_distribution_data
from boundmark.reports.plots.plot import Plot
from boundmark.reports.problem_report import ProblemResults, Tables
from boundmark.reports.sections.methods_by_parameter import datasets_of
from boundmark.reports.statistics.geometric_mean import geometric_mean
from boundmark.reports.tables.rows import rows as rows_of
from boundmark.reports.text.number_text import MISSING, count, decimal, integer, percent

COLUMNS = ("n", "with gap", "mean gap (%)", "95 % interval", "mean LB/UB", "optimal")

NOTES = (
    "n: instances. With gap: those that have a verified solution (UB) and a certified lower "
    "bound (LB) above 0; the means are over these, the others are only counted.",
    "Mean gap: geometric mean of UB/LB, minus 1. Mean LB/UB: geometric mean, the form of "
    "Archer et al. (ICML 2024). Interval: percentile bootstrap over instances, 2,000 resamples.",
    "Optimal: UB = LB, so that the best solution is proven optimal.",
)


def gap_section(results: ProblemResults, tables: Tables) -> Section | None:
    """Return the gap table by data set and value, and its plots; None without instances in it."""
    grouping = results.grouping
    gaps = tables[grouping.named("gap")]
    if len(gaps) == 0:
        return None
    columns = (grouping.parameter or "group", *COLUMNS)
    blank = (Cell(""),) * (len(columns) - 1)
    groups = [
        Group(
            (Cell(dataset), *blank),
            tuple(
                _cells(str(value), row)
                for value, row in zip(part[grouping.column], rows_of(part), strict=True)
            ),
            dataset,
        )
        for dataset, part in ((name, gaps[gaps["dataset"] == name]) for name in datasets_of(gaps))
    ]
    title = "Gap between best solution and best certified bound"
    table = Table(title, columns, tuple(groups), NOTES)
    return Section("Gaps", (table,), (_mean_plot(results, tables), _distribution_plot(results)))


def mean_gap(results: ProblemResults, tables: Tables) -> str:
    """Return the mean gap over all instances in a sentence, for the summary; none without gaps."""
    gaps = results.certified["gap"].dropna()
    if len(gaps) == 0:
        return ""
    mean = percent(geometric_mean(1 + gaps) - 1)
    over = f"{count(len(gaps), 'instance')} of {results.problem}"
    return f"The mean gap, GM(UB/LB) - 1, is {mean}\N{NO-BREAK SPACE}% over {over}."


def _cells(value: str, row: Any) -> tuple[Cell, ...]:
    interval = f"{percent(row.mean_gap_low)} to {percent(row.mean_gap_high)}"
    return (
        Cell(value),
        Cell(integer(row.instances)),
        Cell(integer(row.bounded)),
        Cell(percent(row.mean_gap)),
        Cell(interval if row.bounded > 1 else MISSING),
        Cell(decimal(row.mean_quality, 4)),
        Cell(integer(row.optimal)),
    )


def _mean_plot(results: ProblemResults, tables: Tables) -> Plot:
    grouping = results.grouping
    name = grouping.named("gap")
    return Plot(
        name,
        grouping.titled("Mean gap"),
        "Geometric mean of UB/LB minus 1, with 95 % bootstrap intervals over instances.",
        gap_by_parameter_data(tables[name], grouping.column),
        partial(draw_gap_by_parameter, by=grouping.column, label=grouping.axis_label),
    )


def _distribution_plot(results: ProblemResults) -> Plot:
    grouping = results.grouping
    return Plot(
        "gap_distribution",
        "Distribution of gaps",
        "Fraction of instances whose gap is at most the value on the axis; a curve ends below 1 "
        "where some of its instances have no gap.",
        gap_distribution_data(results.certified, grouping.column),
        partial(draw_gap_distribution, by=grouping.column, heading=grouping.heading),
    )
