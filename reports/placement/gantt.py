"""Placements as spans of operators and transfers on devices, and as drawings for terminals."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from rich.text import Text

from boundmark.problems.placement import PlacementInstance, PlacementSchedule

COLUMNS = ["device", "lane", "start", "end", "name"]
RUN, SEND, RECEIVE = "run", "send", "receive"
LANES = (RUN, SEND, RECEIVE)


def schedule_spans(instance: PlacementInstance, schedule: PlacementSchedule) -> pd.DataFrame:
    """Return one row per operator, and two per transfer; those that take no time are left out.

    Returns
    -------
    pandas.DataFrame
        Columns `device`, `lane` ("run", "send" or "receive"), `start`, `end`, and `name`: of the
        operator, or of the one that writes what is moved. Sorted by device and start.
    """
    graph, devices = instance.graph, schedule.devices
    every = np.arange(graph.nodes)
    tensors, receivers, begin = schedule.transfers.T
    sources = devices[graph.producer[tensors]]
    targets = receivers if instance.transfers == "per-tensor" else devices[receivers]
    ticks = graph.times[graph.size[tensors], sources, targets]
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
NARROWEST = 10


def draw_placement(
    spans: pd.DataFrame, length: int, device_names: Sequence[str], width: int
) -> list[Text]:
    """Return the lines of a drawing that are at most `width` columns long, with a legend.

    A device has a line for what it runs, and one each for what it sends and receives, if anything.
    Devices that run nothing are left out.

    Parameters
    ----------
    spans
        From `schedule_spans`.
    length
        The makespan.
    """
    if not len(spans):
        return []
    label = max(len(name) for name in device_names) + 3
    columns = max(NARROWEST, width - label)
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
