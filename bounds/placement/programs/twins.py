"""Devices that are alike: any may take the part of any other one."""

import itertools

import numpy as np

from boundmark.problems.arrays import frozen
from boundmark.problems.placement import PlacementGraph, PlacementInstance, PlacementSchedule
from boundmark.problems.placement.feasibility import PER_TENSOR

# Operators, from the first one, whose devices are restricted.
MOST_OPERATORS = 30


def twin_classes(graph: PlacementGraph) -> list[list[int]]:
    """Return classes of at least two devices of which any two can be exchanged.

    They run everything in the same time, have the same memory, and exchanging them changes no time
    of a transfer.
    """
    classes: list[list[int]] = []
    for device in range(graph.devices):
        for known in classes:
            if _are_twins(graph, known[0], device):
                known.append(device)
                break
        else:
            classes.append([device])
    return [known for known in classes if len(known) > 1]


def _are_twins(graph: PlacementGraph, first: int, second: int) -> bool:
    order = np.arange(graph.devices)
    order[[first, second]] = second, first
    return bool(
        (graph.duration[:, first] == graph.duration[:, second]).all()
        and graph.capacity[first] == graph.capacity[second]
        and (graph.times[:, order][:, :, order] == graph.times).all()
    )


def first_uses(graph: PlacementGraph) -> list[tuple[int, int, tuple[int, ...], int]]:
    """Return rows (v, d, earlier, e): v is on d only if one of the earlier operators is on e.

    So the first operators, in topological order, use twins for the first time in the order of their
    numbers. `relabelled` turns any schedule into one that does.
    """
    order = graph.dag.topological_order.tolist()[:MOST_OPERATORS]
    return [
        (v, device, tuple(order[:at]), before)
        for known in twin_classes(graph)
        for before, device in itertools.pairwise(known)
        for at, v in enumerate(order)
    ]


def relabelled(instance: PlacementInstance, schedule: PlacementSchedule) -> PlacementSchedule:
    """Return the schedule with twins exchanged so that `first_uses` holds."""
    graph = instance.graph
    becomes = np.arange(graph.devices)
    in_order = schedule.devices[graph.dag.topological_order].tolist()
    first = {device: in_order.index(device) for device in set(in_order)}
    for known in twin_classes(graph):
        by_use = sorted(known, key=lambda device: (first.get(device, graph.nodes), device))
        becomes[by_use] = known
    rows = schedule.transfers.copy()
    if instance.transfers == PER_TENSOR:
        rows[:, 1] = becomes[rows[:, 1]]
        rows = rows[np.lexsort((rows[:, 1], rows[:, 0]))]
    return PlacementSchedule(becomes[schedule.devices], schedule.starts, frozen(rows))
