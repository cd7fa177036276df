"""The kind packing: weights, and a search for sets of nodes that weigh more than they may."""

from collections.abc import Iterator
from typing import Any

from ..graph import topological_order
from ..values import LARGEST_AMOUNT, Rejected, fields, integer, integers
from .instance import Instance

# Where time for a certificate ends: decisions about one node, additions, bits of the graph.
MOST_PACKING_STEPS = 4_000_000
MOST_KNAPSACK_STEPS = 2**24
LARGEST_PACKING_GRAPH = 2**12


def packing(graph: Instance, payload: Any) -> int:
    """Return what weights prove if they refute a threshold."""
    names = {"threshold", "loaded", "unit", "weights", "front", "searches"}
    payload = fields(payload, "the payload", names)
    n = len(graph.work)
    if n > LARGEST_PACKING_GRAPH:
        raise Rejected("the instance is too large for a packing")
    limit = threshold = integer(payload["threshold"], "threshold", 0, LARGEST_AMOUNT)
    if integer(payload["loaded"], "loaded of the payload", 0, 1):
        # A stage has work + io + param_load of at most threshold + cache.
        work = [work + load for work, load in zip(graph.work, graph.param_load, strict=True)]
        graph = graph._replace(work=work, param_load=[0] * n)
        limit += graph.cache
    unit = integer(payload["unit"], "unit of the payload", 1, LARGEST_AMOUNT)
    weights = integers(payload["weights"], "weights of the payload", 0, LARGEST_AMOUNT)
    front = integers(payload["front"], "front of the payload", 0, LARGEST_AMOUNT)
    if len(weights) != n:
        raise Rejected("weights of the payload is not one for each node")
    if len(front) != limit // unit + 1 or front[0] != 0:
        raise Rejected("front of the payload is not 0 and one for each unit up to the limit")
    if sum(weights) <= graph.k * _heaviest(front):
        raise Rejected("the weights do not refute the threshold")
    if type(payload["searches"]) is not list:
        raise Rejected("searches of the payload is not a list")
    searches, order = [], []
    for search in payload["searches"]:
        search = fields(search, "a search", {"roots", "price", "edges", "amounts"})
        roots = integers(search["roots"], "roots of a search", 0, n - 1)
        searches += [(root, search) for root in range(len(order), len(order) + len(roots))]
        order += roots
    if sorted(order) != list(range(n)):
        raise Rejected("roots of the searches are not each node once")
    sets = _Sets(graph, order, weights, front, limit, unit)
    used = None
    for root, search in searches:
        if search is not used:
            used = search
            sets.use(search["price"], search["edges"], search["amounts"])
        sets.search(root)
    return threshold + 1


def _heaviest(front: list[int]) -> int:
    """Return the most that sets of len(front) - 1 units weigh, if one of i units has front[i]."""
    best, units, weights = [0], [], []
    for room in range(1, len(front)):
        if front[room] > max(weights[-1:], default=0):
            units.append(room)
            weights.append(front[room])
        if room * len(units) > MOST_KNAPSACK_STEPS:
            raise Rejected("front of the payload has too many steps")
        taken = zip(units, weights, strict=True)
        best.append(max((best[room - used] + weight for used, weight in taken), default=0))
    return best[-1]


class _Partial:
    """Some nodes that are in a set, and some that are not.

    Nodes and tensors are bit sets: `inside` and `outside`; `before` and `after`, what nodes inside
    depend on, and what depends on them, at any distance; `near`, their neighbours; `held` and
    `missed`, tensors with an end inside, and with one outside. `work`, `load` and `weight` are
    those of the nodes inside, and `cut` is the transfer of tensors that are both held and missed.
    No set with these nodes weighs more than its cost times the price, plus `excess`.
    """

    def __init__(self, other: "_Partial | None" = None) -> None:
        if other is not None:
            self.__dict__.update(other.__dict__)
            return
        self.inside = self.outside = self.before = self.after = self.near = 0
        self.held = self.missed = self.work = self.load = self.cut = self.weight = self.excess = 0


