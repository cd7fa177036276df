"""Arrays of a graph of co-location sets, as Placeto's policy reads them."""

import numpy as np

from boundmark.heuristics.placement.learned.choosing import allowed_devices
from boundmark.heuristics.placement.learned.colocation import ColocatedGraph
from boundmark.heuristics.placement.learned.features import FloatTable
from boundmark.heuristics.placement.learned.graph_arrays import padded
from boundmark.problems.arrays import IntArray
from boundmark.problems.placement import PlacementInstance


def set_costs(instance: PlacementInstance, sets: ColocatedGraph) -> FloatTable:
    """Return how long sets take: logarithms, shape (N, D + 1).

    The last column has the longest time that a set's output takes between any two devices.

    A device that does not support one of its operators counts with 0 ticks; the policy cannot
    choose it.
    """
    graph = instance.graph
    ticks = np.zeros((sets.nodes, graph.devices + 1))
    np.add.at(ticks[:, :-1], sets.set_of, np.maximum(graph.duration, 0))
    longest = graph.times.max(axis=(1, 2), initial=0)
    np.maximum.at(ticks[:, -1], sets.set_of[graph.producer], longest[graph.size])
    return np.log1p(ticks).astype(np.float32)


def placeto_arrays(instance: PlacementInstance, sets: ColocatedGraph) -> dict[str, np.ndarray]:
    """Return the fields of `placeto_policy.PlacetoArrays`."""
    nodes, count, devices = sets.nodes, sets.dag.edges, instance.graph.devices
    high, wide = padded(nodes), padded(count)
    costs = np.zeros((high, devices + 1), dtype=np.float32)
    costs[:nodes] = set_costs(instance, sets)
    edges = np.zeros((wide, 2), dtype=np.int64)
    edges[:count] = sets.dag.edge_pairs()
    after = np.zeros((high, high), dtype=np.float32)
    after[:nodes, :nodes] = descendants(sets)
    apart = np.zeros((high, high), dtype=np.float32)
    apart[:nodes, :nodes] = 1 - after[:nodes, :nodes] - after[:nodes, :nodes].T - np.eye(nodes)
    allowed = np.ones((high, devices), dtype=bool)
    allowed[:nodes] = allowed_devices(instance.graph.is_supported, sets.set_of, nodes)
    is_edge = (np.arange(wide) < count).astype(np.float32)
    return {
        "costs": costs,
        "is_edge": is_edge,
        "edges": edges,
        "before": after.T.copy(),
        "after": after,
        "apart": apart,
        "is_allowed": allowed,
    }


def descendants(sets: ColocatedGraph) -> IntArray:
    """Return 1 where the column's set can be reached from the row's, shape (N, N)."""
    reached = np.zeros((sets.nodes, sets.nodes), dtype=np.int64)
    for node in sets.dag.topological_order[::-1].tolist():
        for consumer in sets.dag.consumers_of(node).tolist():
            reached[node] |= reached[consumer]
            reached[node, consumer] = 1
    return reached
