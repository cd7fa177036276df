"""Compiled search for connected convex sets of nodes that weigh more than a front allows.

Two nodes are neighbours if they are ends of one tensor. A set is convex if each path between two of
its nodes stays inside. A larger set than the nodes inside has a neighbour u of theirs: either u is
in it, with all nodes between u and those inside, or u is outside. So each set is met once. Nodes
come in the order of their numbers, and every set is found from its first node.

A branch ends if none of its sets can both cost at most the limit and exceed the front. Let inside
and outside be the nodes decided. Every set costs at least the work inside and the tensors with an
end on either side. And it weighs at most its cost times a price, plus an excess: a flow splits the
tensors' costs among nodes, which leaves each node some weight that its cost does not pay for;
nodes that are not decided count if that is positive, and tensors that are cut for sure pay in full.
The checker (`checker.pipeline.packing`) repeats the search step by step.
"""

from typing import NamedTuple

import numpy as np
from numba import types

from boundmark.bounds.checker.pipeline.limits import DECISION_STEPS, MOVE_STEPS
from boundmark.bounds.maximum_flow import SINK, SOURCE, UNLIMITED, Network, augment
from boundmark.bounds.pipeline.weights.tensors import GRAPH, BitSets, TensorGraph, lowest
from boundmark.problems.arrays import IntArray
from boundmark.problems.compiling import compiled, internal


class Rule(NamedTuple):
    """The sets that are searched, and how their weights are bounded.

    Attributes
    ----------
    weights
        Weights of nodes, shape (n,).
    front, least, short
        By units of cost: the most that a set may weigh; the least of that from there on; and the
        least of that less the price of the largest cost.
    left
        What each node's weight has in excess of its work's price and the flow, shape (n,).
    taken
        What tensors take from their ends, in the order of `TensorGraph.end`; adds up to 0 each.
    scalars
        Price of a tick; ticks of a unit; largest cost; parameters that fit without overflow.
    """

    weights: IntArray
    front: IntArray
    least: IntArray
    short: IntArray
    left: IntArray
    taken: IntArray
    scalars: IntArray


class Stack(NamedTuple):
    """The nodes decided, by depth of the search; see `TensorGraph` for the names.

    Attributes
    ----------
    inside, outside, before, after, held, missed
        Bit sets; `missed` are the tensors with an end outside.
    open
        Neighbours of the nodes inside that are not decided.
    work, load, weight
        Sums over the nodes inside.
    cut
        Transfer of the tensors that are held and missed.
    excess
        No set weighs more than its cost times the price, and this.
    decided
        One bit set for the nodes about to be decided.
    found, found_cost
        The first sets found that exceed the front, and what they cost.
    counts
        Depth, -1 at the end; whether the nodes inside are new; what the checker spends; sets found.
    """

    inside: BitSets
    outside: BitSets
    before: BitSets
    after: BitSets
    held: BitSets
    missed: BitSets
    open: BitSets
    work: IntArray
    load: IntArray
    weight: IntArray
    cut: IntArray
    excess: IntArray
    decided: BitSets
    found: BitSets
    found_cost: IntArray
    counts: IntArray


DEPTH, IS_NEW, STEPS, FOUND = range(4)
_PRICE, _UNIT, _LIMIT, _CACHE = range(4)

_INT = types.int64
_VECTOR = types.Array(types.int64, 1, "C", readonly=True)
_ROW = types.Array(types.uint64, 1, "C", readonly=True)
_OPEN_BITS = types.Array(types.uint64, 2, "C")
_OPEN_VECTOR = types.Array(types.int64, 1, "C")
_RULE = types.NamedUniTuple(_VECTOR, 7, Rule)  # type: ignore[no-untyped-call]
_STACK = types.NamedTuple(  # type: ignore[no-untyped-call]
    [_OPEN_BITS] * 7 + [_OPEN_VECTOR] * 5 + [_OPEN_BITS] * 2 + [_OPEN_VECTOR] * 2, Stack
)
_ONE = np.uint64(1)


@internal([types.void(_INT, _INT, GRAPH, _RULE, _STACK)])
def _cut(d: int, u: int, g: TensorGraph, rule: Rule, s: Stack) -> None:
    """Count the tensor of u as cut: what the flow leaves of its cost reduces the excess."""
    s.counts[STEPS] += g.end_start[u + 1] - g.end_start[u]
    s.cut[d] += g.transfer[u]
    s.excess[d] -= rule.scalars[_PRICE] * g.transfer[u]
    for i in range(g.end_start[u], g.end_start[u + 1]):
        word, bit = g.end[i] >> 6, _ONE << np.uint64(g.end[i] & 63)
        taken = rule.taken[i]
        if s.inside[d, word] & bit or (taken > 0 and not s.outside[d, word] & bit):
            s.excess[d] += taken