class _Sets:
    """The connected convex sets of a graph, each found from its first node in an order."""

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
        self.steps = 0

    def use(self, price: Any, edges: Any, amounts: Any) -> None:
        """Bound weights by cost, with a price and a flow.

        An edge (u, w) carries an amount, positive from u to w. What a node has left is its weight
        less its work times the price, plus what it receives, less what it sends.
        """
        self.price = integer(price, "price of a search", 0, LARGEST_AMOUNT)
        used = integers(edges, "edges of a search", 0, len(self.edges) - 1)
        sent = integers(amounts, "amounts of a search", -LARGEST_AMOUNT, LARGEST_AMOUNT)
        if len(used) != len(sent):
            raise Rejected("edges and amounts of a search are not of one length")
        # What the tensor of each node takes from its ends; it adds up to 0.
        by_node = [dict.fromkeys(_bits(ends), 0) for ends in self.ends]
        for edge, amount in zip(used, sent, strict=True):
            u, w = self.edges[edge]
            by_node[u][u] += amount
            by_node[u][w] -= amount
        self.taken = [list(taken.items()) for taken in by_node]
        self.left = [w - self.price * work for w, work in zip(self.weights, self.work, strict=True)]
        self.tensors: list[list[tuple[int, int, int]]] = [[] for _ in self.work]
        for u, taken in enumerate(self.taken):
            for sign in (1, -1):
                through = sum(max(0, sign * amount) for v, amount in taken if v != u)
                if through > self.price * self.transfer[u]:
                    raise Rejected("a search sends more than a tensor lets through")
            for v, amount in taken:
                self.left[v] -= amount
                self.tensors[v].append((u, 1 << u, amount))
        # Least that a set of so many units or more falls short of the front, without `excess`.
        self.short = [0] * len(self.front)
        least = self.front[-1] - self.price * self.limit
        for i in reversed(range(len(self.front))):
            largest = min(self.limit, (i + 1) * self.unit - 1)
            least = min(least, self.front[i] - self.price * largest)
            self.short[i] = least

    def search(self, root: int) -> None:
        """Raise `Rejected` if a set with this node and none before it weighs more than the front.

        A set that is larger than the nodes inside has a neighbour of theirs. Hence, for one after
        the other: either that node is in the set, with all nodes between it and those inside; or
        it is outside.
        """
        first = _Partial()
        first.excess = sum(left for left in self.left if left > 0)
        self.exclude(first, (1 << root) - 1)
        self.include(first, 1 << root)
        waiting = [first] if self.may_exceed(first) else []
        while waiting:
            partial = waiting.pop()
            if partial.weight > self.least[self.least_cost(partial) // self.unit]:
                self.check(partial)
            candidates = partial.near & ~partial.inside & ~partial.outside
            while candidates:
                self.steps += 1
                bit = candidates & -candidates
                node = bit.bit_length() - 1
                before = partial.before | self.before[node]
                after = partial.after | self.after[node]
                joined = before & after & ~partial.inside | bit
                if not joined & partial.outside:
                    larger = _Partial(partial)
                    self.include(larger, joined)
                    if self.may_exceed(larger):
                        waiting.append(larger)
                self.exclude(partial, bit)
                if not self.may_exceed(partial):
                    break
                candidates &= ~partial.outside
            if self.steps > MOST_PACKING_STEPS:
                raise Rejected("the graph has too many sets to check")

    def include(self, partial: _Partial, nodes: int) -> None:
        """Put nodes inside, and what cannot be in a convex set with them outside."""
        before, after = partial.before, partial.after
        for v in _bits(nodes):
            before |= self.before[v]
            after |= self.after[v]
            partial.inside |= 1 << v
            partial.near |= self.near[v]
            partial.work += self.work[v]
            partial.load += self.load[v]
            partial.weight += self.weights[v]
            partial.excess += min(0, self.left[v])
            for u, tensor, taken in self.tensors[v]:
                if partial.missed & tensor:
                    if partial.held & tensor:
                        partial.excess += min(0, taken)
                    else:
                        self.cut(partial, u)
                partial.held |= tensor
        between = 0
        for v in _bits(partial.outside & after & ~partial.after):
            between |= self.after[v]
        for v in _bits(partial.outside & before & ~partial.before):
            between |= self.before[v]
        partial.before, partial.after = before, after
        if between & ~partial.outside:
            self.exclude(partial, between & ~partial.outside)

    def exclude(self, partial: _Partial, nodes: int) -> None:
        """Put nodes outside, and what cannot be in a convex set without them."""
        for v in _bits(nodes & partial.after):
            nodes |= self.after[v]
        for v in _bits(nodes & partial.before):
            nodes |= self.before[v]
        for v in _bits(nodes & ~partial.outside):
            partial.outside |= 1 << v
            partial.excess -= max(0, self.left[v])
            for u, tensor, taken in self.tensors[v]:
                if partial.held & tensor:
                    if partial.missed & tensor:
                        partial.excess -= max(0, taken)
                    else:
                        self.cut(partial, u)
                partial.missed |= tensor

    def cut(self, partial: _Partial, u: int) -> None:
        """Count the tensor of a node as cut: what the flow does not use of it is not in excess."""
        partial.cut += self.transfer[u]
        partial.excess -= self.price * self.transfer[u]
        for v, taken in self.taken[u]:
            if partial.inside >> v & 1:
                partial.excess += taken
            elif taken > 0 and not partial.outside >> v & 1:
                partial.excess += taken

    def least_cost(self, partial: _Partial) -> int:
        """Return what every set with these nodes costs at least."""
        return partial.work + partial.cut + max(0, partial.load - self.cache)

    def may_exceed(self, partial: _Partial) -> bool:
        """Whether a set with these nodes might cost no more than the limit, and exceed the front."""
        cost = self.least_cost(partial)
        return cost <= self.limit and partial.excess > self.short[cost // self.unit]

    def check(self, partial: _Partial) -> None:
        """Raise `Rejected` if the nodes inside are a set that weighs more than the front."""
        cost = self.least_cost(partial)
        for u in _bits(partial.held & ~partial.missed):
            if self.ends[u] & ~partial.inside:
                cost += self.transfer[u]
        if cost <= self.limit and partial.weight > self.front[cost // self.unit]:
            raise Rejected("a set of nodes weighs more than the front allows")


def _bits(nodes: int) -> Iterator[int]:
    while nodes:
        low = nodes & -nodes
        yield low.bit_length() - 1
        nodes ^= low
