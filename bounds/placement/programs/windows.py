"""When operators can run in a schedule that ends in time."""

import numpy as np

from boundmark.problems.arrays import IntArray
from boundmark.problems.placement import PlacementGraph


def best_durations(graph: PlacementGraph) -> IntArray:
    """Return the least duration of each operator over the devices with room for it, shape (n,)."""
    fits = graph.is_supported & (graph.memory[:, None] <= graph.capacity)
    return np.asarray(np.where(fits, graph.duration, np.iinfo(np.int64).max).min(axis=1))


def heads_and_tails(graph: PlacementGraph) -> tuple[IntArray, IntArray]:
    """Return what has to pass before each operator starts and after it ends, two of shape (n,)."""
    least = best_durations(graph)
    head, tail = np.zeros((2, graph.nodes), dtype=np.int64)
    order = graph.dag.topological_order.tolist()
    for v in order:
        for u in graph.dag.producers_of(v).tolist():
            head[v] = max(head[v], head[u] + least[u])
    for v in reversed(order):
        for w in graph.dag.consumers_of(v).tolist():
            tail[v] = max(tail[v], tail[w] + least[w])
    return head, tail


def longest_schedule(graph: PlacementGraph) -> int:
    """Return a makespan that all takes if nothing overlaps, on the worst devices."""
    longest = graph.times.max(axis=(1, 2), initial=0)[graph.size]
    readers = np.array([len(row) for row in graph.consumers], dtype=np.int64)
    return int(graph.duration.max(axis=1).sum() + (longest * readers).sum())
