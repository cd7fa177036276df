"""Checks cut-tree: in every partition, some stage would have to be heavier than it can be.

*Theorem.* Let nodes have weights w >= 0, and W be their sum over k, rounded up. If every convex set
S with w(S) >= W has f(S) > t, then OPT > t. *Proof.* Some stage weighs W at least. It is convex: no
path leaves it and comes back, since stages do not depend on each other in a cycle.

*Ends.* In the order in which data flows, the first stage holds all producers of its nodes, and the
last one all consumers of its nodes. Let k >= 2, and w(S) <= A for all sets S of the first sort with
f(S) <= t, and w(S) <= B for those of the second sort. Then the theorem holds with the sum less A
and B, over k - 2, for W; and if k = 2, OPT > t if the sum exceeds A + B. *Proof.* Otherwise, the
other k - 2 stages weigh the sum less A and B at least. A is shown like the theorem, with A + 1 for
W, by a tree about sets of the first sort.

A tree divides the sets by nodes inside (I) and outside; others are undecided (U). What is between
nodes of I is inside; what is before or after I, beyond a node outside, is outside. Of the first
stage, what is before I is inside, and what is after a node outside is outside; of the last stage,
the other way round. A branch ends if that is a contradiction, if I and U together weigh less than
W, or if U is empty and f(I) > t.

Otherwise a flow decides. Amounts are in parts of a tick, `scale` of them. What a set S sends in all
leaves it through tensors of io(S), so it is at most scale io(S). For a price p >= 0 of weight, let
r(v) be scale work[v] - p w[v], and what v sends less what it receives. If w(S) >= W, then

    scale f(S) >= p W + r(S) >= p W + r(I) + (the sum of min(0, r(v)) over U) =: L.

If L > scale t, the branch ends. If L + r(v) > scale t for v in U with r(v) > 0, v is outside; if
L - r(v) > scale t with r(v) < 0, v is inside.

For each producer, positive amounts on its edges, which go to consumers, add up to at most
scale transfer, and so do negative ones. No tensor enters the first stage, so nothing leaves it by
negative amounts, and these have no limit there; nor have positive ones in the last stage.
"""

from collections import defaultdict
from typing import Any

from ..budget import hold, spend
from ..sets import members
from ..values import LARGEST_AMOUNT, Rejected, TooLarge, fields, integer, integers
from . import limits
from .instance import Instance
from .windows import in_order, nodes_around, total

# Which stage a set may be.
ANY, FIRST, LAST = range(3)


