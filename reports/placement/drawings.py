"""Gantt charts of placements, for a terminal and for the page."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from rich.text import Text

from boundmark.problems.placement import PlacementInstance, PlacementSchedule
from boundmark.problems.placement.schedule import moves
from boundmark.reports.pages.page import Section
from boundmark.reports.plots import COLOURS, Plot, hint, instance_plot
from boundmark.reports.problem_report import ProblemResults, Tables
from boundmark.reports.stored.store import parsed_pair
from boundmark.reports.tables.rows import best_rows, rows
from boundmark.reports.text import PERCENT, count, gap_percent, integer

if TYPE_CHECKING:
    from matplotlib.axes import Axes


COLUMNS = ["device", "lane", "start", "end", "name"]
RUN, SEND, RECEIVE = "run", "send", "receive"
LANES = (RUN, SEND, RECEIVE)


def schedule_spans(instance: PlacementInstance, schedule: PlacementSchedule) -> pd.DataFrame:
    """Return one row per operator, and two per transfer; those that take no time are left out."""
    graph, devices = instance.graph, schedule.devices
    every = np.arange(graph.nodes)
    tensors, _, begin = schedule.transfers.T
    sources, targets, ticks = moves(graph, schedule, instance.transfers)
    written_by = [graph.names[v] for v in graph.producer[tensors]]
    parts = [
        (devices, RUN, schedule.starts, graph.duration[every, devices], list(graph.names)),
        (sources, SEND, begin, ticks, written_by),
        (targets, RECEIVE, begin, ticks, written_by),
    ]
    rows = pd.concat(
        pd.DataFrame(
            {"device": where, "lane": lane, "start": start, "end": start + length, "name": names}
        )
        for where, lane, start, length, names in parts
    )
    rows = rows[rows["end"] > rows["start"]]
    return rows[COLUMNS].sort_values(["device", "start"], kind="stable").reset_index(drop=True)


# From idle to busy all the time.
SHADES = " ░▒▓█"
STYLES = {RUN: "bright_cyan", SEND: "bright_yellow", RECEIVE: "bright_green"}
MARKS = {RUN: "", SEND: "→", RECEIVE: "←"}
LEAST_COLUMNS = 10


def draw_placement(
    spans: pd.DataFrame, length: int, device_names: Sequence[str], width: int
) -> list[Text]:
    """Return the lines of a drawing that are at most `width` columns long, with a legend.

    A device has a line for what it runs, and one each for what it sends and receives, if anything.
    Devices that run nothing are left out.
    """
    if not len(spans):
        return []
    label = max(len(name) for name in device_names) + 3
    columns = max(LEAST_COLUMNS, width - label)
    lines = []
    for device in sorted(set(spans["device"])):
        for lane in LANES:
            own = spans[(spans["device"] == device) & (spans["lane"] == lane)]
            if not len(own) and lane != RUN:
                continue
            name = f"{device_names[device] if lane == RUN else ''} {MARKS[lane]}".rstrip()
            line = Text(name.rjust(label - 1) + " ", no_wrap=True)
            line.append(shades(busy_shares(own, length, columns)), STYLES[lane])
            line.truncate(width)
            lines.append(line)
    legend = Text(" " * label, no_wrap=True)
    legend.append(f"0 to {length:,}: run", STYLES[RUN])
    legend.append(f"  {MARKS[SEND]} send", STYLES[SEND])
    legend.append(f"  {MARKS[RECEIVE]} receive", STYLES[RECEIVE])
    legend.truncate(width)
    return [*lines, legend]


def busy_shares(spans: pd.DataFrame, length: int, columns: int) -> NDArray[np.float64]:
    """Return the share of each column's time that spans, which do not overlap, take up."""
    edges = np.arange(columns + 1) * (length / columns)
    start, end = (spans[name].to_numpy(dtype=float) for name in ("start", "end"))
    before = np.clip(edges[:, None], start, end) - start
    return np.asarray(np.diff(before.sum(axis=1)) / (length / columns))


def shades(shares: NDArray[np.float64]) -> str:
    """Return a character for each share; one above 0 is never blank."""
    last = len(SHADES) - 1
    levels = np.where(shares > 0, np.clip(np.rint(shares * last), 1, last), 0).astype(int)
    return "".join(SHADES[level] for level in levels)


NAMES = ["dataset", "instance", "device", "parameters", "instance_sha256"]


