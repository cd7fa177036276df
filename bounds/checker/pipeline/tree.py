"""Checks trees: branchings on the stages of nodes, and a linear inequality at each leaf."""

import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ..budget import hold, spend
from ..values import LARGEST_AMOUNT, Rejected, integer, integers
from ..values import fields as read_fields
from .instance import Instance
from .leaf import Program, WeighedRow, add_up
from .limits import LARGEST_TREE_GRAPH
from .windows import Order, Windows, narrowed, root

# What one node's window takes.
WINDOWS_BYTES = 16


def mip_tree(graph: Instance, payload: Any) -> int:
    """Return the bound that a tree over the stages proves."""
    return _trees(graph, payload, set(), lambda windows: [Program([1] * graph.k, windows)])


def bottleneck_tree(graph: Instance, payload: Any) -> int:
    """Return the bound that a tree proves for a stage with the mean demand, at any position."""
    anywhere = [0] * len(graph.work), [2] * len(graph.work)
    program = Program([graph.k - 1, 1, graph.k - 1], anywhere)
    return _trees(graph, payload, {"demand"}, lambda _: [program])


def bottleneck_guess_tree(graph: Instance, payload: Any) -> int:
    """Return the bound that one tree for each position of such a stage proves."""

    def programs(windows: Windows) -> Iterator[Program]:
        for j in range(graph.k):
            first, last = ([(stage >= j) + (stage > j) for stage in side] for side in windows)
            yield Program([j, 1, graph.k - 1 - j], (first, last))

    return _trees(graph, payload, {"demand"}, programs)


def read_threshold(graph: Instance, payload: Any, fields: set[str]) -> int:
    """Return the threshold of a payload that has trees, unless the graph is too large for them."""
    payload = read_fields(payload, "the payload", {"threshold", "flows"} | fields)
    if max(len(graph.work), graph.k) > LARGEST_TREE_GRAPH:
        raise Rejected("the instance is too large for a tree")
    return integer(payload["threshold"], "threshold of the payload", 0, LARGEST_AMOUNT)


def leaves(
    order: Order, nodes: Any, programs: Iterable[Program], what: str
) -> Iterator[tuple[Program, Any]]:
    """Return the leaves of one tree for each program, with their windows.

    Raises
    ------
    Rejected
        If the nodes do not make up such trees, parents first, the first branch before the second.
    """
    if type(nodes) is not list:
        raise Rejected(f"nodes of {what} is not a list")
    roots = iter(programs)
    size = len(order) + sum(len(consumers) for _, consumers in order)
    waiting: list[Program] = []
    for node in nodes:
        if not waiting:
            waiting.extend(itertools.islice(roots, 1))
        if not waiting:
            raise Rejected(f"nodes of {what} has more entries than the tree")
        program = waiting.pop()
        merged, (first, last) = program
        spend(size)
        if type(node) is list:
            if len(node) != 2:
                raise Rejected("a branching is not a node and a stage")
            v = integer(node[0], "node of a branching", 0, len(order) - 1)
            b = integer(node[1], "stage of a branching", 0, len(merged) - 1)
            hold(WINDOWS_BYTES * len(order) * (len(waiting) + 2))
            later, earlier = list(first), list(last)
            later[v], earlier[v] = max(first[v], b + 1), min(last[v], b)
            waiting.append(Program(merged, narrowed(order, later, last)))
            waiting.append(Program(merged, narrowed(order, first, earlier)))
        else:
            yield program, node
    if waiting or next(roots, None) is not None:
        raise Rejected(f"nodes of {what} has fewer entries than the tree")


def _trees(
    graph: Instance, payload: Any, more: set[str], programs: Callable[[Windows], Iterable[Program]]
) -> int:
    """Return the least bound of the leaves of one tree for each program."""
    threshold = read_threshold(graph, payload, {"nodes"} | more)
    demand = integers(payload.get("demand", []), "demand of the payload", 0, LARGEST_AMOUNT)
    if more and len(demand) != len(graph.work):
        raise Rejected("demand of the payload is not one for each node")
    start = root(graph, threshold, payload["flows"])
    if start is None:
        return threshold + 1
    weighed = {}
    if demand:
        # The stage that is singled out has at least the mean, and the most of a node.
        least = max(max(demand), -(-sum(demand) // graph.k))
        weighed["demand"] = [WeighedRow(demand, ((1, 1), (0, -1)), least)]
    proved = threshold + 1
    roots = programs(start.windows)
    for program, leaf in leaves(start.order, payload["nodes"], roots, "the payload"):
        found = add_up(graph, program, start.shares, weighed, leaf)
        if found is None:
            continue
        total, least = found
        if total:
            proved = min(proved, -(-least // total))
        elif least <= 0:
            proved = 0
    return max(proved, 0)
