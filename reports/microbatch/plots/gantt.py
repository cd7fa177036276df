"""A schedule as a chart (the form of [TESSEL24], Figure 8)."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pandas as pd

from boundmark.reports.microbatch.gantt.boxes import repetend_spans
from boundmark.reports.plots.hints import hint
from boundmark.reports.tables.rows import rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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
