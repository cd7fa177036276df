"""The stages that a node can be in."""

from collections import defaultdict

from .instance import Instance

TREE_SHARE_UNITS = 2**30

# First and last stage of each node.
Windows = tuple[list[int], list[int]]


def narrowed(graph: Instance, order: list[int], first: list[int], last: list[int]) -> Windows:
    """Narrow the nodes' stages, first to last, to those that respect the edges."""
    first, last = list(first), list(last)
    consumers: dict[int, list[int]] = defaultdict(list)
    for u, w in graph.edges:
        consumers[u].append(w)
    for u in order:
        for w in consumers[u]:
            first[w] = max(first[w], first[u])
    for u in reversed(order):
        for w in consumers[u]:
            last[u] = min(last[u], last[w])
    return first, last


def share_windows(graph: Instance, order: list[int], shares: list[int]) -> Windows:
    """Return the stages that are left if all that a node depends on must fit before it."""
    before, after = [0] * len(order), [0] * len(order)
    producers: dict[int, list[int]] = defaultdict(list)
    for u, w in graph.edges:
        producers[w].append(u)
    ancestors: dict[int, set[int]] = {}
    for w in order:
        ancestors[w] = {w}.union(*(ancestors[u] for u in producers[w]))
        before[w] = sum(shares[u] for u in ancestors[w])
        for u in ancestors[w]:
            after[u] += shares[w]
    first = [max(0, -(-amount // TREE_SHARE_UNITS) - 1) for amount in before]
    last = [min(graph.k - 1, graph.k - -(-amount // TREE_SHARE_UNITS)) for amount in after]
    return narrowed(graph, order, first, last)