def best_placements(tasks: pd.DataFrame, certified: pd.DataFrame) -> pd.DataFrame:
    """Return the best verified placement of each instance."""
    solved = tasks[tasks["objective"].notna() & tasks["solution_sha256"].notna()]
    best = best_rows(solved, "objective")[[*NAMES, "method", "objective", "solution_sha256"]]
    known = certified[["instance_sha256", "bound", "gap", "optimal"]]
    return known.merge(best, on="instance_sha256")[
        [*NAMES, "method", "objective", "solution_sha256", "bound", "gap", "optimal"]
    ].reset_index(drop=True)


# Below the middle of a device's row, and the height, both as parts of the row: what it runs is
# what one looks for first.
PLACES = {RUN: (-0.16, 0.46), SEND: (0.18, 0.17), RECEIVE: (0.36, 0.17)}
FILLS = {RUN: COLOURS[4], SEND: COLOURS[5], RECEIVE: COLOURS[2]}
EDGE = "#5A636C"

INCHES_PER_DEVICE = 0.62

# With more boxes than this, edges would hide the boxes.
MOST_EDGED = 500

# Boxes without a gap between them are one if there are more than this.
MOST_BOXES = 1500

# A gap of less than this part of the makespan is not seen.
NARROWEST = 1 / 4000


def gantt_data(spans: pd.DataFrame) -> pd.DataFrame:
    """Return the boxes to draw."""
    boxes = spans.assign(count=1)
    return _joined(boxes) if len(boxes) > MOST_BOXES else boxes


def _joined(boxes: pd.DataFrame) -> pd.DataFrame:
    """Merge neighbouring boxes of a device's lane whose gap is too narrow to be seen."""
    narrowest = int(boxes["end"].max()) * NARROWEST
    ordered = boxes.sort_values(["device", "lane", "start"], kind="stable")
    lane = ordered.groupby(["device", "lane"])
    gap = ordered["start"] - lane["end"].shift()
    number = (gap.isna() | (gap > narrowest)).cumsum()
    joined = ordered.groupby(number).agg(
        device=("device", "first"),
        lane=("lane", "first"),
        start=("start", "min"),
        end=("end", "max"),
        name=("name", "first"),
        count=("count", "sum"),
    )
    return joined.sort_values(["device", "start"], kind="stable").reset_index(drop=True)


def gantt_height(data: pd.DataFrame) -> float:
    """Return a height that suits a chart, in inches."""
    return 0.8 + INCHES_PER_DEVICE * data["device"].nunique()


def draw_gantt(data: pd.DataFrame, axes: "Axes") -> None:
    """Draw a row per device in use: its operators, and below them its transfers."""
    row = {device: at for at, device in enumerate(sorted(set(data["device"])))}
    length = int(data["end"].max())
    width = 0.3 if len(data) <= MOST_EDGED else 0.0
    for lane in LANES:
        part = data[data["lane"] == lane]
        if not len(part):
            continue
        below, height = PLACES[lane]
        bars = axes.barh(
            np.array([row[device] + below for device in part["device"]]),
            part["end"] - part["start"], height, left=part["start"],
            color=FILLS[lane], edgecolor=EDGE, linewidth=width, label=lane,
        )  # fmt: skip
        for bar, box in zip(bars, rows(part), strict=True):
            more = f" and {box.count - 1:,} more" if box.count > 1 else ""
            hint(bar, f"{box.name}{more}: {box.start:,} to {box.end:,}")
    axes.set(xlim=(0, length), ylim=(len(row) - 0.45, -0.5), xlabel="tick", ylabel="device")
    axes.set_yticks(range(len(row)), [str(device) for device in row])
    axes.grid(visible=False)
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="y", length=0)


MOST_DRAWINGS = 12

MEANING = (
    "The best verified placement of an instance: for each device that is in use, the operators "
    "that it runs, and below them the tensors that it sends and receives. Devices are numbered as "
    "in the cluster, from 0."
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
        found = parsed_pair(
            results.store, row, PlacementInstance.from_json, PlacementSchedule.from_json
        )
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
        text += f" The best placement of {count(single, 'instance')} is on one device."
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
        bound = f"certified bound {integer(row.bound)}, gap {gap_percent(row.gap, PERCENT)}"
    caption = f"By {row.method}: makespan {integer(row.objective)}, {bound}."
    if len(data) < len(spans):
        caption += " Operators without a visible gap between them are one box."
    plot = instance_plot("placement", row, caption, data, draw_gantt)
    return replace(plot, width=9.5, height=gantt_height(data))
