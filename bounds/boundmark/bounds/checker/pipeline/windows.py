"""The stages that a node can be in."""

import itertools
from typing import Any, NamedTuple

from ..budget import spend
from ..graph import topological_order
from .flows import io_bounds
from .instance import Instance
from .limits import TREE_SHARE_UNITS

# First and last stage of each node.
Windows = tuple[list[int], list[int]]

# Each node with its consumers, after all its producers.
Order = list[tuple[int, list[int]]]


class Root(NamedTuple):
    """What holds for all partitions whose stages cost at most a threshold.

    Attributes
    ----------
    shares
        What each node takes of its stage, in units of 1 / TREE_SHARE_UNITS, rounded down; those of
        a stage add up to one at most.
    windows
        The stages that are left if all that a node depends on must fit before it.
    """

    shares: list[int]
    order: Order
    windows: Windows


def root(graph: Instance, threshold: int, flows: Any) -> Root | None:
    """Return what flows prove of a threshold; None if they refute it."""
    io, node_cost = io_bounds(graph, threshold, flows)
    wanted = [(work, threshold - taken) for work, taken in zip(graph.work, io, strict=True)]
    if node_cost > threshold or any(work > room for work, room in wanted):
        return None
    shares = [work * TREE_SHARE_UNITS // max(room, 1) for work, room in wanted]
    order = in_order(graph)
    return Root(shares, order, share_windows(graph.k, order, shares))


def in_order(graph: Instance) -> Order:
    """Return the nodes and their consumers, producers first."""
    connected = topological_order(graph.edges) or []
    consumers: list[list[int]] = [[] for _ in graph.work]
    for u, w in graph.edges:
        consumers[u].append(w)
    others = set(range(len(graph.work))).difference(connected)
    return [(u, consumers[u]) for u in [*connected, *others]]


def narrowed(order: Order, first: list[int], last: list[int]) -> Windows:
    """Narrow the nodes' stages, first to last, to those that respect the edges."""
    first, last = list(first), list(last)
    for u, consumers in order:
        for w in consumers:
            first[w] = max(first[w], first[u])
    for u, consumers in reversed(order):
        for w in consumers:
            last[u] = min(last[u], last[w])
    return first, last


def share_windows(k: int, order: Order, shares: list[int]) -> Windows:
    """Return the stages that are left if all that a node depends on must fit before it."""
    spend(len(order) ** 2 // 4)
    # Sets of nodes, as bits: all that a node depends on, and all that depends on it, and itself.
    before = [1 << u for u, _ in sorted(order)]
    after = list(before)
    for u, consumers in order:
        for w in consumers:
            before[w] |= before[u]
    for u, consumers in reversed(order):
        for w in consumers:
            after[u] |= after[w]
    first = [max(0, _stages(members, shares) - 1) for members in before]
    last = [min(k, k + 1 - _stages(members, shares)) - 1 for members in after]
    return narrowed(order, first, last)


def _stages(members: int, shares: list[int]) -> int:
    """Return how many stages the shares of some nodes fill, at least."""
    is_member = map(int, reversed(f"{members:b}"))
    return -(-sum(itertools.compress(shares, is_member)) // TREE_SHARE_UNITS)
