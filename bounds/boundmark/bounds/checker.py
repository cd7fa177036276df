"""Checks solutions and certificates of `pipeline` instances, from the instance alone.

    python checker.py instance.json certificate_or_solution.json...

This file needs Python 3.11 and nothing else. It uses integers throughout, trusts nothing that a
producer wrote, and prints one line a file. It exits with 0 if every file is accepted, 1 if not, and
2 if the instance cannot be read.

The instance: nodes with `work`, `transfer` (ticks to move a node's output) and `param_load` (ticks
to stream its parameters), of which `cache` fit; edges from producer to consumer. A solution maps
the nodes to `k` stages without a cycle among the stages. A stage S costs

    f(S) = work(S) + io(S) + max(0, param_load(S) - cache),

io(S) being the transfer of each tensor that enters S, plus that of each that leaves it, once each.
OPT is the least possible cost of the most expensive stage. Kinds of certificates for OPT >= bound:

max-work/1
    Some stage runs the given node.
mean-work/1
    Some stage has at least the mean work.
node-cut/1
    Some stage contains the given node v, and a flow shows that every set S with v in it has
    io(S) + work(S) >= C. Then OPT >= C + max(0, param_load[v] - cache).
share/1
    Suppose OPT <= t, the threshold. Flows show a io(S) + work(S) >= C_v for all S with v in it; so
    the stage S of v has (a - 1) io(S) >= C_v - t, which bounds io(S) from below, by io_v. Hence
    work(S) <= t - io(S) <= t - io_v for every v in S, and the sum of work[v] / (t - io_v) is at
    most 1 in each stage and at most k over all nodes. If it is more, OPT >= t + 1. The same is
    tried with work + param_load, of which a stage has at most t + cache - io(S).
ideal-dp/1
    Suppose OPT <= t, the threshold. Leave out some nodes with their edges: no stage's cost grows,
    and no cycle among the stages appears. In the order in which data flows, the first stages make
    up a down-set each: a set of nodes with all their producers. So there is a chain of down-sets,
    from the empty one to all nodes, with at most k steps from J to I that cost f(I - J) <= t. All
    down-sets that begin such a chain are found, fewest steps first. Those are dropped from which
    r steps cannot lead to the end, because the work outside, the transfer of each tensor that has
    a consumer outside, and the param_load outside beyond r caches add up to more than r t. If all
    nodes are not among those found, OPT >= t + 1.

A flow gives each edge (u, w) an amount, positive from u to w or negative from w to u. For each u
the positive amounts on its out-edges add up to at most a transfer[u], and so do the negative ones:
at most a io(S) leaves any S. Every node but v keeps at most its work. So if v is in S, what v sends
out is at most a io(S) + work(S) - work[v].
"""

import gzip
import hashlib
import itertools
import json
import re
import sys
import zlib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

INSTANCE_FORMAT = "boundmark-instance/1"
CERTIFICATE_FORMAT = "boundmark-certificate/1"
SOLUTION_FORMAT = "boundmark-solution/1"

LARGEST_COST = 2**53
LARGEST_AMOUNT = 2**80
LARGEST_FILE = 2**30
SHARE_UNITS = 2**60
TREE_SHARE_UNITS = 2**30
TREE_ROWS = ("cost", "share", "overflow", "enters", "leaves", "edge", "later")
LARGEST_TREE_GRAPH = 2**12

# Where memory and time for an `ideal-dp` certificate end: steps from one down-set to the next by a
# single node, those times the number of nodes, and pairs of down-sets compared.
MOST_IDEAL_STEPS = 2_000_000
MOST_IDEAL_BITS = 2**31
MOST_IDEAL_PAIRS = 20_000_000


class Rejected(Exception):  # noqa: N818 - it is a verdict
    """A file does not show what it claims; the message says why."""


class Instance(NamedTuple):
    """An instance that has passed all checks; edges are pairs (producer, consumer)."""

    k: int
    work: list[int]
    transfer: list[int]
    param_load: list[int]
    cache: int
    edges: list[tuple[int, int]]


# Nothing from a file is printed: it may be long, or not printable.


def _fields(value: Any, what: str, names: set[str]) -> dict[str, Any]:
    if type(value) is not dict or set(value) != names:
        raise Rejected(f"{what} is not an object with the fields {', '.join(sorted(names))}")
    return value


def _integer(value: Any, what: str, low: int, high: int) -> int:
    if type(value) is str and re.fullmatch("-?[0-9]{1,40}", value):
        value = int(value)
    if type(value) is not int or not low <= value <= high:
        raise Rejected(f"{what} is not an integer from {low} to {high}")
    return value


