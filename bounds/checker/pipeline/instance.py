"""Reads instances of `pipeline`, and computes what solutions cost."""

from collections import defaultdict
from typing import Any, NamedTuple

from ..budget import hold, spend
from ..graph import topological_order
from ..values import LARGEST_COST, Rejected, fields, integers, number, numbers, pairs

# What the checks of a graph and of a partition make of each node and each edge.
ENTRY_BYTES = 500

PHASES = ("training", "inference")

# Transfers of all edges together are less, since some methods add them up in 64 bits.
MOST_MOVED = 2**62
MOST_STAGES = 2**20


class Instance(NamedTuple):
    """An instance that has passed all checks; edges are pairs (producer, consumer)."""

    k: int
    work: list[int]
    transfer: list[int]
    param_load: list[int]
    cache: int
    edges: list[tuple[int, int]]


def read_instance(document: dict[str, Any]) -> Instance:
    """Return an instance; raise `Rejected` if it is malformed or its graph has a cycle."""
    # What passes through the stages is for people.
    if document.get("phase") in PHASES:
        document = {name: value for name, value in document.items() if name != "phase"}
    document = fields(document, "the instance", set(Instance._fields))
    work, transfer, param_load = (
        numbers(document[name], f"{name} of the instance", 0, LARGEST_COST)
        for name in ("work", "transfer", "param_load")
    )
    nodes = len(work)
    if nodes == 0 or len(transfer) != nodes or len(param_load) != nodes:
        raise Rejected("work, transfer and param_load are not of one length above 0")
    cache = number(document["cache"], "cache of the instance", 0, LARGEST_COST)
    if cache + sum(work) + sum(transfer) + sum(param_load) > LARGEST_COST:
        raise Rejected("the costs of the instance add up to more than 2^53")
    edges = pairs(document["edges"], "edges of the instance", 0, nodes - 1)
    hold(ENTRY_BYTES * (nodes + len(edges)))
    spend(nodes + 4 * len(edges))
    if topological_order(edges) is None:
        raise Rejected("the instance's graph has a cycle")
    if sum(transfer[u] for u, _ in edges) >= MOST_MOVED:
        raise Rejected("the transfers of all edges of the instance add up to 2^62 or more")
    return Instance(
        number(document["k"], "k of the instance", 1, MOST_STAGES),
        work,
        transfer,
        param_load,
        cache,
        edges,
    )


def objective(graph: Instance, solution: dict[str, Any]) -> int:
    """Return what the bottleneck stage of a solution costs, in ticks."""
    stages = integers(solution["stages"], "stages of the solution", 0, graph.k - 1)
    if len(stages) != len(graph.work):
        raise Rejected("the solution's stages are not one for each node")
    spend(4 * (len(stages) + len(graph.edges)))
    cost: dict[int, int] = defaultdict(int)
    load: dict[int, int] = defaultdict(int)
    for stage, work, param_load in zip(stages, graph.work, graph.param_load, strict=True):
        cost[stage] += work
        load[stage] += param_load
    crossing = [(u, stages[w]) for u, w in graph.edges if stages[u] != stages[w]]
    for u, stage in set(crossing):
        cost[stage] += graph.transfer[u]
    for u in {u for u, _ in crossing}:
        cost[stages[u]] += graph.transfer[u]
    if topological_order(sorted({(stages[u], stage) for u, stage in crossing})) is None:
        raise Rejected("the solution's stages depend on each other in a cycle")
    return max(cost[stage] + max(0, load[stage] - graph.cache) for stage in cost)
