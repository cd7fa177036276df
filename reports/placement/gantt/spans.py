"""The spans of a placement's drawing: when each device is busy with what."""

import numpy as np
import pandas as pd

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