def _integers(value: Any, what: str, low: int, high: int) -> list[int]:
    if type(value) is not list:
        raise Rejected(f"{what} is not a list")
    if set(map(type, value)) <= {int} and (not value or low <= min(value) <= max(value) <= high):
        return value
    return [_integer(item, f"an entry of {what}", low, high) for item in value]


def _text(value: Any, what: str, expected: str) -> None:
    if type(value) is not str or value != expected:
        raise Rejected(f"{what} is not {expected!r}")


def instance_sha256(document: dict[str, Any]) -> str:
    """Return the hash of an instance's canonical JSON, which identifies it."""
    try:
        text = json.dumps(document, sort_keys=True, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError):
        raise Rejected("the instance is not JSON") from None
    return hashlib.sha256(text.encode()).hexdigest()


def _topological_order(edges: list[tuple[int, int]]) -> list[int] | None:
    """Return the nodes that have edges, producers first; None if there is a cycle."""
    consumers = defaultdict(list)
    missing: dict[int, int] = defaultdict(int)
    for u, w in edges:
        consumers[u].append(w)
        missing[w] += 1
    order = [u for u in consumers if u not in missing]
    for u in order:
        for w in consumers.get(u, ()):
            missing[w] -= 1
            if missing[w] == 0:
                order.append(w)
    return None if any(missing.values()) else order


def check_instance(document: Any) -> Instance:
    """Return an instance in the form that the checks below use.

    Raises
    ------
    Rejected
        If it is malformed, or its graph has a cycle.
    """
    names = {"format", "problem", *Instance._fields}
    document = _fields(document, "the instance", names)
    _text(document["format"], "the instance's format", INSTANCE_FORMAT)
    _text(document["problem"], "the instance's problem", "pipeline")
    work, transfer, param_load = (
        _integers(document[name], f"{name} of the instance", 0, LARGEST_COST)
        for name in ("work", "transfer", "param_load")
    )
    nodes = len(work)
    if nodes == 0 or len(transfer) != nodes or len(param_load) != nodes:
        raise Rejected("work, transfer and param_load are not of one length above 0")
    edges = document["edges"]
    if type(edges) is not list:
        raise Rejected("edges of the instance is not a list")
    if not all(type(edge) is list and len(edge) == 2 for edge in edges):
        raise Rejected("an edge of the instance is not a pair")
    flat = list(itertools.chain.from_iterable(edges))
    ends = _integers(flat, "edges of the instance", 0, nodes - 1)
    pairs = list(zip(ends[::2], ends[1::2], strict=True))
    if any(first >= second for first, second in itertools.pairwise(pairs)):
        raise Rejected("the instance's edges are not sorted, or repeated")
    if _topological_order(pairs) is None:
        raise Rejected("the instance's graph has a cycle")
    return Instance(
        _integer(document["k"], "k of the instance", 1, LARGEST_COST),
        work,
        transfer,
        param_load,
        _integer(document["cache"], "cache of the instance", 0, LARGEST_COST),
        pairs,
    )


def _check_belongs(document: dict[str, Any], instance: dict[str, Any], what: str) -> None:
    _text(document["problem"], f"the {what}'s problem", "pipeline")
    _text(document["instance_sha256"], f"the {what}'s instance_sha256", instance_sha256(instance))


def check_solution(instance: dict[str, Any], solution: dict[str, Any]) -> int:
    """Return the objective of a solution, recomputed.

    Raises
    ------
    Rejected
        If the solution is malformed, breaks a constraint, or states another objective.
    """
    graph = check_instance(instance)
    names = {"format", "instance_sha256", "problem", "objective", "stages"}
    solution = _fields(solution, "the solution", names)
    _text(solution["format"], "the solution's format", SOLUTION_FORMAT)
    _check_belongs(solution, instance, "solution")
    stages = _integers(solution["stages"], "stages of the solution", 0, graph.k - 1)
    if len(stages) != len(graph.work):
        raise Rejected("the solution's stages are not one for each node")
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
    if _topological_order(sorted({(stages[u], stage) for u, stage in crossing})) is None:
        raise Rejected("the solution's stages depend on each other in a cycle")
    objective = max(cost[stage] + max(0, load[stage] - graph.cache) for stage in cost)
    if _integer(solution["objective"], "the solution's objective", 0, LARGEST_AMOUNT) != objective:
        raise Rejected(f"the solution's objective is not what its stages cost, {objective}")
    return objective


