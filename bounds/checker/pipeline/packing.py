"""Checks the kind packing: searches for sets of nodes that weigh more than a front allows.

If trees of cuts show that the first stage weighs at most A, and the last one at most B (see
`cut_tree`), the others have to hold what all nodes weigh less A and B.
"""

from typing import Any, NamedTuple

from ..budget import spend
from ..graph import topological_order
from ..sets import members
from ..values import LARGEST_AMOUNT, Rejected, TooLarge, fields, integer, integers
from . import limits
from .cut_tree import begun, ends
from .instance import Instance
from .limits import SPLIT


def packing(graph: Instance, payload: Any) -> int:
    """Return the threshold + 1 if the weights refute it."""
    names = {"threshold", "loaded", "unit", "weights", "front", "order", "flows", "plan", "ends"}
    payload = fields(payload, "the payload", names)
    n = len(graph.work)
    if n > limits.LARGEST_PACKING_GRAPH or len(graph.edges) > limits.MOST_PACKING_EDGES:
        raise TooLarge("the instance is too large for a packing")
    graph, limit, weights = begun(graph, payload)
    unit = integer(payload["unit"], "unit of the payload", 1, LARGEST_AMOUNT)
    front = integers(payload["front"], "front of the payload", 0, LARGEST_AMOUNT)
    order = integers(payload["order"], "order of the payload", 0, n - 1)
    flows = payload["flows"]
    if len(front) > limits.MOST_PACKING_UNITS:
        raise TooLarge("front of the payload is too long")
    if len(front) != limit // unit + 1 or front[0] != 0:
        raise Rejected("front of the payload is not 0 and one for each unit up to the limit")
    taken, stages = ends(graph, weights, limit, payload["ends"])
    # No more stages than nodes have any.
    left, stages = sum(weights) - taken, min(stages, n)
    if left <= stages * _heaviest(front):
        raise Rejected("the weights do not refute the threshold")
    if sorted(order) != list(range(n)):
        raise Rejected("order of the payload is not each node once")
    if type(flows) is not list:
        raise Rejected("flows of the payload is not a list")
    plan = integers(payload["plan"], "plan of the payload", SPLIT, len(flows) - 1)
    Sets(graph, order, weights, front, limit, unit).search_all(flows, plan)
    return int(payload["threshold"]) + 1


