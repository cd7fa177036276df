"""The schedules themselves."""

import re
from typing import Any

import pandas as pd

from boundmark.reports.microbatch.gantt.boxes import schedule_boxes
from boundmark.reports.microbatch.gantt.chosen import chosen_for_drawing
from boundmark.reports.microbatch.plots.gantt import draw_gantt, gantt_data, gantt_size
from boundmark.reports.microbatch.stored_schedules import stored_pairs
from boundmark.reports.pages.page import Section
from boundmark.reports.plots.plot import Plot
from boundmark.reports.problem_report import ProblemResults, Tables
from boundmark.reports.tables.rows import rows
from boundmark.reports.text.number_text import count, integer, percent

MEANING = (
    "The best verified schedule of an instance: one row per device, the number of the micro-batch "
    "in each block, and red bars around one period on each device. Where the number of "
    "micro-batches is open, two repetitions more than the least are drawn."
)


def drawing_section(results: ProblemResults, tables: Tables) -> Section | None:
    """Return the drawings, and how many instances have none; None without any."""
    best = tables["best_schedules"]
    chosen = chosen_for_drawing(best)
    pairs = stored_pairs(chosen, results.store)
    plots = [
        _plot(row, schedule_boxes(*pairs[row.instance_sha256]))
        for row in rows(chosen)
        if row.instance_sha256 in pairs
    ]
    if not plots:
        return None
    left_out = int(best["solution_sha256"].notna().sum()) - len(plots)
    text = MEANING
    if left_out:
        text += (
            f" Not drawn: {count(left_out, 'schedule')} of other instances. Each layout is drawn "
            "with the least memory that allows its smallest bubble rate."
        )
    return Section("Schedules", plots=tuple(plots), paragraphs=(text,))


def _plot(row: Any, boxes: pd.DataFrame) -> Plot:
    data = gantt_data(boxes)
    objective = "makespan" if row.micro_batches else "period"
    bound = "proven optimal" if row.optimal else f"certified bound {integer(row.bound)}"
    caption = (
        f"By {row.method}: {objective} {integer(row.objective)}, {bound}, "
        f"bubble rate {percent(row.bubble_rate)}\N{NO-BREAK SPACE}%."
    )
    if len(data) < len(boxes):
        caption += f" Only the first {integer(data['end'].max())} ticks are drawn."
    label = f"{row.instance}, {row.parameters}"
    slug = re.sub(r"[^a-z0-9]+", "_", label.lower()).strip("_")
    width, height = gantt_size(data)
    return Plot(
        f"schedule_{slug}_{row.instance_sha256[:8]}",
        label,
        caption,
        data,
        draw_gantt,
        width=width,
        height=height,
        legend_is_above=True,
        instance=row.instance_sha256,
    )
