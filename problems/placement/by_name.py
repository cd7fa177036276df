"""Placements by the names of operators and devices: what a table of devices says."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from boundmark.problems.labels import Naming
from boundmark.problems.placement.instance import PlacementInstance
from boundmark.problems.placement.schedule import PlacementSchedule
from boundmark.problems.solution_table import Row, SolutionTable

# Far more than any cluster has; the instance says which of them there are.
LARGEST_DEVICE = 2**20


def _placement(rows: Sequence[Row], instance: PlacementInstance) -> PlacementSchedule:
    """Return the devices; a table does not say when anything starts, which is for others to add."""
    devices = np.zeros(instance.nodes, dtype=np.int64)
    for node, device in rows:
        devices[node] = device
    return PlacementSchedule(devices, np.zeros_like(devices), np.zeros((0, 3), dtype=np.int64))


def _renamed(instance: PlacementInstance, names: Sequence[str], tick: str) -> PlacementInstance:
    graph = replace(instance.graph, names=tuple(names), tick=tick)
    return replace(instance, graph=graph)


TABLE = SolutionTable(
    columns=("operator", "device"),
    largest=LARGEST_DEVICE,
    solution=_placement,
    rows=lambda schedule: enumerate(schedule.devices.tolist()),
    value_names=lambda instance: {"device": instance.graph.device_names},
)

NAMING = Naming(
    names=lambda instance: instance.graph.names,
    rename=_renamed,
    tick=lambda instance: instance.graph.tick,
)