def _heaviest(front: list[int]) -> int:
    """Return the most that sets of len(front) - 1 units weigh, if one of i units has front[i].

    Only one of them has more than half of the units.
    """
    last = len(front) - 1
    best, small = [0], [(0, 0)]
    for room in range(1, last + 1):
        spend(1 + len(small) // 8)
        if 2 * room <= last and front[room] > small[-1][1]:
            small.append((room, front[room]))
        best.append(max((best[room - used] + weight for used, weight in small[1:]), default=0))
    large = (front[used] + best[last - used] for used in range(last // 2 + 1, last + 1))
    return max(best[last], max(large, default=0))


class Flow(NamedTuple):
    """Bounds the weight of a set by its cost.

    Attributes
    ----------
    price
        Weight that a tick takes.
    left
        What the weight of each node has in excess of the price of its work and of what tensors
        take from it.
    taken
        For each tensor, by the number of its producer, its ends and what it takes from them, which
        adds up to 0.
    tensors
        For each node, the tensors that it is an end of, each as a bit, and what it takes.
    short
        Least that the front is above the price of the cost, on so many levels or more.
    """

    price: int
    left: list[int]
    taken: list[list[tuple[int, int]]]
    tensors: list[list[tuple[int, int, int]]]
    short: list[int]


class Partial:
    """A branch of the search: nodes decided to be inside or outside of the set.

    Nodes and tensors are bit sets: `inside` and `outside`; `before` and `after`, what nodes inside
    depend on, and what depends on them, at any distance; `near`, their neighbours; `held` and
    `missed`, tensors with an end inside, and with one outside. `work`, `load` and `weight` are
    those of the nodes inside, and `cut` is the transfer of tensors that are both held and missed.
    No set with these nodes weighs more than the price of its cost and `excess`.
    """

    def __init__(self, other: "Partial | None" = None) -> None:
        if other is not None:
            self.__dict__.update(other.__dict__)
            return
        self.inside = self.outside = self.before = self.after = self.near = 0
        self.held = self.missed = self.work = self.load = self.cut = self.weight = self.excess = 0


class Sets:
    """The connected convex sets of a graph; nodes are numbered in the order they are searched."""

    def __init__(
        self,
        graph: Instance,
        order: list[int],
        weights: list[int],
        front: list[int],
        limit: int,
        unit: int,
    ) -> None:
        number = {v: i for i, v in enumerate(order)}
        spend(10 * len(graph.edges))
        self.edges = [(number[u], number[w]) for u, w in graph.edges]
        self.work, self.load, self.transfer, self.weights = (
            [values[v] for v in order]
            for values in (graph.work, graph.param_load, graph.transfer, weights)
        )
        self.cache, self.front, self.limit, self.unit = graph.cache, front, limit, unit
        self.before, self.after, self.near, self.ends = ([0] * len(order) for _ in range(4))
        for u, w in self.edges:
            self.ends[u] |= 1 << u | 1 << w
        for u, w in self.edges:
            self.near[u] |= self.ends[u]
            self.near[w] |= self.ends[u]
        position = {v: i for i, v in enumerate(topological_order(self.edges) or [])}
        for u, w in sorted(self.edges, key=lambda edge: position[edge[0]]):
            self.before[w] |= self.before[u] | 1 << u
        for u, w in sorted(self.edges, key=lambda edge: -position[edge[1]]):
            self.after[u] |= self.after[w] | 1 << w
        self.least = list(front)
        for i in reversed(range(len(front) - 1)):
            self.least[i] = min(front[i], self.least[i + 1])
        # Where the front has one value, the largest cost decides whether a price of it is enough.
        self.level, self.ends_of_levels = [0] * len(front), [0]
        for i in range(1, len(front)):
            if front[i] == front[i - 1]:
                self.ends_of_levels[-1] = i
            else:
                self.ends_of_levels.append(i)
            self.level[i] = len(self.ends_of_levels) - 1
        self.steps = 0

    def flow(self, payload: Any) -> Flow:
        """Read a flow: an edge (u, w) carries an amount, positive from u to w."""
        payload = fields(payload, "a flow", {"price", "edges", "amounts"})
        price = integer(payload["price"], "price of a flow", 0, LARGEST_AMOUNT)
        edges = integers(payload["edges"], "edges of a flow", 0, len(self.edges) - 1)
        amounts = integers(payload["amounts"], "amounts of a flow", -LARGEST_AMOUNT, LARGEST_AMOUNT)
        if len(edges) != len(amounts):
            raise Rejected("edges and amounts of a flow are not of one length")
        by_node = [dict.fromkeys(members(ends), 0) for ends in self.ends]
        for edge, amount in zip(edges, amounts, strict=True):
            u, w = self.edges[edge]
            by_node[u][u] += amount
            by_node[u][w] -= amount
        taken = [list(of_tensor.items()) for of_tensor in by_node]
        left = [weight - price * work for weight, work in zip(self.weights, self.work, strict=True)]
        tensors: list[list[tuple[int, int, int]]] = [[] for _ in self.work]
        for u, of_tensor in enumerate(taken):
            for sign in (1, -1):
                through = sum(max(0, sign * amount) for v, amount in of_tensor if v != u)
                if through > price * self.transfer[u]:
                    raise Rejected("a flow sends more than a tensor lets through")
            for v, amount in of_tensor:
                left[v] -= amount
                tensors[v].append((u, 1 << u, amount))
        last = self.ends_of_levels
        short = [self.front[i] - price * min(self.limit, (i + 1) * self.unit - 1) for i in last]
        for i in reversed(range(len(short) - 1)):
            short[i] = min(short[i], short[i + 1])
        return Flow(price, left, taken, tensors, short)

    def search_all(self, flows: list[Any], plan: list[int]) -> None:
        """Raise `Rejected` if a set weighs more than the front, or the plan is not for all sets.

        Every set has a first node, and none of the nodes before it. Sets with some nodes inside and
        some outside are searched, or split into those with their first neighbour and those without.
        """
        waiting = [(1 << root, (1 << root) - 1) for root in reversed(range(len(self.work)))]
        number, flow = SPLIT, self.flow({"price": 0, "edges": [], "amounts": []})
        for entry in plan:
            if not waiting:
                raise Rejected("plan of the payload goes on when all sets are searched")
            self.count(limits.plan_steps(len(self.work)))
            if entry not in (SPLIT, number):
                self.count(limits.flow_steps(len(self.work), len(self.edges), len(flow.short)))
                number, flow = entry, self.flow(flows[entry])
            inside, outside = waiting.pop()
            first = Partial()
            first.excess = sum(max(0, left) for left in flow.left)
            self.exclude(first, outside, flow)
            self.include(first, inside, flow)
            if entry != SPLIT:
                self.search(first, flow)
                continue
            candidates = first.near & ~inside & ~first.outside
            if not candidates:
                raise Rejected("plan of the payload splits what cannot be split")
            bit, joined = self.join(first, candidates)
            waiting.append((inside, first.outside | bit))
            if not joined & first.outside:
                waiting.append((inside | joined, first.outside))
        if waiting:
            raise Rejected("plan of the payload ends before all sets are searched")

    def search(self, first: Partial, flow: Flow) -> None:
        """Raise `Rejected` if one of the sets with these nodes weighs more than the front.

        A set that is larger than the nodes inside has a neighbour of theirs. So for one neighbour
        after the other: either it is in the set, with all nodes between it and those inside, or it
        is not.
        """
        waiting: list[Partial] = []
        new: Partial | None = first if self.may_exceed(first, flow) else None
        while waiting or new:
            if new:
                self.check(new)
                waiting.append(new)
                new = None
            partial = waiting[-1]
            candidates = partial.near & ~partial.inside & ~partial.outside
            if not candidates:
                waiting.pop()
                continue
            self.count(limits.DECISION_STEPS)
            bit, joined = self.join(partial, candidates)
            if not joined & partial.outside:
                larger = Partial(partial)
                self.include(larger, joined, flow)
                if self.may_exceed(larger, flow):
                    new = larger
            self.exclude(partial, bit, flow)
            if not self.may_exceed(partial, flow):
                waiting.pop()

    def join(self, partial: Partial, candidates: int) -> tuple[int, int]:
        """Return the first candidate as a bit, and what joins the nodes inside if it does."""
        bit = candidates & -candidates
        node = bit.bit_length() - 1
        between = (partial.before | self.before[node]) & (partial.after | self.after[node])
        return bit, between & ~partial.inside | bit

    def include(self, partial: Partial, nodes: int, flow: Flow) -> None:
        """Put nodes inside, and put those outside that no convex set with them contains."""
        before, after = partial.before, partial.after
        for v in members(nodes):
            before |= self.before[v]
            after |= self.after[v]
            partial.inside |= 1 << v
            partial.near |= self.near[v]
            partial.work += self.work[v]
            partial.load += self.load[v]
            partial.weight += self.weights[v]
            if flow.left[v] < 0:
                partial.excess += flow.left[v]
            self.count(limits.MOVE_STEPS * (1 + len(flow.tensors[v])))
            for u, tensor, taken in flow.tensors[v]:
                if partial.missed & tensor:
                    if not partial.held & tensor:
                        self.cut(partial, u, flow)
                    elif taken < 0:
                        partial.excess += taken
                partial.held |= tensor
        beyond = 0
        for v in members(partial.outside & after & ~partial.after):
            beyond |= self.after[v]
        for v in members(partial.outside & before & ~partial.before):
            beyond |= self.before[v]
        partial.before, partial.after = before, after
        self.put_outside(partial, beyond, flow)

    def exclude(self, partial: Partial, nodes: int, flow: Flow) -> None:
        """Put nodes outside, with all that no convex set without them contains."""
        beyond = nodes
        for v in members(nodes & partial.after):
            beyond |= self.after[v]
        for v in members(nodes & partial.before):
            beyond |= self.before[v]
        self.put_outside(partial, beyond, flow)

    def put_outside(self, partial: Partial, nodes: int, flow: Flow) -> None:
        """Put nodes outside."""
        for v in members(nodes & ~partial.outside):
            partial.outside |= 1 << v
            if flow.left[v] > 0:
                partial.excess -= flow.left[v]
            self.count(limits.MOVE_STEPS * (1 + len(flow.tensors[v])))
            for u, tensor, taken in flow.tensors[v]:
                if partial.held & tensor:
                    if not partial.missed & tensor:
                        self.cut(partial, u, flow)
                    elif taken > 0:
                        partial.excess -= taken
                partial.missed |= tensor

    def cut(self, partial: Partial, u: int, flow: Flow) -> None:
        """Count the tensor of a node as cut; what the flow leaves of it is no excess."""
        self.count(len(flow.taken[u]))
        partial.cut += self.transfer[u]
        partial.excess -= flow.price * self.transfer[u]
        for v, taken in flow.taken[u]:
            if partial.inside >> v & 1 or (taken > 0 and not partial.outside >> v & 1):
                partial.excess += taken

    def least_cost(self, partial: Partial) -> int:
        """Return a lower bound on the cost of every set with these nodes."""
        return partial.work + partial.cut + max(0, partial.load - self.cache)

    def may_exceed(self, partial: Partial, flow: Flow) -> bool:
        """Whether a set with these nodes might cost at most the limit, and exceed the front."""
        cost = self.least_cost(partial)
        if cost > self.limit:
            return False
        return partial.excess > flow.short[self.level[cost // self.unit]]

    def check(self, partial: Partial) -> None:
        """Raise `Rejected` if the nodes inside are a set that weighs more than the front."""
        cost = self.least_cost(partial)
        if partial.weight <= self.least[cost // self.unit]:
            return
        whole = partial.held & ~partial.missed
        self.count(whole.bit_count())
        for u in members(whole):
            if self.ends[u] & ~partial.inside:
                cost += self.transfer[u]
        if cost <= self.limit and partial.weight > self.front[cost // self.unit]:
            raise Rejected("a set of nodes weighs more than the front allows")

    def count(self, steps: int) -> None:
        """Spend steps, of which a search has fewer than a check."""
        self.steps += steps
        if self.steps > limits.MOST_PACKING_STEPS:
            raise TooLarge("the graph has too many sets to check")
        spend(steps)