def cut_tree(graph: Instance, payload: Any) -> int:
    """Return the threshold + 1 if the trees refute it."""
    names = {"threshold", "loaded", "scale", "weights", "nodes", "ends"}
    payload = fields(payload, "the payload", names)
    graph, limit, weights = begun(graph, payload)
    taken, others = ends(graph, weights, limit, payload["ends"])
    left = sum(weights) - taken
    if left <= 0:
        raise Rejected("the weights do not refute the threshold")
    if others:
        _refute(graph, weights, limit, -(-left // others), ANY, payload, "the payload")
    elif payload["nodes"] != []:
        raise Rejected("nodes of the payload has entries, but there is no other stage")
    return int(payload["threshold"]) + 1


def begun(graph: Instance, payload: Any) -> tuple[Instance, int, list[int]]:
    """Return the graph, what a stage costs at most, and the weights.

    Of a payload with `loaded`, parameters are work.
    """
    n = len(graph.work)
    if n > limits.LARGEST_CUT_GRAPH:
        raise TooLarge("the instance is too large for a tree of cuts")
    limit = integer(payload["threshold"], "threshold of the payload", 0, LARGEST_AMOUNT)
    weights = integers(payload["weights"], "weights of the payload", 0, LARGEST_AMOUNT)
    if len(weights) != n:
        raise Rejected("weights of the payload is not one for each node")
    if integer(payload["loaded"], "loaded of the payload", 0, 1):
        # A stage has work + io + param_load of at most threshold + cache.
        work = [work + load for work, load in zip(graph.work, graph.param_load, strict=True)]
        graph = graph._replace(work=work, param_load=[0] * n)
        limit += graph.cache
    return graph, limit, weights


def ends(graph: Instance, weights: list[int], limit: int, value: Any) -> tuple[int, int]:
    """Return what ends weigh together at most, by a tree for each, and how many stages are left."""
    if type(value) is not list or len(value) not in (0, 2):
        raise Rejected("ends of the payload is not a list of two, or of none")
    if not value:
        return 0, graph.k
    if graph.k < 2:
        raise Rejected("the first stage is the last one, too")
    together = 0
    for position, end in zip((FIRST, LAST), value, strict=True):
        end = fields(end, "an entry of ends", {"most", "scale", "nodes"})
        most = integer(end["most"], "most of an entry of ends", 0, LARGEST_AMOUNT)
        _refute(graph, weights, limit, most + 1, position, end, "an entry of ends")
        together += most
    return together, graph.k - 2


def _refute(
    graph: Instance,
    weights: list[int],
    limit: int,
    least: int,
    position: int,
    value: Any,
    what: str,
) -> None:
    """Reject unless a tree shows that no such set weighs `least` or more."""
    n = len(graph.work)
    scale = integer(value["scale"], f"scale of {what}", 1, LARGEST_AMOUNT)
    if type(value["nodes"]) is not list:
        raise Rejected(f"nodes of {what} is not a list")
    sets = HeavySets(graph, weights, least, limit, scale, position)
    # Sets with these nodes inside and those outside are still to be looked at, the last ones first.
    waiting = [(0, 0)]
    for node in value["nodes"]:
        if not waiting:
            raise Rejected(f"nodes of {what} has more entries than the tree")
        numbers = integers(node, "an entry of nodes", -LARGEST_AMOUNT, LARGEST_AMOUNT)
        spend(limits.cut_steps(n, len(numbers)))
        inside, outside = waiting.pop()
        if len(numbers) == 2:
            v = integer(numbers[0], "node of a branching", 0, n - 1)
            if (inside | outside) >> v & 1:
                raise Rejected(f"a branching is about node {v}, which is decided")
            sides = [(inside, outside | 1 << v), (inside | 1 << v, outside)]
            if not integer(numbers[1], "side of a branching", 0, 1):
                sides.reverse()
        else:
            sides = sets.bounded(inside, outside, numbers)
        waiting += [side for side in (sets.closed(*side) for side in sides) if side]
    if waiting:
        raise Rejected(f"nodes of {what} has fewer entries than the tree")


class HeavySets:
    """The sets that may be a stage, cost at most a limit and weigh `least` or more.

    A flow bounds what they cost; it changes from one use to the next. `kept` is what a node keeps
    of its work after it has sent and received; `used` is what each tensor lets through, of amounts
    in either direction.
    """

    def __init__(
        self, graph: Instance, weights: list[int], least: int, limit: int, scale: int, position: int
    ) -> None:
        n = len(graph.work)
        hold(n * n)
        spend(n * n // 4)
        self._graph, self._weights, self._limit, self._scale = graph, weights, limit, scale
        self._least, self._position = least, position
        self._before, self._after = nodes_around(in_order(graph))
        self._all = (1 << n) - 1
        self._kept = [scale * work for work in graph.work]
        self._amounts: dict[int, int] = defaultdict(int)
        self._used = [[0] * n, [0] * n]

    def closed(self, inside: int, outside: int) -> tuple[int, int] | None:
        """Return the nodes that are inside or outside with others; None if no set is left."""
        before = after = 0
        for v in members(inside):
            before |= self._before[v]
            after |= self._after[v]
        if self._position == FIRST:
            inside |= before
            for v in members(outside):
                outside |= self._after[v]
        elif self._position == LAST:
            inside |= after
            for v in members(outside):
                outside |= self._before[v]
        else:
            inside = before & after
            for v in members(outside & after):
                outside |= self._after[v]
            for v in members(outside & before):
                outside |= self._before[v]
        if inside & outside or total(self._all & ~outside, self._weights) < self._least:
            return None
        if inside | outside == self._all:
            if self._cost(inside) > self._limit:
                return None
            raise Rejected("a set that weighs too much costs at most the threshold")
        return inside, outside

    def bounded(self, inside: int, outside: int, numbers: list[int]) -> list[tuple[int, int]]:
        """Return the nodes that a flow leaves undecided no longer; nothing if it leaves no set."""
        if len(numbers) % 2 == 0:
            raise Rejected("an entry of nodes is not a price, edges and amounts")
        price = integer(numbers[0], "price of weight", 0, LARGEST_AMOUNT)
        self._change(numbers[1::2], numbers[2::2])
        # What each node adds to the cost less the price of its weight.
        added = [kept - price * w for kept, w in zip(self._kept, self._weights, strict=True)]
        undecided = self._all & ~inside & ~outside
        least = price * self._least + sum(added[v] for v in members(inside))
        least += sum(min(0, added[v]) for v in members(undecided))
        room = self._scale * self._limit - least
        if room < 0:
            return []
        for v in members(undecided):
            if added[v] > room:
                outside |= 1 << v
            elif -added[v] > room:
                inside |= 1 << v
        return [(inside, outside)]

    def _change(self, edges: list[int], amounts: list[int]) -> None:
        """Change the flow's amounts, if tensors let as much through."""
        changed = set()
        for edge, amount in zip(edges, amounts, strict=True):
            u, w = self._graph.edges[integer(edge, "edge of a flow", 0, len(self._graph.edges) - 1)]
            before, self._amounts[edge] = self._amounts[edge], amount
            self._kept[u] += amount - before
            self._kept[w] -= amount - before
            self._used[0][u] += max(0, amount) - max(0, before)
            self._used[1][u] += max(0, -amount) - max(0, -before)
            changed.add(u)
        for u in changed:
            # No tensor enters the first stage, nor leaves the last one.
            to_consumers = 0 if self._position == LAST else self._used[0][u]
            to_producer = 0 if self._position == FIRST else self._used[1][u]
            if max(to_consumers, to_producer) > self._scale * self._graph.transfer[u]:
                raise Rejected(f"a flow sends more than the tensor of node {u} lets through")

    def _cost(self, inside: int) -> int:
        """Return what a set of nodes costs as a stage."""
        graph = self._graph
        spend(len(graph.edges))
        moved = {u for u, w in graph.edges if (inside >> u ^ inside >> w) & 1}
        overflow = max(0, total(inside, graph.param_load) - graph.cache)
        return total(inside, graph.work) + sum(graph.transfer[u] for u in moved) + overflow
