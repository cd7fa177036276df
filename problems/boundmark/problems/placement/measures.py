"""Measures of a schedule beside its makespan: what devices compute, send and receive."""

import numpy as np

from boundmark.problems.arrays import IntArray
from boundmark.problems.placement.graph import PlacementGraph
from boundmark.problems.placement.instance import PlacementInstance
from boundmark.problems.placement.schedule import PlacementSchedule


def busy_ticks(graph: PlacementGraph, devices: IntArray) -> IntArray:
    """Return how long each device runs operators, shape (D,)."""
    busy = np.zeros(graph.devices, dtype=np.int64)
    np.add.at(busy, devices, graph.duration[np.arange(graph.nodes), devices])
    return busy


def moved_ticks(
    instance: PlacementInstance, schedule: PlacementSchedule
) -> tuple[IntArray, IntArray]:
    """Return how long each device sends, and receives; two of shape (D,)."""
    graph, devices = instance.graph, schedule.devices
    sent, received = np.zeros((2, graph.devices), dtype=np.int64)
    tensors, receivers = schedule.transfers[:, 0], schedule.transfers[:, 1]
    sources = devices[graph.producer[tensors]]
    targets = receivers if instance.transfers == "per-tensor" else devices[receivers]
    ticks = graph.times[graph.size[tensors], sources, targets]
    np.add.at(sent, sources, ticks)
    np.add.at(received, targets, ticks)
    return sent, received
