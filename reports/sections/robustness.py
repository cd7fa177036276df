"""The section on leads over a baseline when times are perturbed."""

from collections.abc import Callable
from typing import Any

import pandas as pd

from boundmark.reports.pages.page import Cell, Section
from boundmark.reports.sections.page_tables import PageColumn, page_table
from boundmark.reports.statistics.means import geometric_mean
from boundmark.reports.tables.rows import rows
from boundmark.reports.text import MISSING, integer, natural_order, percent


def _mean(leads: "pd.Series[Any]") -> float:
    """Return 1 - the geometric mean of costs over the baseline's."""
    return 1 - geometric_mean(1 - leads.dropna().astype("float64"))


def robustness_section(table: pd.DataFrame) -> Section | None:
    """Return the section on leads under noise, one row per method; None without any.

    Parameters
    ----------
    table
        From `robustness_table`.
    """
    if table.empty:
        return None
    means = (
        table.groupby(["method", "noise"], sort=True)
        .agg(
            instances=("instance_sha256", "nunique"),
            planned=("planned", _mean),
            lead=("lead", _mean),
            low=("low", "min"),
            ahead=("ahead", "mean"),
        )
        .reset_index()
    )
    lines = [
        {float(row.noise): row for row in rows(means[means["method"] == method])}
        for method in natural_order(means["method"].unique())
    ]
    noises = sorted(means["noise"].unique())
    columns = (
        PageColumn("method", lambda line: next(iter(line.values())).method, is_text=True),
        PageColumn("n", lambda line: integer(next(iter(line.values())).instances)),
        PageColumn("lead %", lambda line: percent(next(iter(line.values())).planned)),
        *(column for noise in noises for column in _columns(float(noise))),
    )
    baselines = ", ".join(natural_order(table["baseline"].unique()))
    notes = (
        f"Lead: 1 - cost / the baseline's cost ({baselines}), in the geometric mean over the n "
        f"instances: without noise, and with each time drawn {integer(table['draws'].iloc[0])} "
        "times from a log-normal distribution around its value. The noise is its standard "
        "deviation, relative to that value. Both solutions see the same times; their decisions "
        "are kept, and start times follow from these. Ahead: the share of draws in which the "
        "solution costs less than the baseline's. Below the lead: the 5 % quantile over draws, on "
        "the worst instance.",
    )
    return Section("Robustness of solutions", (page_table("", columns, [("", lines, "")], notes),))


def _columns(noise: float) -> tuple[PageColumn, ...]:
    def shown(cell: Callable[[Any], Cell | str]) -> Callable[[Any], Cell | str]:
        return lambda line: cell(line[noise]) if noise in line else MISSING

    return (
        PageColumn(
            f"noise {noise:g}: lead %",
            shown(lambda row: Cell(percent(row.lead), percent(row.low))),
        ),
        PageColumn("ahead %", shown(lambda row: percent(row.ahead))),
    )
