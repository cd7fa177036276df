"""Certificates of `placement` that prove the optimum of a tiny instance."""

import numpy as np
from brute_force_placement import instance

from boundmark.problems.placement import PlacementInstance, PlacementSchedule

FORK_JOIN = [(0, 1), (0, 2), (1, 3), (2, 3)]

TIGHT: dict[str, tuple[str, PlacementInstance]] = {
    "critical-path": (
        "critical-path",
        instance([[3, 5], [-1, 2], [4, 9]], [(0, 1), (1, 2)], times=[[0, 2, 3, 0]]),
    ),
    "critical-path, per edge": (
        "critical-path",
        instance([[3, 1], [2, 2]], [(0, 1)], times=[[0, 2, 2, 0]], transfers="per-edge"),
    ),
    "assignment-load": ("assignment-load", instance([[2, 3], [2, 3], [6, 3]], [])),
    "assignment-load, memory": (
        "assignment-load",
        instance([[2, 6], [2, 6]], [], memory=[1, 1], capacity=[1, 1]),
    ),
    "interval-load, whole": (
        "interval-load",
        instance([[3, 4], [3, 4], [3, 4]], [], times=[[0, 9, 9, 0]]),
    ),
    "interval-load, inside": (
        "interval-load",
        instance([[2, 3], [3, 4], [3, 4], [1, 2]], FORK_JOIN, times=[[0, 9, 8, 0]]),
    ),
    "interval-load, two": (
        "interval-load",
        instance(
            [[2, 2], [3, 3], [3, 3], [1, 1], [5, 5], [5, 5]],
            [*FORK_JOIN, (3, 4), (3, 5)],
            times=[[0, 3, 3, 0]],
        ),
    ),
    "interval-load, unsupported": (
        "interval-load",
        instance([[2, -1], [3, 4], [4, 4], [1, -1]], FORK_JOIN, times=[[0, 1, 2, 0]]),
    ),
    "series, a module": (
        "series",
        instance([[2, 3], [3, 4], [5, 4], [1, 2]], FORK_JOIN, times=[[0, 3, 2, 0]]),
    ),
    "series, per edge": (
        "series",
        instance(
            [[2, 3], [3, 4], [4, 4], [1, 2]],
            FORK_JOIN,
            times=[[0, 2, 1, 0]],
            transfers="per-edge",
        ),
    ),
    "series, two modules": (
        "series",
        instance(
            [[2, 3], [3, 4], [4, 4], [1, 2], [6, 3], [5, 4]],
            [*FORK_JOIN, (3, 4), (3, 5)],
            times=[[0, 3, 2, 0]],
        ),
    ),
    "series, unsupported": (
        "series",
        instance([[2, -1], [3, 4], [4, 4], [1, -1]], FORK_JOIN, times=[[0, 1, 2, 0]]),
    ),
    "series, memory": (
        "series",
        instance(
            [[2, 9], [2, 9], [2, 9]],
            [(0, 1), (1, 2)],
            times=[[0, 3, 3, 0]],
            memory=[1, 1, 1],
            capacity=[2, 3],
        ),
    ),
    "series, past a module": (
        "series",
        instance([[2, 3], [3, 4], [5, 4], [1, 2]], [*FORK_JOIN, (0, 3)], times=[[0, 3, 2, 0]]),
    ),
}


def is_tiny(sample: PlacementInstance) -> bool:
    """Whether all placements and orders are enumerated in a fraction of a second."""
    moved = sum(map(len, sample.graph.consumers))
    return sample.nodes <= 4 and sample.graph.devices <= 2 and moved <= 5


def solution(sample: PlacementInstance) -> PlacementSchedule:
    """Return a solution in the right form."""
    devices = np.zeros(sample.nodes, dtype=np.int64)
    starts = np.zeros(sample.nodes, dtype=np.int64)
    time = 0
    for node in sample.graph.dag.topological_order.tolist():
        starts[node] = time
        time += max(0, int(sample.graph.duration[node, 0]))
    return PlacementSchedule(devices, starts, np.zeros((0, 3), dtype=np.int64))
