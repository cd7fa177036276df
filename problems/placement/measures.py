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


def idle_while_receiving(
    instance: PlacementInstance, schedule: PlacementSchedule, device: int
) -> int:
    """Return for how long a device runs no operator and a tensor is on its way to it, in ticks."""
    graph = instance.graph
    here = np.flatnonzero(schedule.devices == device)
    running = [
        (begin, begin + ticks)
        for begin, ticks in zip(
            schedule.starts[here].tolist(), graph.duration[here, device].tolist(), strict=True
        )
    ]
    tensors, _, starts = schedule.transfers.T
    receiving = receivers(instance, schedule) == device
    sources = schedule.devices[graph.producer[tensors]]
    ticks = graph.times[graph.size[tensors], sources, device]
    arriving = zip(starts[receiving].tolist(), ticks[receiving].tolist(), strict=True)
    return sum(
        length - sum(max(0, min(begin + length, y) - max(begin, x)) for x, y in running)
        for begin, length in arriving
    )


def receivers(instance: PlacementInstance, schedule: PlacementSchedule) -> IntArray:
    """Return the device that each transfer goes to, shape (q,)."""
    targets = schedule.transfers[:, 1]
    return targets if instance.transfers == "per-tensor" else schedule.devices[targets]


def moved_ticks(
    instance: PlacementInstance, schedule: PlacementSchedule
) -> tuple[IntArray, IntArray]:
    """Return how long each device sends, and receives; two of shape (D,)."""
    graph, devices = instance.graph, schedule.devices
    sent, received = np.zeros((2, graph.devices), dtype=np.int64)
    tensors = schedule.transfers[:, 0]
    sources, targets = devices[graph.producer[tensors]], receivers(instance, schedule)
    ticks = graph.times[graph.size[tensors], sources, targets]
    np.add.at(sent, sources, ticks)
    np.add.at(received, targets, ticks)
    return sent, received
