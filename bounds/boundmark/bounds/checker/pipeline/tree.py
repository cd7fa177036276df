"""The kinds mip-tree and bottleneck-tree: branchings, and a linear inequality at each leaf."""

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ..budget import hold, spend
from ..values import LARGEST_AMOUNT, Rejected, fields, integer, integers
from .instance import Instance
from .limits import LARGEST_TREE_GRAPH, TREE_SHARE_UNITS
from .windows import Windows, narrowed, root

TREE_ROWS = ("cost", "share", "overflow", "enters", "leaves", "edge", "later")

# What one node's window takes, and one column or row of a leaf.
WINDOWS_BYTES = 16
TERM_BYTES = 200

# Superblocks, by how many stages each has at most; first and last superblock of each node.
Program = tuple[list[int], Windows]


def mip_tree(graph: Instance, payload: Any) -> int:
    """Return what a tree over the stages proves."""
    return _trees(graph, payload, set(), lambda windows: [([1] * graph.k, windows)])


def bottleneck_tree(graph: Instance, payload: Any) -> int:
    """Return what a tree proves of a stage with the mean demand, wherever it is."""
    anywhere = [0] * len(graph.work), [2] * len(graph.work)
    program = [graph.k - 1, 1, graph.k - 1], anywhere
    return _trees(graph, payload, {"demand"}, lambda _: [program])


def bottleneck_guess_tree(graph: Instance, payload: Any) -> int:
    """Return what a tree for each position j of such a stage proves."""

    def programs(windows: Windows) -> Iterator[Program]:
        for j in range(graph.k):
            first, last = ([(stage >= j) + (stage > j) for stage in side] for side in windows)
            yield [j, 1, graph.k - 1 - j], (first, last)

    return _trees(graph, payload, {"demand"}, programs)


def _trees(
    graph: Instance, payload: Any, more: set[str], programs: Callable[[Windows], Iterable[Program]]
) -> int:
    """Return the least of what the leaves prove, of one tree for each program."""
    payload = fields(payload, "the payload", {"threshold", "flows", "nodes"} | more)
    threshold = integer(payload["threshold"], "threshold of the payload", 0, LARGEST_AMOUNT)
    if len(graph.work) > LARGEST_TREE_GRAPH or graph.k > LARGEST_TREE_GRAPH:
        raise Rejected("the instance is too large for a tree")
    demand = integers(payload.get("demand", []), "demand of the payload", 0, LARGEST_AMOUNT)
    if more and len(demand) != len(graph.work):
        raise Rejected("demand of the payload is not one for each node")
    start = root(graph, threshold, payload["flows"])
    if start is None:
        return threshold + 1
    nodes = payload["nodes"]
    if type(nodes) is not list:
        raise Rejected("nodes of the payload is not a list")
    roots = iter(programs(start.windows))
    size = len(graph.work) + len(graph.edges)
    waiting: list[Program] = []
    proved = threshold + 1
    for node in nodes:
        if not waiting:
            waiting.extend(itertools.islice(roots, 1))
        if not waiting:
            raise Rejected("nodes of the payload has more entries than the tree")
        merged, (first, last) = waiting.pop()
        spend(size)
        if type(node) is list:
            if len(node) != 2:
                raise Rejected("a branching is not a node and a stage")
            v = integer(node[0], "node of a branching", 0, len(graph.work) - 1)
            b = integer(node[1], "stage of a branching", 0, len(merged) - 1)
            hold(WINDOWS_BYTES * len(graph.work) * (len(waiting) + 2))
            later, earlier = list(first), list(last)
            later[v], earlier[v] = max(first[v], b + 1), min(last[v], b)
            waiting.append((merged, narrowed(start.order, later, last)))
            waiting.append((merged, narrowed(start.order, first, earlier)))
        else:
            leaf = fields(node, "a leaf", {*TREE_ROWS, *more})
            bound = _leaf_bound(graph, (merged, (first, last)), start.shares, demand, leaf)
            if bound is not None:
                proved = min(proved, bound)
    if waiting or next(roots, None) is not None:
        raise Rejected("nodes of the payload has fewer entries than the tree")
    return max(proved, 0)


