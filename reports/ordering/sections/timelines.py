"""Memory over time, in the default order and in the best one."""

import re
from typing import Any

import pandas as pd

from boundmark.reports.ordering.plots.timeline import draw_timeline
from boundmark.reports.ordering.tables.savings import best_orders
from boundmark.reports.pages.page import Section
from boundmark.reports.plots.plot import Plot
from boundmark.reports.problem_report import ProblemResults, Tables
from boundmark.reports.tables.rows import rows
from boundmark.reports.text.number_text import integer, percent

MEANING = (
    "Memory while each operator runs, in the default order and in the best verified one; dotted "
    "lines are at the peaks. Drawn are the models in which most is saved, one instance each."
)


def timeline_section(results: ProblemResults, tables: Tables) -> Section | None:
    """Return a plot per instance; None if no order saves anything."""
    data = tables["timelines"]
    if len(data) == 0:
        return None
    best = best_orders(tables["savings"])
    chosen = best[best["instance_sha256"].isin(data["instance_sha256"])]
    plots = tuple(
        _plot(row, data[data["instance_sha256"] == row.instance_sha256]) for row in rows(chosen)
    )
    return Section("Memory over time", plots=plots, paragraphs=(MEANING,))


def _plot(row: Any, data: pd.DataFrame) -> Plot:
    label = f"{row.instance}, {row.parameters}"
    slug = re.sub(r"[^a-z0-9]+", "_", label.lower()).strip("_")
    bound = (
        "proven optimal" if row.objective == row.bound else "certified bound " + integer(row.bound)
    )
    caption = (
        f"By {row.method}: {row.param_metric} {integer(row.objective)} B, {bound}; "
        f"{percent(row.saved)}\N{NO-BREAK SPACE}% less than the default order."
    )
    return Plot(
        f"timeline_{slug}_{row.instance_sha256[:8]}",
        label,
        caption,
        data.reset_index(drop=True),
        draw_timeline,
        legend_is_above=True,
        instance=row.instance_sha256,
    )
