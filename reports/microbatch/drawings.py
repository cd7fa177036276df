"""The best schedules drawn as charts (the form of [TESSEL24], Figure 8)."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pandas as pd

from boundmark.problems.microbatch import MicrobatchInstance, Schedule
from boundmark.reports.microbatch.gantt import repetend_spans, schedule_boxes
from boundmark.reports.pages.page import Section
from boundmark.reports.plots.hints import hint
from boundmark.reports.plots.plot import Plot, instance_plot
from boundmark.reports.problem_report import ProblemResults, Tables
from boundmark.reports.stored.documents import parsed_pair
from boundmark.reports.stored.store import ResultStore
from boundmark.reports.tables.rows import rows
from boundmark.reports.text import count, integer, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes


MOST_DRAWINGS = 12


def chosen_for_drawing(best: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of `best_schedules` to draw, at most `MOST_DRAWINGS`.

    One per layout, with and without a given number of micro-batches: that with the smallest
    bubble rate, and of these with the least memory.
    """
    having = best[best["bubble_rate"].notna() & best["solution_sha256"].notna()]
    is_period = having["micro_batches"] == 0
    order = having.assign(is_makespan=~is_period).sort_values(
        ["is_makespan", "bubble_rate", "memory"], kind="stable"
    )
    first = order.drop_duplicates(["dataset", "instance", "is_makespan"])
    # In the order of the instances, periods before makespans.
    ordered = pd.concat([first[~first["is_makespan"]].sort_index(), first[first["is_makespan"]]])
    return ordered.drop(columns="is_makespan").head(MOST_DRAWINGS)


Pair = tuple[MicrobatchInstance, Schedule]


def stored_pairs(chosen: pd.DataFrame, store: ResultStore) -> Mapping[str, Pair]:
    """Return instance and schedule of each row, by instance hash, where both are there.

    Raises
    ------
    StoreError
        If a stored instance or schedule is damaged.
    """
    found = {}
    for row in rows(chosen):
        pair = parsed_pair(store, row, MicrobatchInstance.from_json, Schedule.from_json)
        if pair is not None:
            found[row.instance_sha256] = pair
    return found


# Light, so that dark numbers are legible on them on any page.
KINDS: Mapping[str, str] = {"forward": "#9BD0F0", "backward": "#F5C26B", "weight": "#8FD9BE"}
NUMBER, EDGE, BAR = "#1C2024", "#5A636C", "#D5122A"

WIDEST, INCHES_PER_TICK, INCHES_PER_DEVICE = 15.0, 0.11, 0.27

# What is drawn of longer schedules, from the start.
MOST_BOXES = 1200


def gantt_data(boxes: pd.DataFrame) -> pd.DataFrame:
    """Return the boxes to draw: all of them, or those that start before a tick."""
    if len(boxes) <= MOST_BOXES:
        return boxes
    latest = boxes["start"].sort_values().iloc[MOST_BOXES]
    drawn: pd.DataFrame = boxes[boxes["start"] < latest]
    return drawn.reset_index(drop=True)


def gantt_size(data: pd.DataFrame) -> tuple[float, float]:
    """Return a width and a height that suit a chart, in inches."""
    length, shortest = int(data["end"].max()), int((data["end"] - data["start"]).min())
    width = min(WIDEST, max(7.4, 0.8 + INCHES_PER_TICK * length / shortest))
    return width, 0.9 + INCHES_PER_DEVICE * (int(data["device"].max()) + 1)


def draw_gantt(data: pd.DataFrame, axes: "Axes") -> None:
    """Draw one row per device, one box per block, and the spans of one period."""
    devices, length = int(data["device"].max()) + 1, int(data["end"].max())
    for kind in sorted(set(data["kind"]), key=list(KINDS).index):
        part = data[data["kind"] == kind]
        bars = axes.barh(
            part["device"], part["end"] - part["start"], 0.8, left=part["start"],
            color=KINDS[kind], edgecolor=EDGE, linewidth=0.5, label=kind,
        )  # fmt: skip
        for bar, box in zip(bars, rows(part), strict=True):
            hint(bar, f"{kind}, micro-batch {box.micro_batch}: {box.start:,} to {box.end:,}")
    _draw_numbers(data, axes, length)
    for at, (device, span) in enumerate(repetend_spans(data).items()):
        axes.vlines(
            span, device - 0.5, device + 0.5, color=BAR, linewidth=2.2, zorder=3,
            label="" if at else "one period",
        )  # fmt: skip
    axes.set(xlim=(0, length), ylim=(devices - 0.4, -0.6), xlabel="tick", ylabel="device")
    axes.set_yticks(range(devices))
    axes.grid(visible=False)
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="y", length=0)


def _draw_numbers(data: pd.DataFrame, axes: "Axes", length: int) -> None:
    """Write the number of its micro-batch into each box that is wide enough."""
    points_per_tick = 72 * axes.bbox.width / axes.figure.dpi / length
    for box in rows(data):
        text = str(box.micro_batch)
        duration = box.end - box.start
        size = min(8.0, points_per_tick * duration / (0.65 * len(text)))
        if size >= 3.5:
            axes.text(
                box.start + duration / 2, box.device, text,
                ha="center", va="center", color=NUMBER, fontsize=size,
            )  # fmt: skip


MEANING = (
    "The best verified schedule of an instance: one row per device, the number of the micro-batch "
    "in each block, and red bars around one period on each device. If the number of micro-batches "
    "is open, two repetitions more than the minimum are drawn."
)


def drawing_section(results: ProblemResults, tables: Tables) -> Section | None:
    """Return the section of drawings; None if no instance has one."""
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
            f" Not drawn: {count(left_out, 'schedule')}  of further instances. Each layout is "
            "drawn with the least memory that allows its smallest bubble rate."
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
    width, height = gantt_size(data)
    plot = instance_plot("schedule", row, caption, data, draw_gantt)
    return replace(plot, width=width, height=height, legend_is_above=True)
