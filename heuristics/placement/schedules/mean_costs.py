"""Costs without devices: means over those that there are."""

import numpy as np

from boundmark.problems.arrays import IntArray
from boundmark.problems.placement import PlacementGraph


def mean_durations(graph: PlacementGraph) -> IntArray:
    """Return the mean duration of each operator, over devices that support it, shape (n,)."""
    supported = graph.is_supported
    total = np.where(supported, graph.duration, 0).sum(axis=1)
    return np.asarray(total // supported.sum(axis=1))


def mean_transfers(graph: PlacementGraph) -> IntArray:
    """Return the mean time of each tensor, over pairs of different devices, shape (T,)."""
    pairs = max(1, graph.devices * (graph.devices - 1))
    return np.asarray((graph.times.sum(axis=(1, 2)) // pairs)[graph.size])