@internal([types.void(_INT, GRAPH, _RULE, _STACK)])
def _exclude(d: int, g: TensorGraph, rule: Rule, s: Stack) -> None:
    """Put the undecided nodes in `decided` outside."""
    for word in range(s.decided.shape[1]):
        rest = s.decided[0, word]
        while rest:
            v = (word << 6) + lowest(rest)
            rest &= rest - _ONE
            s.outside[d, word] |= _ONE << np.uint64(v & 63)
            s.excess[d] -= max(0, rule.left[v])
            s.counts[STEPS] += MOVE_STEPS * (1 + g.place_start[v + 1] - g.place_start[v])
            for i in range(g.place_start[v], g.place_start[v + 1]):
                u = g.place_tensor[i]
                at, bit = u >> 6, _ONE << np.uint64(u & 63)
                if s.held[d, at] & bit:
                    if s.missed[d, at] & bit:
                        s.excess[d] -= max(0, rule.taken[g.place[i]])
                    else:
                        _cut(d, u, g, rule, s)
                s.missed[d, at] |= bit


@internal([types.void(_INT, GRAPH, _RULE, _STACK)])
def _include(d: int, g: TensorGraph, rule: Rule, s: Stack) -> None:
    """Put the nodes in `decided` inside, and outside all that convexity then excludes."""
    words = s.decided.shape[1]
    for word in range(words):
        rest = s.decided[0, word]
        while rest:
            v = (word << 6) + lowest(rest)
            rest &= rest - _ONE
            s.inside[d, word] |= _ONE << np.uint64(v & 63)
            s.work[d] += g.work[v]
            s.load[d] += g.load[v]
            s.weight[d] += rule.weights[v]
            s.excess[d] += min(0, rule.left[v])
            s.counts[STEPS] += MOVE_STEPS * (1 + g.place_start[v + 1] - g.place_start[v])
            for i in range(g.place_start[v], g.place_start[v + 1]):
                u = g.place_tensor[i]
                at, bit = u >> 6, _ONE << np.uint64(u & 63)
                if s.missed[d, at] & bit:
                    if s.held[d, at] & bit:
                        s.excess[d] += min(0, rule.taken[g.place[i]])
                    else:
                        _cut(d, u, g, rule, s)
                s.held[d, at] |= bit
            for j in range(words):
                s.open[d, j] |= g.near[v, j]
    added = s.decided[1]
    added[:] = 0
    for word in range(words):
        rest = s.decided[0, word]
        while rest:
            v = (word << 6) + lowest(rest)
            rest &= rest - _ONE
            for j in range(words):
                blocked = s.outside[d, j] & g.after[v, j] & ~s.after[d, j]
                s.after[d, j] |= g.after[v, j]
                while blocked:
                    x = (j << 6) + lowest(blocked)
                    blocked &= blocked - _ONE
                    for i in range(words):
                        added[i] |= g.after[x, i]
                blocked = s.outside[d, j] & g.before[v, j] & ~s.before[d, j]
                s.before[d, j] |= g.before[v, j]
                while blocked:
                    x = (j << 6) + lowest(blocked)
                    blocked &= blocked - _ONE
                    for i in range(words):
                        added[i] |= g.before[x, i]
    for word in range(words):
        s.decided[0, word] = added[word] & ~s.outside[d, word]
    _exclude(d, g, rule, s)
    for word in range(words):
        s.open[d, word] &= ~(s.inside[d, word] | s.outside[d, word])


