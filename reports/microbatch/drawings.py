"""Gantt charts of schedules, for a terminal and for the page."""

from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from rich.text import Text

from boundmark.problems.microbatch import MicrobatchInstance, Schedule
from boundmark.reports.pages.page import Section
from boundmark.reports.plots import Plot, hint, instance_plot
from boundmark.reports.problem_report import ProblemResults, Tables
from boundmark.reports.stored.store import ResultStore, parsed_pair
from boundmark.reports.tables.rows import rows
from boundmark.reports.text import count, integer, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes


BOX_COLUMNS = ["device", "start", "end", "micro_batch", "block", "kind", "repetition"]

# Beyond those that a schedule cannot do without, so that the pattern is seen to repeat.
MORE_REPETITIONS = 2


def schedule_boxes(instance: MicrobatchInstance, schedule: Schedule) -> pd.DataFrame:
    """Return the boxes of a drawing, by device and time.

    If the number of micro-batches is open, it is the schedule's least one and two more.
    """
    layout, repetend = instance.layout, schedule.repetend
    count = instance.micro_batches
    if not count:
        count = schedule.micro_batches + (MORE_REPETITIONS if repetend else 0)
    starts = schedule.starts_for(count)
    more = count - schedule.micro_batches
    parts = []
    for number, block in enumerate(layout.blocks):
        micro_batch = np.arange(count)
        box = pd.DataFrame({"start": starts[:, number], "micro_batch": micro_batch})
        box["end"] = box["start"] + block.duration
        box["block"], box["kind"] = number, block.kind
        repetition = pd.array(
            micro_batch - (repetend.members[number] if repetend else count), dtype="Int64"
        )
        box["repetition"] = repetition
        box.loc[~box["repetition"].between(0, more), "repetition"] = pd.NA
        parts += [box.assign(device=device) for device in block.devices]
    return pd.concat(parts)[BOX_COLUMNS].sort_values(["device", "start"]).reset_index(drop=True)


def repetend_spans(boxes: pd.DataFrame) -> Mapping[int, tuple[int, int]]:
    """Return when the first repetition begins on each device, and when the second one does.

    On a device, the two are a period apart. Devices without a second repetition have no span.
    """
    begins = boxes.dropna(subset="repetition").groupby(["device", "repetition"])["start"].min()
    first, second = (begins[begins.index.get_level_values(1) == at].droplevel(1) for at in (0, 1))
    return {int(device): (int(first[device]), int(second[device])) for device in second.index}


# Style, and what fills a box after its number, so that kinds differ without colours too.
STYLES: Mapping[str, tuple[str, str]] = {
    "forward": ("black on bright_cyan", ">"),
    "backward": ("black on bright_yellow", "<"),
    "weight": ("black on bright_green", "-"),
}
MARK, MARK_STYLE = "┃", "bold red"
NARROWEST = 8
MOST_DEVICES = 32

Cells = list[tuple[str, str]]


def draw_schedule(boxes: pd.DataFrame, width: int) -> list[Text]:
    """Return the lines of a drawing that are at most `width` columns long, and notes below.

    A line is a device and each box holds the number of its micro-batch. Ticks are drawn two columns
    wide if there is room, or together if there are many, but no box vanishes: what does not fit is
    left out at the right, and a note says so. Red bars enclose one period on each device.
    """
    devices = int(boxes["device"].max()) + 1
    length = int(boxes["end"].max())
    label = len(str(devices - 1)) + 1
    room = max(NARROWEST, width - label)
    axis = _Axis.fitting(boxes, length, room)
    lines = [_line("", label, axis.ruler(length, room), room)]
    for device in range(min(devices, MOST_DEVICES)):
        cells = _device_cells(boxes[boxes["device"] == device], axis, axis.spans.get(device, ()))
        lines.append(_line(str(device), label, cells, room))
    lines.append(_legend(boxes, bool(axis.bars), width))
    lines += [Text(note[:width]) for note in _notes(axis, length, room, devices)]
    return lines


class _Axis:
    """Maps ticks to columns: `wide` columns stand for `scale` ticks, and each bar takes one."""

    def __init__(self, wide: int, scale: int, spans: Mapping[int, tuple[int, int]]) -> None:
        self.wide, self.scale, self.spans = wide, scale, spans
        self.bars = sorted({tick for span in spans.values() for tick in span})

    @classmethod
    def fitting(cls, boxes: pd.DataFrame, length: int, room: int) -> "_Axis":
        spans = repetend_spans(boxes)
        free = max(1, room - len(cls(1, 1, spans).bars))
        shortest = int((boxes["end"] - boxes["start"]).min())
        return cls(2 if 2 * length <= free else 1, min(shortest, max(1, -(-length // free))), spans)

    def after_bars(self, tick: int) -> int:
        return tick * self.wide // self.scale + bisect_right(self.bars, tick)

    def before_bars(self, tick: int) -> int:
        return tick * self.wide // self.scale + bisect_left(self.bars, tick)

    def ruler(self, length: int, room: int) -> Cells:
        text = ""
        for tick in range(0, length, max(1, 10 * self.scale // self.wide)):
            text = text.ljust(self.after_bars(tick))
            mark = f"{tick:,}"
            if len(text) == self.after_bars(tick) and len(text) + len(mark) <= room:
                text += mark + " "
        return [(character, "dim") for character in text]


def _device_cells(boxes: pd.DataFrame, axis: _Axis, span: tuple[int, ...]) -> Cells:
    last = max([*boxes["end"], *span], default=0)
    cells = [(" ", "")] * (axis.before_bars(last) + 1)
    for box in rows(boxes):
        style, fill = STYLES[box.kind]
        first, end = axis.after_bars(box.start), axis.before_bars(box.end)
        text = str(box.micro_batch)[-(end - first) :].ljust(end - first, fill)
        cells[first:end] = [(character, style) for character in text]
    for tick in span:
        cells[axis.before_bars(tick)] = (MARK, MARK_STYLE)
    return cells


def _line(name: str, label: int, cells: Cells, room: int) -> Text:
    line = Text(name.rjust(label - 1) + " ", no_wrap=True)
    for character, style in cells[:room]:
        line.append(character, style)
    return line


def _legend(boxes: pd.DataFrame, has_bars: bool, width: int) -> Text:
    shown = set(boxes["kind"])
    legend = Text("", no_wrap=True)
    for kind, (style, fill) in STYLES.items():
        if kind in shown:
            legend.append(f"0{fill}", style)
            legend.append(f" {kind}  ")
    if has_bars:
        legend.append(MARK, MARK_STYLE)
        legend.append(" one period")
    legend.truncate(width)
    return legend


def _notes(axis: _Axis, length: int, room: int, devices: int) -> list[str]:
    notes = []
    if axis.scale > 1:
        notes.append(f"A column is {axis.scale:,} ticks.")
    if axis.before_bars(length) > room:
        shown = bisect_left(range(length), room, key=axis.after_bars)
        notes.append(f"Cut at tick {shown:,} of {length:,}.")
    if devices > MOST_DEVICES:
        notes.append(f"{devices - MOST_DEVICES} more devices are not drawn.")
    return notes


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
    """Return instance and schedule of each row, by instance hash, where both are there."""
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
