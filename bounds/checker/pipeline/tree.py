"""Checks trees: branchings on the stages of nodes, and a linear inequality at each leaf."""

from collections.abc import Iterator
from typing import Any

from ..budget import hold, spend
from ..values import LARGEST_AMOUNT, Rejected, integer
from ..values import fields as read_fields
from .instance import Instance
from .leaf import Program, add_up
from .limits import LARGEST_TREE_GRAPH
from .windows import Order, narrowed, root

# What one node's window takes.
WINDOWS_BYTES = 16


def mip_tree(graph: Instance, payload: Any) -> int:
    """Return the least bound of the leaves of a tree over the stages."""
    threshold = read_threshold(graph, payload, {"nodes"})
    start = root(graph, threshold, payload["flows"])
    if start is None:
        return threshold + 1
    proved = threshold + 1
    stages = Program([1] * graph.k, start.windows)
    for program, leaf in leaves(start.order, payload["nodes"], stages, "the payload"):
        found = add_up(graph, program, start.shares, {}, leaf)
        if found is None:
            continue
        total, least = found
        if total:
            proved = min(proved, -(-least // total))
        elif least <= 0:
            proved = 0
    return max(proved, 0)


def read_threshold(graph: Instance, payload: Any, fields: set[str]) -> int:
    """Return the threshold of a payload that has trees, unless the graph is too large for them."""
    payload = read_fields(payload, "the payload", {"threshold", "flows"} | fields)
    if max(len(graph.work), graph.k) > LARGEST_TREE_GRAPH:
        raise Rejected("the instance is too large for a tree")
    return integer(payload["threshold"], "threshold of the payload", 0, LARGEST_AMOUNT)


def leaves(order: Order, nodes: Any, program: Program, what: str) -> Iterator[tuple[Program, Any]]:
    """Return the leaves of a tree, with their windows.

    Raises `Rejected` if the nodes do not make up one tree, parents first, the first branch before
    the second.
    """
    if type(nodes) is not list:
        raise Rejected(f"nodes of {what} is not a list")
    size = len(order) + sum(len(consumers) for _, consumers in order)
    waiting = [program]
    for node in nodes:
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
    if waiting:
        raise Rejected(f"nodes of {what} has fewer entries than the tree")
