"""Finds the stages that each node can be in, from the shares of the nodes before and after it."""

import itertools
from typing import Any, NamedTuple

from ..budget import hold, spend
from ..graph import topological_order
from .flows import io_bounds
from .instance import Instance
from .limits import TREE_SHARE_UNITS

# First and last stage of each node.
Windows = tuple[list[int], list[int]]

# From the digits of a set to numbers.
DIGITS = bytes.maketrans(b"01", b"\x00\x01")

# Each node with its consumers, after all its producers.
Order = list[tuple[int, list[int]]]


class Root(NamedTuple):
    """Shares and windows of nodes in all partitions whose stages cost at most a threshold."""

    # What each node takes of its stage, in units of 1 / TREE_SHARE_UNITS, rounded down; those of a
    # stage add up to one at most.
    shares: list[int]
    order: Order
    # The stages that are left if all that a node depends on must fit before it.
    windows: Windows


def root(graph: Instance, threshold: int, flows: Any) -> Root | None:
    """Return shares and windows of all nodes at a threshold; None if flows refute it."""
    shares = shares_at(graph, threshold, flows)
    if shares is None:
        return None
    order = in_order(graph)
    return Root(shares, order, share_windows(graph.k, order, shares))


def shares_at(graph: Instance, threshold: int, flows: Any) -> list[int] | None:
    """Return each node's share of its stage, as in `Root`; None if flows refute the threshold."""
    io, node_cost = io_bounds(graph, threshold, flows)
    wanted = [(work, threshold - taken) for work, taken in zip(graph.work, io, strict=True)]
    if node_cost > threshold or any(work > room for work, room in wanted):
        return None
    return [work * TREE_SHARE_UNITS // max(room, 1) for work, room in wanted]


def in_order(graph: Instance) -> Order:
    """Return the nodes and their consumers, producers first."""
    spend(len(graph.work) + 2 * len(graph.edges))
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
    if sum(shares) <= TREE_SHARE_UNITS:
        # All nodes fit into one stage: no stage is left out.
        return [0] * len(order), [k - 1] * len(order)
    before, after = weights_around(order, shares)
    first = [max(0, -(-amount // TREE_SHARE_UNITS) - 1) for amount in before]
    last = [min(k, k + 1 - -(-amount // TREE_SHARE_UNITS)) - 1 for amount in after]
    return narrowed(order, first, last)


def weights_around(order: Order, weights: list[int]) -> tuple[list[int], list[int]]:
    """Return the weight of each node's ancestors and of its descendants, itself included."""
    spend(len(order) ** 2 // 4)
    before, after = nodes_around(order)
    return [total(members, weights) for members in before], [
        total(nodes, weights) for nodes in after
    ]


def nodes_around(order: Order) -> tuple[list[int], list[int]]:
    """Return each node's ancestors and its descendants, itself included, as bits."""
    hold(len(order) * (len(order) // 4 + 100))
    before = [1 << u for u, _ in sorted(order)]
    after = list(before)
    for u, consumers in order:
        for w in consumers:
            before[w] |= before[u]
    for u, consumers in reversed(order):
        for w in consumers:
            after[u] |= after[w]
    return before, after


def total(members: int, weights: list[int]) -> int:
    """Return the total weight of the members of a set of bits."""
    return sum(itertools.compress(weights, f"{members:b}"[::-1].encode().translate(DIGITS)))