@internal([types.boolean(_INT, _RULE, _STACK)])
def _may_exceed(d: int, rule: Rule, s: Stack) -> bool:
    """Whether some set with these nodes may cost at most the limit and exceed the front."""
    cost = s.work[d] + s.cut[d] + max(0, s.load[d] - rule.scalars[_CACHE])
    if cost > rule.scalars[_LIMIT]:
        return False
    return bool(s.excess[d] > rule.short[cost // rule.scalars[_UNIT]])


@internal([types.void(_INT, GRAPH, _RULE, _STACK)])
def _check(d: int, g: TensorGraph, rule: Rule, s: Stack) -> None:
    """Store the nodes inside if they exceed the front as a set."""
    cost = s.work[d] + s.cut[d] + max(0, s.load[d] - rule.scalars[_CACHE])
    unit = rule.scalars[_UNIT]
    if s.weight[d] <= rule.least[cost // unit]:
        return
    words = s.decided.shape[1]
    for word in range(words):
        rest = s.held[d, word] & ~s.missed[d, word]
        while rest:
            u = (word << 6) + lowest(rest)
            rest &= rest - _ONE
            s.counts[STEPS] += 1
            for j in range(words):
                if g.ends[u, j] & ~s.inside[d, j]:
                    cost += g.transfer[u]
                    break
    if cost <= rule.scalars[_LIMIT] and s.weight[d] > rule.front[cost // unit]:
        at = s.counts[FOUND]
        s.counts[FOUND] += 1
        if at < len(s.found_cost):
            s.found[at] = s.inside[d]
            s.found_cost[at] = cost


@compiled([types.void(_ROW, _ROW, GRAPH, _RULE, _STACK)])
def start(inside: BitSets, outside: BitSets, g: TensorGraph, rule: Rule, s: Stack) -> None:
    """Start the search of sets with given nodes inside, at least one, and outside."""
    for bits in (s.inside, s.outside, s.before, s.after, s.held, s.missed, s.open):
        bits[0] = 0
    s.work[0] = s.load[0] = s.weight[0] = s.cut[0] = s.excess[0] = 0
    for v in range(len(g.work)):
        s.excess[0] += max(0, rule.left[v])
    s.decided[0] = outside
    _exclude(0, g, rule, s)
    s.decided[0] = inside
    _include(0, g, rule, s)
    s.counts[DEPTH] = 0 if _may_exceed(0, rule, s) else -1
    s.counts[IS_NEW] = 1


@compiled([types.boolean(_INT, GRAPH, _RULE, _STACK)])
def search(pause: int, g: TensorGraph, rule: Rule, s: Stack) -> bool:
    """Continue a search until it ends or has taken a number of steps; return whether it ended."""
    words = s.decided.shape[1]
    counts = s.counts
    while counts[DEPTH] >= 0:
        d = counts[DEPTH]
        if counts[IS_NEW]:
            counts[IS_NEW] = 0
            _check(d, g, rule, s)
        u = -1
        for word in range(words):
            if s.open[d, word]:
                u = (word << 6) + lowest(s.open[d, word])
                break
        if u < 0:
            counts[DEPTH] -= 1
            continue
        if counts[STEPS] > pause:
            return False
        counts[STEPS] += DECISION_STEPS
        at, bit = u >> 6, _ONE << np.uint64(u & 63)
        e = d + 1
        meets = False
        for j in range(words):
            joined = (
                (s.before[d, j] | g.before[u, j])
                & (s.after[d, j] | g.after[u, j])
                & ~s.inside[d, j]
            )
            if j == at:
                joined |= bit
            s.decided[0, j] = joined
            if joined & s.outside[d, j]:
                meets = True
        is_possible = False
        if not meets:
            for j in range(words):
                s.inside[e, j] = s.inside[d, j]
                s.outside[e, j] = s.outside[d, j]
                s.before[e, j] = s.before[d, j]
                s.after[e, j] = s.after[d, j]
                s.held[e, j] = s.held[d, j]
                s.missed[e, j] = s.missed[d, j]
                s.open[e, j] = s.open[d, j]
            s.work[e], s.load[e], s.weight[e] = s.work[d], s.load[d], s.weight[d]
            s.cut[e], s.excess[e] = s.cut[d], s.excess[d]
            _include(e, g, rule, s)
            is_possible = _may_exceed(e, rule, s)
        s.decided[0] = 0
        s.decided[0, at] = bit
        if s.after[d, at] & bit:
            for j in range(words):
                s.decided[0, j] |= g.after[u, j]
        if s.before[d, at] & bit:
            for j in range(words):
                s.decided[0, j] |= g.before[u, j]
        for j in range(words):
            s.decided[0, j] &= ~s.outside[d, j]
            s.open[d, j] &= ~s.decided[0, j]
        _exclude(d, g, rule, s)
        if not _may_exceed(d, rule, s):
            for j in range(words):
                s.open[d, j] = 0
        if is_possible:
            counts[DEPTH] = e
            counts[IS_NEW] = 1
    return True


@compiled([types.void(_INT, _VECTOR, _VECTOR, _OPEN_VECTOR)])
def fill_short(price: int, front: IntArray, largest: IntArray, short: IntArray) -> None:
    """Fill in `Rule.short`: by how much the front exceeds a price, at each cost or a larger one."""
    least = np.int64(2**62)
    for at in range(len(front) - 1, -1, -1):
        least = min(least, front[at] - price * largest[at])
        short[at] = least


@compiled([_INT(_INT, _INT, _INT, _VECTOR, _VECTOR)])
def first_short(short: int, price: int, first: int, front: IntArray, largest: IntArray) -> int:
    """Return the first unit from `first` on at which the front exceeds a price by `short`."""
    at = first
    while front[at] - price * largest[at] != short:
        at += 1
    return at


class TensorFlow:
    """Maximum flows that split the cost of tensors among nodes, to bound the weight of sets.

    At a price per tick, a set S weighs at most ``price f(S)`` plus what its nodes weigh beyond
    their work's price and their part of the tensors. The parts are a flow: what tensors take from
    some ends they give to others, at most the price of the tensor in all, either from the producer
    to consumers or the opposite. The flow that leaves the least excess, among sets with some nodes
    inside and some outside, is a maximum flow from nodes that weigh more than their work's price,
    and from those inside, to nodes that weigh less, and to those outside.

    Attributes
    ----------
    taken
        What tensors take from their ends in the flow found last, in the order of ``graph.end``.
    left
        The weight of each node beyond its work's price and what tensors take, shape (n,).
    """

    def __init__(self, graph: TensorGraph, weights: IntArray) -> None:
        n = len(graph.work)
        self._graph, self._weights = graph, weights
        # After the source and the sink, node v is vertex 2 + v. What leaves the producer of tensor
        # u passes n more, and what it receives 2 n more: two arcs for each end of the tensor.
        sizes = np.diff(graph.end_start)
        is_first = np.zeros(len(graph.end), dtype=np.bool_)
        is_first[graph.end_start[:-1][sizes > 0]] = True
        node, own, out = 2 + np.arange(n), 2 + graph.end, 2 + n + np.repeat(np.arange(n), sizes)
        tails = [np.full(n, SOURCE), node, np.where(is_first, own, out)]
        heads = [node, np.full(n, SINK), np.where(is_first, out, own)]
        tails.append(np.where(is_first, out + n, own))
        heads.append(np.where(is_first, own, out + n))
        self._network = Network.of(3 * n + 2, np.concatenate(tails), np.concatenate(heads))
        self.taken = np.zeros(len(graph.end), dtype=np.int64)
        self.left = np.zeros(n, dtype=np.int64)

    def split(self, price: int, sides: IntArray) -> int:
        """Find the flow for some decisions; return the cost of a set that attains the excess.

        It goes on from the flow before, of which as much is kept as the price allows.
        """
        arcs = self._network.first, self._network.leaving, self._network.heads
        cost = _split(price, sides, self._weights, self._graph, *arcs, self.taken, self.left)
        return int(cost)


@compiled([_INT(_INT, _VECTOR, _VECTOR, GRAPH, *(_OPEN_VECTOR,) * 5)])
def _split(
    price: int,
    sides: IntArray,
    weights: IntArray,
    g: TensorGraph,
    first: IntArray,
    leaving: IntArray,
    heads: IntArray,
    taken: IntArray,
    left: IntArray,
) -> int:
    """Find a flow from that in `taken`, and fill in `taken` and `left`; see `TensorFlow`."""
    n, ends = len(g.work), len(g.end)
    room = np.zeros(len(heads), dtype=np.int64)
    level = np.empty(len(first) - 1, dtype=np.int64)
    for v in range(n):
        left[v] = weights[v] - price * g.work[v]
    # Arcs from a tensor's producer come first, then those to it; see `maximum_flow.Network`.
    forward, backward = 4 * n, 4 * n + 2 * ends
    for u in range(n):
        begin, end = g.end_start[u], g.end_start[u + 1]
        through, given, received = price * g.transfer[u], 0, 0
        for i in range(begin + 1, end):
            gives = min(max(0, -taken[i]), through - given)
            receives = min(max(0, taken[i]), through - received)
            given += gives
            received += receives
            left[g.end[i]] += gives - receives
            room[forward + 2 * i], room[forward + 2 * i + 1] = through - gives, gives
            room[backward + 2 * i], room[backward + 2 * i + 1] = through - receives, receives
        if begin < end:
            left[u] -= given - received
            room[forward + 2 * begin], room[forward + 2 * begin + 1] = through - given, given
            room[backward + 2 * begin] = through - received
            room[backward + 2 * begin + 1] = received
    for v in range(n):
        supply = sides[v] * UNLIMITED if sides[v] else left[v]
        room[2 * v], room[2 * n + 2 * v] = max(supply, 0), max(-supply, 0)
    augment(SINK, SOURCE, 1, UNLIMITED, first, leaving, heads, room, level)
    cost = 0
    for v in range(n):
        left[v] = weights[v] - price * g.work[v]
        # Vertices that do not reach the sink are on the source's side.
        if level[2 + v] < 0:
            cost += g.work[v]
    for u in range(n):
        begin, end = g.end_start[u], g.end_start[u + 1]
        if begin == end:
            continue
        sent, inside = 0, np.int64(level[2 + u] < 0)
        for i in range(begin + 1, end):
            inside += level[2 + g.end[i]] < 0
            amount = room[forward + 2 * i + 1] - room[backward + 2 * i + 1]
            taken[i] = -amount
            left[g.end[i]] += amount
            sent += amount
        taken[begin] = sent
        left[u] -= sent
        if 0 < inside < end - begin:
            cost += g.transfer[u]
    return cost
