"""Checks the kinds that look at one stage: max-work, mean-work, node-cut, fractional-load."""

from typing import Any

from ..values import LARGEST_AMOUNT, Rejected, fields, integer
from .flows import io_bounds, least_cost
from .instance import Instance

SHARE_UNITS = 2**60


def max_work(graph: Instance, payload: Any) -> int:
    """Return the work of a node."""
    payload = fields(payload, "the payload", {"node"})
    return graph.work[integer(payload["node"], "node of the payload", 0, len(graph.work) - 1)]


def mean_work(graph: Instance, payload: Any) -> int:
    """Return the mean work of the stages, rounded up."""
    fields(payload, "the payload", set())
    return -(-sum(graph.work) // graph.k)


def node_cut(graph: Instance, payload: Any) -> int:
    """Return the lower bound of a flow on the cost of a node's stage."""
    node, io_weight, cost = least_cost(graph, payload)
    if io_weight != 1:
        raise Rejected("io_weight of a node-cut is not 1")
    return cost + max(0, graph.param_load[node] - graph.cache)


def fractional_load(graph: Instance, payload: Any) -> int:
    """Return the threshold + 1 if the nodes' shares of their stages refute it."""
    payload = fields(payload, "the payload", {"threshold", "flows"})
    threshold = integer(payload["threshold"], "threshold of the payload", -1, LARGEST_AMOUNT)
    io, node_cost = io_bounds(graph, threshold, payload["flows"])
    if node_cost > threshold:
        return threshold + 1
    loaded = [work + load for work, load in zip(graph.work, graph.param_load, strict=True)]
    for demand, room in ((graph.work, threshold), (loaded, threshold + graph.cache)):
        shares = 0
        for amount, taken in zip(demand, io, strict=True):
            if amount > room - taken:
                return threshold + 1
            if amount:
                shares += amount * SHARE_UNITS // (room - taken)
        if shares > graph.k * SHARE_UNITS:
            return threshold + 1
    raise Rejected("the flows do not refute the threshold")
