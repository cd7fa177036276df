"""Schedules as boxes, one for each block on each of its devices, and drawn with characters."""

from bisect import bisect_left, bisect_right
from collections.abc import Mapping

import numpy as np
import pandas as pd
from rich.text import Text

from boundmark.problems.microbatch import MicrobatchInstance, Schedule
from boundmark.reports.tables.rows import rows

BOX_COLUMNS = ["device", "start", "end", "micro_batch", "block", "kind", "repetition"]

# Beyond those that a schedule cannot do without, so that the pattern is seen to repeat.
MORE_REPETITIONS = 2


def schedule_boxes(instance: MicrobatchInstance, schedule: Schedule) -> pd.DataFrame:
    """Return the boxes of a drawing, by device and time.

    If the number of micro-batches is open, it is the schedule's least one and two more.

    Returns
    -------
    pandas.DataFrame
        Columns `device`, `start`, `end`, `micro_batch`, `block`, `kind`, and `repetition`: the
        number of the repetition that a block is part of, missing in warm-up and cool-down.
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
KINDS: Mapping[str, tuple[str, str]] = {
    "forward": ("black on bright_cyan", ">"),
    "backward": ("black on bright_yellow", "<"),
    "weight": ("black on bright_green", "-"),
}
BAR, BAR_STYLE = "┃", "bold red"
NARROWEST = 8
MOST_DEVICES = 32

Cells = list[tuple[str, str]]


def draw_schedule(boxes: pd.DataFrame, width: int) -> list[Text]:
    """Return the lines of a drawing that are at most `width` columns long, and notes below.

    A line is a device and each box holds the number of its micro-batch. Ticks are drawn two columns
    wide if there is room, or together if there are many, but no box vanishes: what does not fit is
    left out at the right, and a note says so. Red bars enclose one period on each device.

    Parameters
    ----------
    boxes
        From `schedule_boxes`.
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
        style, fill = KINDS[box.kind]
        first, end = axis.after_bars(box.start), axis.before_bars(box.end)
        text = str(box.micro_batch)[-(end - first) :].ljust(end - first, fill)
        cells[first:end] = [(character, style) for character in text]
    for tick in span:
        cells[axis.before_bars(tick)] = (BAR, BAR_STYLE)
    return cells


def _line(name: str, label: int, cells: Cells, room: int) -> Text:
    line = Text(name.rjust(label - 1) + " ", no_wrap=True)
    for character, style in cells[:room]:
        line.append(character, style)
    return line


def _legend(boxes: pd.DataFrame, has_bars: bool, width: int) -> Text:
    shown = set(boxes["kind"])
    legend = Text("", no_wrap=True)
    for kind, (style, fill) in KINDS.items():
        if kind in shown:
            legend.append(f"0{fill}", style)
            legend.append(f" {kind}  ")
    if has_bars:
        legend.append(BAR, BAR_STYLE)
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