def _least_cost(graph: Instance, flow: Any) -> tuple[int, int, int]:
    """Return v, a and C: a flow's proof that a io(S) + work(S) >= C for all S with v in it."""
    flow = _fields(flow, "a flow", {"node", "io_weight", "edges", "amounts"})
    node = _integer(flow["node"], "node of a flow", 0, len(graph.work) - 1)
    io_weight = _integer(flow["io_weight"], "io_weight of a flow", 1, LARGEST_COST)
    edges = _integers(flow["edges"], "edges of a flow", 0, len(graph.edges) - 1)
    amounts = _integers(flow["amounts"], "amounts of a flow", -LARGEST_AMOUNT, LARGEST_AMOUNT)
    if len(edges) != len(amounts):
        raise Rejected("edges and amounts of a flow are not of one length")
    if any(first >= second for first, second in itertools.pairwise(edges)):
        raise Rejected("edges of a flow are not ascending")
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


def _max_work(graph: Instance, payload: Any) -> int:
    payload = _fields(payload, "the payload", {"node"})
    return graph.work[_integer(payload["node"], "node of the payload", 0, len(graph.work) - 1)]


def _mean_work(graph: Instance, payload: Any) -> int:
    _fields(payload, "the payload", set())
    return -(-sum(graph.work) // graph.k)


def _node_cut(graph: Instance, payload: Any) -> int:
    node, io_weight, cost = _least_cost(graph, payload)
    if io_weight != 1:
        raise Rejected("io_weight of a node-cut is not 1")
    return cost + max(0, graph.param_load[node] - graph.cache)


def _io_bounds(graph: Instance, threshold: int, flows: Any) -> tuple[list[int], int]:
    """Return what flows prove.

    First, for each node, what the tensors of a stage with that node cost at least if the stage
    costs at most the threshold; second, what some stage costs at least in any case.
    """
    if type(flows) is not list:
        raise Rejected("flows of the payload is not a list")
    io, node_cost = [0] * len(graph.work), 0
    for flow in flows:
        node, io_weight, cost = _least_cost(graph, flow)
        if io_weight > 1:
            io[node] = max(io[node], -((threshold - cost) // (io_weight - 1)))
        else:
            node_cost = max(node_cost, cost + max(0, graph.param_load[node] - graph.cache))
    return io, node_cost


def _share(graph: Instance, payload: Any) -> int:
    payload = _fields(payload, "the payload", {"threshold", "flows"})
    threshold = _integer(payload["threshold"], "threshold of the payload", -1, LARGEST_AMOUNT)
    io, node_cost = _io_bounds(graph, threshold, payload["flows"])
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


def _narrowed(
    graph: Instance, order: list[int], first: list[int], last: list[int]
) -> tuple[list[int], list[int]]:
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


def _share_windows(
    graph: Instance, order: list[int], shares: list[int]
) -> tuple[list[int], list[int]]:
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
    return _narrowed(graph, order, first, last)


def _multipliers(leaf: dict[str, Any], name: str, rows: int) -> list[tuple[int, int]]:
    """Return rows and multipliers, these scaled so that the coefficients of shares are integers."""
    scale = 1 if name == "share" else TREE_SHARE_UNITS
    values = _integers(leaf[name], f"{name} of a leaf", 0, LARGEST_AMOUNT)
    if len(values) % 2 or any(row >= rows for row in values[::2]):
        raise Rejected(f"{name} of a leaf is not a list of rows and multipliers")
    return [(row, scale * amount) for row, amount in zip(values[::2], values[1::2], strict=True)]


def _leaf_bound(
    graph: Instance, shares: list[int], first: list[int], last: list[int], leaf: Any
) -> int | None:
    """Return what a leaf's multipliers prove of the dearest stage; None if there is no partition.

    Adds up the rows, each times its multiplier, to ``total z >= L`` and minimises L over the box of
    all columns: y(v, b), whether v is in stage b or earlier; c(u, b), whether the tensor of u
    enters or leaves stage b; o(b), the overflow of stage b; with x(v, b) = y(v, b) - y(v, b - 1).
    Each row holds for every partition whose stages, numbered as data flows, cost at most the
    threshold, and whose nodes are in the stages from first to last:

    cost, b            z >= work x(., b) + transfer c(., b) + o(b)
    share, b           1 >= shares x(., b), shares being in units of 1 / TREE_SHARE_UNITS
    overflow, b        o(b) >= param_load x(., b) - cache
    enters, (u, w), b  c(u, b) >= x(w, b) - x(u, b)
    leaves, (u, w), b  c(u, b) >= x(u, b) - x(w, b)
    edge, (u, w), b    y(u, b) >= y(w, b)
    later, v, b        y(v, b + 1) >= y(v, b)
    """
    if any(low > high for low, high in zip(first, last, strict=True)):
        return None
    n, m, k = len(graph.work), len(graph.edges), graph.k
    leaf = _fields(leaf, "a leaf", set(TREE_ROWS))
    y: dict[tuple[int, int], int] = defaultdict(int)
    c: dict[tuple[int, int], int] = defaultdict(int)
    o: dict[int, int] = defaultdict(int)
    constant = total = 0

    def add_x(v: int, b: int, amount: int) -> None:
        y[v, b] += amount
        y[v, b - 1] -= amount

    weights = [[0] * k for _ in range(3)]
    for name, row_weights in zip(("cost", "overflow", "share"), weights, strict=True):
        for b, amount in _multipliers(leaf, name, k):
            row_weights[b] += amount
    for b, (cost, overflow, share) in enumerate(zip(*weights, strict=True)):
        total += cost
        constant -= overflow * graph.cache + share * TREE_SHARE_UNITS
        o[b] += cost - overflow
        for v in range(n):
            if first[v] <= b <= last[v]:
                amount = cost * graph.work[v] + overflow * graph.param_load[v] + share * shares[v]
                add_x(v, b, amount)
            c[v, b] += cost * graph.transfer[v]
    for name, sign in (("enters", 1), ("leaves", -1)):
        for row, amount in _multipliers(leaf, name, m * k):
            (u, w), b = graph.edges[row // k], row % k
            c[u, b] -= amount
            add_x(w, b, sign * amount)
            add_x(u, b, -sign * amount)
    for row, amount in _multipliers(leaf, "edge", m * k):
        (u, w), b = graph.edges[row // k], row % k
        y[u, b] -= amount
        y[w, b] += amount
    for row, amount in _multipliers(leaf, "later", n * k):
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


def _mip_tree(graph: Instance, payload: Any) -> int:
    payload = _fields(payload, "the payload", {"threshold", "flows", "nodes"})
    threshold = _integer(payload["threshold"], "threshold of the payload", 0, LARGEST_AMOUNT)
    if len(graph.work) > LARGEST_TREE_GRAPH or graph.k > LARGEST_TREE_GRAPH:
        raise Rejected("the instance is too large for a tree")
    io, node_cost = _io_bounds(graph, threshold, payload["flows"])
    if node_cost > threshold:
        return threshold + 1
    if any(work > threshold - taken for work, taken in zip(graph.work, io, strict=True)):
        return threshold + 1
    shares = [
        work * TREE_SHARE_UNITS // max(threshold - taken, 1)
        for work, taken in zip(graph.work, io, strict=True)
    ]
    connected = _topological_order(graph.edges) or []
    order = [*connected, *set(range(len(graph.work))).difference(connected)]
    nodes = payload["nodes"]
    if type(nodes) is not list:
        raise Rejected("nodes of the payload is not a list")
    waiting = [_share_windows(graph, order, shares)]
    proved = threshold + 1
    for node in nodes:
        if not waiting:
            raise Rejected("nodes of the payload has more entries than the tree")
        first, last = waiting.pop()
        if type(node) is list:
            if len(node) != 2:
                raise Rejected("a branching is not a node and a stage")
            v = _integer(node[0], "node of a branching", 0, len(graph.work) - 1)
            b = _integer(node[1], "stage of a branching", 0, graph.k - 1)
            later, earlier = list(first), list(last)
            later[v], earlier[v] = max(first[v], b + 1), min(last[v], b)
            waiting.append(_narrowed(graph, order, later, last))
            waiting.append(_narrowed(graph, order, first, earlier))
        else:
            bound = _leaf_bound(graph, shares, first, last, node)
            if bound is not None:
                proved = min(proved, bound)
    if waiting:
        raise Rejected("nodes of the payload has fewer entries than the tree")
    return max(proved, 0)


class _Ideals:
    """The down-sets of the graph without some nodes, as bit sets, found step by step."""

    def __init__(self, graph: Instance, ignored: set[int]) -> None:
        nodes = range(len(graph.work))
        self._graph = graph
        self._needs = [0 for _ in nodes]
        self._feeds = [0 for _ in nodes]
        for u, w in graph.edges:
            if u not in ignored and w not in ignored:
                self._needs[w] |= 1 << u
                self._feeds[u] |= 1 << w
        kept = [v for v in nodes if v not in ignored]
        # Work and param_load inside, transfers that leave, and nodes that may come next.
        ready = sum(1 << v for v in kept if not self._needs[v])
        self._facts = {0: (0, 0, 0, ready)}
        self._steps: dict[int, list[tuple[int, ...]]] = {}
        self._transfers = {0: 0}
        self._count = 0
        self._pairs = 0
        self.all = sum(1 << v for v in kept)
        self._work = sum(graph.work[v] for v in kept)
        self._load = sum(graph.param_load[v] for v in kept)

    def _transfer(self, nodes: int) -> int:
        total = self._transfers.get(nodes)
        if total is None:
            total = self._transfers[nodes] = sum(self._graph.transfer[u] for u in _bits(nodes))
        return total

    def steps(self, ideal: int) -> list[tuple[int, ...]]:
        """Return each down-set with one node more, with what that node adds.

        That is its work, param_load, transfer, producers, and those it is the last to read from.
        """
        known = self._steps.get(ideal)
        if known is not None:
            return known
        found: list[tuple[int, ...]] = []
        work, load, leaving, ready = self._facts[ideal]
        for v in _bits(ready):
            after = ideal | 1 << v
            needs, feeds = self._needs[v], self._feeds[v]
            read_last = sum(1 << u for u in _bits(needs) if not self._feeds[u] & ~after)
            node_work, node_load = self._graph.work[v], self._graph.param_load[v]
            transfer = self._graph.transfer[v] if feeds else 0
            found.append((after, node_work, node_load, transfer, needs, read_last))
            if after not in self._facts:
                opened = sum(1 << w for w in _bits(feeds) if not self._needs[w] & ~after)
                self._facts[after] = (
                    work + node_work,
                    load + node_load,
                    leaving + transfer - self._transfer(read_last),
                    ready ^ 1 << v | opened,
                )
        self._count += len(found)
        if self._count > min(MOST_IDEAL_STEPS, MOST_IDEAL_BITS // len(self._graph.work)):
            raise Rejected("the graph has too many down-sets to check")
        self._steps[ideal] = found
        return found

    def may_end(self, ideal: int, stages: int, threshold: int) -> bool:
        """Whether stages of cost up to the threshold may do for the nodes outside a down-set."""
        work, load, leaving, _ = self._facts[ideal]
        overflow = max(0, self._load - load - stages * self._graph.cache)
        return self._work - work + leaving + overflow <= stages * threshold

    def after_one_stage(self, first: int, threshold: int) -> list[int]:
        """Return the larger down-sets that one stage of cost up to the threshold leads to."""
        within = []
        seen = {first}
        # A down-set, and of what it has beyond the first: work, load, io in and out, tensors in.
        stack = [(first, 0, 0, 0, 0, 0)]
        cache = self._graph.cache
        while stack:
            ideal, work, load, entering, leaving, tensors = stack.pop()
            for after, node_work, node_load, transfer, needs, read_last in self.steps(ideal):
                if after in seen:
                    continue
                seen.add(after)
                more = needs & first & ~tensors
                now_entering = entering + self._transfer(more)
                now_load = load + node_load
                # None of these costs becomes less as nodes are added.
                cost = work + node_work + now_entering + max(0, now_load - cache)
                if cost > threshold:
                    continue
                now_leaving = leaving + transfer - self._transfer(read_last & ~first)
                stack.append(
                    (after, work + node_work, now_load, now_entering, now_leaving, tensors | more)
                )
                if cost + now_leaving <= threshold:
                    within.append(after)
        self._pairs += len(seen) - 1
        if self._pairs > MOST_IDEAL_PAIRS:
            raise Rejected("the graph has too many pairs of down-sets to check")
        return within


def _bits(nodes: int) -> Iterator[int]:
    while nodes:
        low = nodes & -nodes
        yield low.bit_length() - 1
        nodes ^= low


def _ideal_dp(graph: Instance, payload: Any) -> int:
    payload = _fields(payload, "the payload", {"threshold", "ignored"})
    threshold = _integer(payload["threshold"], "threshold of the payload", -1, LARGEST_AMOUNT)
    ignored = _integers(payload["ignored"], "ignored of the payload", 0, len(graph.work) - 1)
    ideals = _Ideals(graph, set(ignored))
    reached = {0}
    level = [0]
    for stages in range(graph.k, 0, -1):
        level = [ideal for ideal in level if ideals.may_end(ideal, stages, threshold)]
        if not level:
            return threshold + 1
        if stages > 1:
            found = {end for first in level for end in ideals.after_one_stage(first, threshold)}
            level = list(found - reached)
            reached |= found
        if ideals.all in reached:
            break
    raise Rejected("the down-sets do not refute the threshold")


KINDS = {
    "max-work/1": _max_work,
    "mean-work/1": _mean_work,
    "node-cut/1": _node_cut,
    "share/1": _share,
    "mip-tree/1": _mip_tree,
    "ideal-dp/1": _ideal_dp,
}


def check_certificate(instance: dict[str, Any], certificate: dict[str, Any]) -> int:
    """Return the lower bound that a certificate proves, which may exceed what it claims.

    Raises
    ------
    Rejected
        If the certificate is malformed, belongs to another instance, or proves less than it claims.
    """
    graph = check_instance(instance)
    names = {"format", "instance_sha256", "problem", "kind", "bound", "payload", "producer"}
    certificate = _fields(certificate, "the certificate", names)
    _text(certificate["format"], "the certificate's format", CERTIFICATE_FORMAT)
    _check_belongs(certificate, instance, "certificate")
    kind = certificate["kind"]
    if type(kind) is not str or kind not in KINDS:
        raise Rejected(f"the certificate's kind is not one of {', '.join(KINDS)}")
    if type(certificate["producer"]) is not str:
        raise Rejected("the certificate's producer is not a text")
    bound = _integer(certificate["bound"], "the certificate's bound", 0, LARGEST_AMOUNT)
    proved = KINDS[kind](graph, certificate["payload"])
    if bound > proved:
        raise Rejected(f"the certificate's bound is more than it proves, {proved}")
    return proved


def _read_json(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        raise Rejected("the file is not JSON") from None


def _read_payload(name: Any, sha256: Any, folder: Path) -> Any:
    if type(name) is not str or not re.fullmatch("[0-9a-f]{64}[.]json[.]gz", name):
        raise Rejected("payload_file is not the name of a file in the certificate's folder")
    try:
        with gzip.open(folder / name) as file:
            data = file.read(LARGEST_FILE + 1)
    except (OSError, EOFError, zlib.error):
        raise Rejected("the payload file cannot be read") from None
    if len(data) > LARGEST_FILE:
        raise Rejected("the payload file is too large")
    _text(sha256, "payload_sha256", hashlib.sha256(data).hexdigest())
    return _read_json(data)


def read_document(path: Path) -> dict[str, Any]:
    """Read an instance, a solution, or a certificate together with its payload.

    Raises
    ------
    Rejected
        If the file is not a JSON object, if the payload stored beside it is not what it says, or
        if the file is named after a hash that is not its content's.
    """
    try:
        data = path.read_bytes()
    except OSError:
        raise Rejected("the file cannot be read") from None
    if re.fullmatch("[0-9a-f]{64}", path.stem) and path.stem != hashlib.sha256(data).hexdigest():
        raise Rejected("the file is named after a hash that is not its content's")
    document = _read_json(data)
    if type(document) is not dict:
        raise Rejected("the file is not a JSON object")
    if "payload_file" in document:
        if "payload" in document or "payload_sha256" not in document:
            raise Rejected("the certificate does not have one payload")
        name, sha256 = document.pop("payload_file"), document.pop("payload_sha256")
        document["payload"] = _read_payload(name, sha256, path.parent)
    return document


def check_file(instance: dict[str, Any], path: Path) -> str:
    """Return what a file shows about an instance, in words.

    Raises
    ------
    Rejected
        If it does not show what it claims.
    """
    document = read_document(path)
    if document.get("format") == SOLUTION_FORMAT:
        return f"OPT <= {check_solution(instance, document)}"
    return f"OPT >= {check_certificate(instance, document)}"


def main(arguments: list[str]) -> int:
    """Check files against an instance; return the exit code."""
    if len(arguments) < 2:
        print("usage: checker.py instance.json certificate_or_solution.json...", file=sys.stderr)
        return 2
    try:
        instance = read_document(Path(arguments[0]))
        check_instance(instance)
    except Rejected as reason:
        print(f"{arguments[0]}: {reason}", file=sys.stderr)
        return 2
    rejected = 0
    for name in arguments[1:]:
        try:
            print(f"{name}: accepted, {check_file(instance, Path(name))}")
        except Rejected as reason:
            print(f"{name}: rejected, {reason}")
            rejected += 1
    return 1 if rejected else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
