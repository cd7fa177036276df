"""Computes lower bounds on the cost of the stage that contains a node, from flows."""

import itertools
from collections import defaultdict
from typing import Any

from ..budget import spend
from ..values import LARGEST_AMOUNT, LARGEST_COST, Rejected, fields, integer, integers
from .instance import Instance


def least_cost(graph: Instance, flow: Any) -> tuple[int, int, int]:
    """Return v, a and C: a flow's proof that a io(S) + work(S) >= C for all S with v in it."""
    flow = fields(flow, "a flow", {"node", "io_weight", "edges", "amounts"})
    node = integer(flow["node"], "node of a flow", 0, len(graph.work) - 1)
    io_weight = integer(flow["io_weight"], "io_weight of a flow", 1, LARGEST_COST)
    edges = integers(flow["edges"], "edges of a flow", 0, len(graph.edges) - 1)
    amounts = integers(flow["amounts"], "amounts of a flow", -LARGEST_AMOUNT, LARGEST_AMOUNT)
    if len(edges) != len(amounts):
        raise Rejected("edges and amounts of a flow are not of one length")
    if any(first >= second for first, second in itertools.pairwise(edges)):
        raise Rejected("edges of a flow are not ascending")
    spend(8 + len(edges))
    kept: dict[int, int] = defaultdict(int)
    forward: dict[int, int] = defaultdict(int)
    backward: dict[int, int] = defaultdict(int)
    for edge, amount in zip(edges, amounts, strict=True):
        u, w = graph.edges[edge]
        kept[u] -= amount
        kept[w] += amount
        if amount > 0:
            forward[u] += amount
        else:
            backward[u] -= amount
    for used in (forward, backward):
        for u, amount in used.items():
            if amount > io_weight * graph.transfer[u]:
                raise Rejected(f"a flow sends more than the tensor of node {u} lets through")
    sent = -kept.pop(node, 0)
    for y, amount in kept.items():
        if amount > graph.work[y]:
            raise Rejected(f"a flow leaves more at node {y} than its work")
    return node, io_weight, graph.work[node] + sent


def io_bounds(graph: Instance, threshold: int, flows: Any) -> tuple[list[int], int]:
    """Return lower bounds on transfer and cost that follow from flows.

    First, for each node, what the tensors of a stage with that node cost at least if the stage
    costs at most the threshold; second, what some stage costs at least in any case.
    """
    if type(flows) is not list:
        raise Rejected("flows of the payload is not a list")
    io, node_cost = [0] * len(graph.work), 0
    for flow in flows:
        node, io_weight, cost = least_cost(graph, flow)
        if io_weight > 1:
            io[node] = max(io[node], -((threshold - cost) // (io_weight - 1)))
        else:
            node_cost = max(node_cost, cost + max(0, graph.param_load[node] - graph.cache))
    return io, node_cost