def _leaf_bound(
    graph: Instance, program: Program, shares: list[int], demand: list[int], leaf: dict[str, Any]
) -> int | None:
    """Return what a leaf's multipliers prove of the dearest stage; None if there is no partition.

    Adds up the rows, each times its multiplier, to ``total z >= L`` and minimises L over the box of
    all columns: y(v, b), whether v is in superblock b or earlier; c(u, b), whether the tensor of u
    enters or leaves superblock b; o(b), the overflow of superblock b; with
    x(v, b) = y(v, b) - y(v, b - 1). Each row holds for every partition whose stages, numbered as
    data flows, cost at most the threshold, and whose nodes are in the superblocks from first to
    last, of merged[b] stages at most:

    cost, b            merged[b] z >= work x(., b) + transfer c(., b) + o(b)
    share, b           merged[b] >= shares x(., b), shares being in units of 1 / TREE_SHARE_UNITS
    overflow, b        o(b) >= param_load x(., b) - merged[b] cache
    demand, 0          demand x(., 1) >= the mean over the stages, or the largest of a node
    enters, (u, w), b  c(u, b) >= x(w, b) - x(u, b)
    leaves, (u, w), b  c(u, b) >= x(u, b) - x(w, b)
    edge, (u, w), b    y(u, b) >= y(w, b)
    later, v, b        y(v, b + 1) >= y(v, b)
    """
    merged, (first, last) = program
    if any(low > high for low, high in zip(first, last, strict=True)):
        return None
    n, m, k = len(graph.work), len(graph.edges), len(merged)
    sizes = {"cost": k, "share": k, "overflow": k, "demand": 1}
    sizes |= {"enters": m * k, "leaves": m * k, "edge": m * k, "later": n * k}
    rows = {name: _multipliers(leaf[name], name, sizes[name]) for name in leaf}
    with_rows = {b for name in ("cost", "overflow", "share") for b in rows[name]}
    terms = 3 * n * (len(with_rows) + 1) + 4 * sum(map(len, rows.values()))
    spend(terms)
    hold(TERM_BYTES * terms)
    y: dict[tuple[int, int], int] = defaultdict(int)
    c: dict[tuple[int, int], int] = defaultdict(int)
    o: dict[int, int] = defaultdict(int)
    constant = total = 0

    def add_x(v: int, b: int, amount: int) -> None:
        y[v, b] += amount
        y[v, b - 1] -= amount

    for b in with_rows:
        cost, overflow, share = (rows[name].get(b, 0) for name in ("cost", "overflow", "share"))
        total += merged[b] * cost
        constant -= merged[b] * (overflow * graph.cache + share * TREE_SHARE_UNITS)
        o[b] += cost - overflow
        for v in range(n):
            if first[v] <= b <= last[v]:
                amount = cost * graph.work[v] + overflow * graph.param_load[v] + share * shares[v]
                add_x(v, b, amount)
            c[v, b] += cost * graph.transfer[v]
    for weight in rows.get("demand", {}).values():
        constant += weight * max(max(demand), -(-sum(demand) // graph.k))
        for v in range(n):
            add_x(v, 1, -weight * demand[v])
    for name, sign in (("enters", 1), ("leaves", -1)):
        for row, amount in rows[name].items():
            (u, w), b = graph.edges[row // k], row % k
            c[u, b] -= amount
            add_x(w, b, sign * amount)
            add_x(u, b, -sign * amount)
    for row, amount in rows["edge"].items():
        (u, w), b = graph.edges[row // k], row % k
        y[u, b] -= amount
        y[w, b] += amount
    for row, amount in rows["later"].items():
        v, b = row // k, row % k
        y[v, b] += amount
        y[v, min(b + 1, k - 1)] -= amount
    for (v, b), amount in y.items():
        if b >= last[v]:
            constant += amount
        elif b >= first[v]:
            constant += min(0, amount)
    constant += sum(min(0, amount) for amount in c.values())
    constant += sum(min(0, amount) for amount in o.values()) * sum(graph.param_load)
    if total == 0:
        return None if constant > 0 else 0
    return -(-constant // total)


def _multipliers(values: Any, name: str, rows: int) -> dict[int, int]:
    """Return the multipliers of rows, scaled so that those of shares are integers."""
    scale = 1 if name in ("share", "demand") else TREE_SHARE_UNITS
    values = integers(values, f"{name} of a leaf", 0, LARGEST_AMOUNT)
    if len(values) % 2 or any(row >= rows for row in values[::2]):
        raise Rejected(f"{name} of a leaf is not a list of rows and multipliers")
    found: dict[int, int] = defaultdict(int)
    for row, amount in zip(values[::2], values[1::2], strict=True):
        found[row] += scale * amount
    return found
