"""The placements themselves, drawn: what devices run, send and receive, and when."""

import re
from typing import Any

import pandas as pd

from boundmark.reports.pages.page import Section
from boundmark.reports.placement.best import best_placements, stored_placement
from boundmark.reports.placement.gantt.spans import schedule_spans
from boundmark.reports.placement.plots.gantt import draw_gantt, gantt_data, gantt_height
from boundmark.reports.plots.plot import Plot
from boundmark.reports.problem_report import ProblemResults, Tables
from boundmark.reports.tables.rows import rows
from boundmark.reports.text.number_text import count, integer, percent

MOST_DRAWINGS = 12

MEANING = (
    "The best verified placement of an instance: for each device that is in use, the operators "
    "that it runs, and below them the tensors that it sends and receives. Devices have their "
    "numbers in the cluster, from 0 up."
)


def drawing_section(results: ProblemResults, tables: Tables) -> Section | None:
    """Return charts of the best placements on more than one device; None without any."""
    best = best_placements(results.tasks, results.certified)
    plots: list[Plot] = []
    single = left_out = 0
    for row in rows(best):
        if len(plots) == MOST_DRAWINGS:
            left_out += 1
            continue
        found = stored_placement(results.store, row.instance_sha256, row.solution_sha256)
        if found is None:
            left_out += 1
            continue
        spans = schedule_spans(*found)
        if spans["device"].nunique() < 2:
            single += 1
            continue
        plots.append(_plot(row, spans))
    if not plots:
        return None
    text = MEANING
    if single:
        text += f" Of {count(single, 'instance')} the best placement is on one device."
    if left_out:
        text += f" Not drawn: {count(left_out, 'placement')} of further instances."
    return Section("Placements", plots=tuple(plots), paragraphs=(text,))


def _plot(row: Any, spans: pd.DataFrame) -> Plot:
    data = gantt_data(spans)
    if row.optimal:
        bound = "proven optimal"
    elif pd.isna(row.bound):
        bound = "no certified bound"
    else:
        bound = f"certified bound {integer(row.bound)}, gap {percent(row.gap)}\N{NO-BREAK SPACE}%"
    caption = f"By {row.method}: makespan {integer(row.objective)}, {bound}."
    if len(data) < len(spans):
        caption += " Operators without a visible gap between them are one box."
    label = f"{row.instance}, {row.parameters}"
    slug = re.sub(r"[^a-z0-9]+", "_", label.lower()).strip("_")
    return Plot(
        f"placement_{slug}_{row.instance_sha256[:8]}",
        label,
        caption,
        data,
        draw_gantt,
        width=9.5,
        height=gantt_height(data),
        instance=str(row.instance_sha256),
    )
