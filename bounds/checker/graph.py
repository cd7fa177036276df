"""Topological order of a graph that is given by its edges."""

from collections import defaultdict


def topological_order(edges: list[tuple[int, int]]) -> list[int] | None:
    """Return the nodes that have edges, producers first; None if there is a cycle."""
    consumers = defaultdict(list)
    missing: dict[int, int] = defaultdict(int)
    for u, w in edges:
        consumers[u].append(w)
        missing[w] += 1
    order = [u for u in consumers if u not in missing]
    for u in order:
        for w in consumers.get(u, ()):
            missing[w] -= 1
            if missing[w] == 0:
                order.append(w)
    return None if any(missing.values()) else order
