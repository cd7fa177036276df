"""Checks the kind separation: counts transfers as work where nodes need different stages."""

from typing import Any

from ..budget import spend
from ..values import LARGEST_AMOUNT, Rejected, TooLarge, fields, integer, integers
from .instance import Instance
from .limits import LARGEST_SEPARATION_GRAPH
from .windows import in_order, nodes_around, total


def separation(graph: Instance, payload: Any) -> int:
    """Return the threshold + 1 if pairs of nodes that no stage can hold together refute it."""
    payload = fields(payload, "the payload", {"threshold", "first", "last"})
    threshold = integer(payload["threshold"], "threshold of the payload", -1, LARGEST_AMOUNT)
    nodes = len(graph.work)
    first, last = (
        integers(payload[name], f"{name} of the payload", 0, nodes - 1)
        for name in ("first", "last")
    )
    if len(first) != len(last):
        raise Rejected("first and last of the payload are not of one length")
    if nodes > LARGEST_SEPARATION_GRAPH:
        raise TooLarge(f"the instance has more than {LARGEST_SEPARATION_GRAPH:,} nodes")
    spend(2 * len(graph.edges))
    before, after = nodes_around(in_order(graph))
    work, moved = list(graph.work), set()
    for a, b in zip(first, last, strict=True):
        spend(nodes + 2 * len(graph.edges))
        between = after[a] & before[b]
        load = total(between, graph.param_load)
        if total(between, work) + max(0, load - graph.cache) <= threshold:
            raise Rejected(f"a stage can hold all nodes from {a} to {b}")
        for u, w in graph.edges:
            if u not in moved and before[a] >> u & 1 and after[b] >> w & 1:
                moved.add(u)
                work[u] += graph.transfer[u]
                work[w] += graph.transfer[u]
    loaded = [demand + load for demand, load in zip(work, graph.param_load, strict=True)]
    for demand, room in ((work, threshold), (loaded, threshold + graph.cache)):
        if max(demand) > room or sum(demand) > graph.k * room:
            return threshold + 1
    raise Rejected("the pairs do not refute the threshold")
