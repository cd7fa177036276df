"""A schedule as a chart (the form of papers/tessel, Figure 8)."""

from collections.abc import Mapping

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from boundmark.reports.gantt.boxes import repetend_spans
from boundmark.reports.plots.style import new_figure
from boundmark.reports.tables.rows import rows

# Light, so that dark numbers are legible on them on any page.
KINDS: Mapping[str, str] = {"forward": "#9BD0F0", "backward": "#F5C26B", "weight": "#8FD9BE"}
NUMBER, EDGE, BAR = "#1C2024", "#5A636C", "#D5122A"

WIDEST, INCHES_A_TICK, INCHES_A_DEVICE = 15.0, 0.11, 0.27

# What is drawn of longer schedules, from the start.
MOST_BOXES = 1200


def gantt_data(boxes: pd.DataFrame) -> pd.DataFrame:
    """Return the boxes to draw: all of them, or those that start before a tick."""
    if len(boxes) <= MOST_BOXES:
        return boxes
    latest = boxes["start"].sort_values().iloc[MOST_BOXES]
    drawn: pd.DataFrame = boxes[boxes["start"] < latest]
    return drawn.reset_index(drop=True)


def draw_gantt(data: pd.DataFrame) -> Figure:
    """Draw a row a device, a box a block, and the spans of one period."""
    devices, length = int(data["device"].max()) + 1, int(data["end"].max())
    shortest = int((data["end"] - data["start"]).min())
    width = min(WIDEST, max(7.4, 0.8 + INCHES_A_TICK * length / shortest))
    figure = new_figure(width, 0.9 + INCHES_A_DEVICE * devices)
    axes = figure.subplots()
    points_a_tick = 72 * (width - 0.8) / length
    for box in rows(data):
        duration = box.end - box.start
        axes.add_patch(
            Rectangle(
                (box.start, box.device - 0.4), duration, 0.8,
                facecolor=KINDS[box.kind], edgecolor=EDGE, linewidth=0.5,
            )
        )  # fmt: skip
        text = str(box.micro_batch)
        size = min(8.0, points_a_tick * duration / (0.65 * len(text)))
        if size >= 3.5:
            axes.text(
                box.start + duration / 2, box.device, text,
                ha="center", va="center", color=NUMBER, fontsize=size,
            )  # fmt: skip
    spans = repetend_spans(data)
    for device, span in spans.items():
        axes.vlines(span, device - 0.5, device + 0.5, color=BAR, linewidth=2.2, zorder=3)
    axes.set(xlim=(0, length), ylim=(devices - 0.4, -0.6), xlabel="tick", ylabel="device")
    axes.set_yticks(range(devices))
    axes.grid(visible=False)
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="y", length=0)
    shown = set(data["kind"])
    handles: list[Patch] = [
        Patch(facecolor=color, edgecolor=EDGE, label=kind)
        for kind, color in KINDS.items()
        if kind in shown
    ]
    if spans:
        handles.append(Patch(color=BAR, label="one period"))
    figure.legend(
        handles=handles, loc="outside upper right", ncols=len(handles), handlelength=1.2, fontsize=8
    )
    return figure
