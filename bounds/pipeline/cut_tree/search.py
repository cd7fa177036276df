"""Compiled branch and bound for a convex set that costs at most a limit and weighs the mean.

In each branch, some nodes are decided to be inside or outside. For a price p of weight, a set that
weighs W or more costs at least ``p W`` plus the least of ``f(S) - p w(S)``, a minimum cut. The flow
of one branch is a flow for every other, so each goes on from the one before, and ends once the
bound exceeds the limit. What the checker (`checker.pipeline.cut_tree`) needs to follow is written
down: branchings, and where a flow closes a branch or decides nodes, the price and what has changed.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit, types

from boundmark.problems.arrays import IntArray

BitSets = npt.NDArray[np.uint64]
Sides = npt.NDArray[np.int8]

# How a search ends, or that it has not.
RUNNING, REFUTED, FOUND, TOO_LONG = 0, 1, 2, 3

# Entries of `Search.counts`.
DEPTH, IS_NEW, PRICE, WRITTEN, STEPS, BRANCHES = range(6)

# Entries of `Rule.scalars`.
LIMIT, LEAST, SCALE, LARGEST_PRICE, CACHE, MOST_STEPS, CANDIDATES = range(7)

INSIDE, OUTSIDE, OPEN = 1, -1, 0


class Rule(NamedTuple):
    """The sets that are searched.

    Attributes
    ----------
    before, after
        What each node depends on, and what depends on it, at any distance; rows of bits.
    sources, targets
        Of edges, in the order of sources; node u's are from ``out_start[u]``.
    in_start, in_edges
        Node v's in-edges: ``in_edges[in_start[v] : in_start[v + 1]]``.
    work, load, transfer, weights
        Of nodes.
    around
        Transfer of the tensors at each node.
    scalars
        Largest cost; least weight; parts of a tick in which flows are counted; largest price;
        parameters that fit; steps that the checker may spend; nodes compared before a branching.
    """

    before: BitSets
    after: BitSets
    sources: IntArray
    targets: IntArray
    out_start: IntArray
    in_start: IntArray
    in_edges: IntArray
    work: IntArray
    load: IntArray
    transfer: IntArray
    weights: IntArray
    around: IntArray
    scalars: IntArray


class Search(NamedTuple):
    """The state of a search; it can be continued.

    Attributes
    ----------
    forward, backward
        Of each edge, what flows to the consumer and what flows back.
    forward_used, backward_used
        Of each tensor, what flows through it in all.
    added
        What each node adds to the cost, less what it sends and the price of its weight.
    told
        The flow as the checker knows it.
    sides
        Nodes inside, outside and open, by depth.
    branched, side, prices
        By depth: the node branched on, its side that is still to come (0 if none), the price.
    written
        The proof: each entry's length, then its numbers.
    counts
        Depth, -1 at the end; whether its branch is new; price; numbers written; steps that the
        checker takes; branches so far.
    """

    forward: IntArray
    backward: IntArray
    forward_used: IntArray
    backward_used: IntArray
    added: IntArray
    told: IntArray
    sides: Sides
    branched: IntArray
    side: IntArray
    prices: IntArray
    written: IntArray
    counts: IntArray


_INT = types.int64
_INPUT = types.Array(types.int64, 1, "C", readonly=True)
_VECTOR = types.Array(types.int64, 1, "C")
_BITS = types.Array(types.uint64, 2, "C", readonly=True)
_WORDS = types.Array(types.uint64, 1, "C")
_SIDES = types.Array(types.int8, 1, "C")
_ALL_SIDES = types.Array(types.int8, 2, "C")
_RULE = types.NamedTuple([_BITS] * 2 + [_INPUT] * 11, Rule)  # type: ignore[no-untyped-call]
_SEARCH = types.NamedTuple(  # type: ignore[no-untyped-call]
    [_VECTOR] * 6 + [_ALL_SIDES] + [_VECTOR] * 5, Search
)
_ONE = np.uint64(1)
_MOST = 2**62


@njit(
    [_INT(*(_INT,) * 2, *(_INPUT,) * 6, *(_VECTOR,) * 5, _SIDES, *(_VECTOR,) * 3)],
    cache=True,
    nogil=True,
)
def _bound(
    bound: int,
    limit: int,
    sources: IntArray,
    targets: IntArray,
    out_start: IntArray,
    in_start: IntArray,
    in_edges: IntArray,
    capacity: IntArray,
    forward: IntArray,
    backward: IntArray,
    forward_used: IntArray,
    backward_used: IntArray,
    added: IntArray,
    sides: Sides,
    parent: IntArray,
    by_edge: IntArray,
    queue: IntArray,
) -> int:
    """Raise the bound of a branch by shortest augmenting paths, until it exceeds the limit.

    A path leads from a node that lowers the bound to one that need not be paid for in full. Vertex
    v is a node, n + u lets the tensor of u through to its consumers, and 2 n + u to its producer.

    Parameters
    ----------
    bound
        What the bound is without what nodes add.
    parent, by_edge
        Filled with the tree of the last search: nodes with a parent of -2 were not reached.
    queue
        Work space.

    Returns
    -------
    The bound, exact if it does not exceed the limit.
    """
    n = len(added)
    for v in range(n):
        if sides[v] == INSIDE or (sides[v] == OPEN and added[v] < 0):
            bound += added[v]
    while bound <= limit:
        parent[:] = -2
        first, last, end = 0, 0, -1
        for v in range(n):
            if sides[v] == INSIDE or (sides[v] == OPEN and added[v] < 0):
                parent[v] = -1
                queue[last] = v
                last += 1
        while first < last and end < 0:
            x = queue[first]
            first += 1
            if x < n:
                if forward_used[x] < capacity[x] and parent[n + x] == -2:
                    parent[n + x], by_edge[n + x] = x, -1
                    queue[last] = n + x
                    last += 1
                if backward_used[x] > 0 and parent[2 * n + x] == -2:
                    parent[2 * n + x], by_edge[2 * n + x] = x, -1
                    queue[last] = 2 * n + x
                    last += 1
                for i in range(in_start[x], in_start[x + 1]):
                    e = in_edges[i]
                    u = sources[e]
                    if parent[2 * n + u] == -2:
                        parent[2 * n + u], by_edge[2 * n + u] = x, e
                        queue[last] = 2 * n + u
                        last += 1
                    if forward[e] > 0 and parent[n + u] == -2:
                        parent[n + u], by_edge[n + u] = x, e
                        queue[last] = n + u
                        last += 1
                continue
            is_forward = x < 2 * n
            u = x - n if is_forward else x - 2 * n
            has_room = forward_used[u] > 0 if is_forward else backward_used[u] < capacity[u]
            if has_room and parent[u] == -2:
                parent[u], by_edge[u] = x, -1
                queue[last] = u
                last += 1
                if sides[u] == OUTSIDE or (sides[u] == OPEN and added[u] > 0):
                    end = u
                    break
            for e in range(out_start[u], out_start[u + 1]):
                w = targets[e]
                if parent[w] == -2 and (is_forward or backward[e] > 0):
                    parent[w], by_edge[w] = x, e
                    queue[last] = w
                    last += 1
                    if sides[w] == OUTSIDE or (sides[w] == OPEN and added[w] > 0):
                        end = w
                        break
        if end < 0:
            break
        amount = added[end] if sides[end] == OPEN else _MOST
        x = end
        while parent[x] >= 0:
            y, e = parent[x], by_edge[x]
            if y < n and x >= 2 * n:
                if e < 0:
                    amount = min(amount, backward_used[y])
            elif y < n:
                amount = min(amount, capacity[y] - forward_used[y] if e < 0 else forward[e])
            elif y < 2 * n:
                if e < 0:
                    amount = min(amount, forward_used[y - n])
            elif e < 0:
                amount = min(amount, capacity[y - 2 * n] - backward_used[y - 2 * n])
            else:
                amount = min(amount, backward[e])
            x = y
        if sides[x] == OPEN:
            amount = min(amount, -added[x])
        added[x] += amount
        added[end] -= amount
        bound += amount
        x = end
        while parent[x] >= 0:
            y, e = parent[x], by_edge[x]
            if y < n and x >= 2 * n:
                if e < 0:
                    backward_used[y] -= amount
                else:
                    backward[e] += amount
            elif y < n:
                if e < 0:
                    forward_used[y] += amount
                else:
                    forward[e] -= amount
            elif y < 2 * n:
                if e < 0:
                    forward_used[y - n] -= amount
                else:
                    forward[e] += amount
            elif e < 0:
                backward_used[y - 2 * n] += amount
            else:
                backward[e] -= amount
            x = y
    return bound


@njit([_INT(_SIDES, _RULE, _WORDS, _WORDS)], cache=True, nogil=True)
def _close(sides: Sides, rule: Rule, before: BitSets, after: BitSets) -> int:
    """Decide what convexity decides; return whether that leaves no set, or a cheap one."""
    rows_before, rows_after, weights = rule.before, rule.after, rule.weights
    n, words = rows_before.shape
    before[:] = 0
    after[:] = 0
    for v in range(n):
        if sides[v] == INSIDE:
            for j in range(words):
                before[j] |= rows_before[v, j]
                after[j] |= rows_after[v, j]
    for v in range(n):
        if before[v >> 6] & after[v >> 6] & (_ONE << np.uint64(v & 63)):
            if sides[v] == OUTSIDE:
                return REFUTED
            sides[v] = INSIDE
    for v in range(n):
        if sides[v] != OUTSIDE:
            continue
        bit = _ONE << np.uint64(v & 63)
        is_before = before[v >> 6] & bit != 0
        is_after = after[v >> 6] & bit != 0
        if not is_before and not is_after:
            continue
        for x in range(n):
            row = rows_before[v] if is_before else rows_after[v]
            if row[x >> 6] & (_ONE << np.uint64(x & 63)):
                if sides[x] == INSIDE:
                    return REFUTED
                sides[x] = OUTSIDE
    weight, is_decided = 0, True
    for v in range(n):
        if sides[v] != OUTSIDE:
            weight += weights[v]
        is_decided &= sides[v] != OPEN
    if weight < rule.scalars[LEAST]:
        return REFUTED
    if not is_decided:
        return RUNNING
    targets, out_start, scalars = rule.targets, rule.out_start, rule.scalars
    cost, load = 0, 0
    for v in range(n):
        if sides[v] == INSIDE:
            cost += rule.work[v]
            load += rule.load[v]
        for e in range(out_start[v], out_start[v + 1]):
            if sides[targets[e]] != sides[v]:
                cost += rule.transfer[v]
                break
    cost += max(0, load - scalars[CACHE])
    return REFUTED if cost > scalars[LIMIT] else FOUND


@njit([types.void(_SEARCH, _INT)], cache=True, nogil=True)
def _write_flow(search: Search, nodes: int) -> None:
    """Write down the price and where the flow has changed."""
    written, counts, told = search.written, search.counts, search.told
    forward, backward = search.forward, search.backward
    start = counts[WRITTEN]
    written[start + 1] = counts[PRICE]
    at = start + 2
    for e in range(len(told)):
        amount = forward[e] - backward[e]
        if amount != told[e]:
            written[at], written[at + 1] = e, amount
            told[e] = amount
            at += 2
    written[start] = at - start - 1
    counts[WRITTEN] = at
    counts[STEPS] += 2 * nodes + at - start - 1


@njit([_INT(_RULE, _SEARCH, _INT)], cache=True, nogil=True)
def proceed(rule: Rule, search: Search, branches: int) -> int:
    """Continue a search for a number of branches; return how it ended, or RUNNING.

    If a set was found, its nodes are those inside in the last row of `Search.sides` in use.
    """
    sources, targets, out_start = rule.sources, rule.targets, rule.out_start
    in_start, in_edges, weights, around = rule.in_start, rule.in_edges, rule.weights, rule.around
    forward, backward, added = search.forward, search.backward, search.added
    forward_used, backward_used = search.forward_used, search.backward_used
    branched, side, prices, counts = search.branched, search.side, search.prices, search.counts
    n, m = len(weights), len(sources)
    scale, least = rule.scalars[SCALE], rule.scalars[LEAST]
    limit, largest_price = scale * rule.scalars[LIMIT], rule.scalars[LARGEST_PRICE]
    candidates = rule.scalars[CANDIDATES]
    capacity = scale * rule.transfer
    parent, by_edge, queue = (
        np.empty(3 * n, np.int64), np.empty(3 * n, np.int64), np.empty(3 * n, np.int64)
    )  # fmt: skip
    before, after = (
        np.empty(rule.before.shape[1], np.uint64),
        np.empty(rule.before.shape[1], np.uint64),
    )
    kept_forward, kept_backward = np.empty(m, np.int64), np.empty(m, np.int64)
    kept_forward_used, kept_backward_used = np.empty(n, np.int64), np.empty(n, np.int64)
    kept_added, trial = np.empty(n, np.int64), np.empty(n, np.int8)
    best, scores = np.empty(candidates, np.int64), np.empty(candidates, np.float64)
    end = counts[BRANCHES] + branches
    while counts[DEPTH] >= 0:
        d = counts[DEPTH]
        if not counts[IS_NEW]:
            if side[d] == OPEN:
                counts[DEPTH] -= 1
                continue
            price = prices[d]
            for v in range(n):
                added[v] -= (price - counts[PRICE]) * weights[v]
            counts[PRICE] = price
            search.sides[d + 1] = search.sides[d]
            search.sides[d + 1, branched[d]] = side[d]
            side[d] = OPEN
            counts[DEPTH], counts[IS_NEW] = d + 1, 1
            continue
        if counts[BRANCHES] >= end:
            return RUNNING
        counts[BRANCHES] += 1
        sides = search.sides[d]
        state = _close(sides, rule, before, after)
        # The checker may have to look at all edges if nothing is open.
        counts[STEPS] += 0 if state == RUNNING else m
        tries, bound = 0, 0
        while state == RUNNING:
            if counts[STEPS] + 5 * n + 2 * m > rule.scalars[MOST_STEPS] or counts[
                WRITTEN
            ] + 2 * m + 8 > len(search.written):
                return TOO_LONG
            price = counts[PRICE]
            bound = _bound(
                price * least, limit, sources, targets, out_start, in_start, in_edges, capacity,
                forward, backward, forward_used, backward_used, added, sides, parent, by_edge,
                queue,
            )  # fmt: skip
            if bound > limit:
                _write_flow(search, n)
                state = REFUTED
                break
            if tries < 3 or (tries < 6 and d < 6):
                # A cut that weighs too little calls for a higher price, and vice versa.
                weight = 0
                for v in range(n):
                    if sides[v] == INSIDE or (sides[v] == OPEN and parent[v] != -2):
                        weight += weights[v]
                step = 1.12 if tries < 2 else 1.05
                other = int(price * step) if weight < least else int(price / step)
                other = min(other, largest_price)
                kept_forward[:], kept_backward[:] = forward, backward
                kept_forward_used[:], kept_backward_used[:] = forward_used, backward_used
                kept_added[:] = added
                for v in range(n):
                    added[v] -= (other - price) * weights[v]
                other_bound = _bound(
                    other * least, limit, sources, targets, out_start, in_start, in_edges,
                    capacity, forward, backward, forward_used, backward_used, added, sides,
                    parent, by_edge, queue,
                )  # fmt: skip
                if other_bound > bound:
                    counts[PRICE] = other
                    tries += 1
                    continue
                forward[:], backward[:] = kept_forward, kept_backward
                forward_used[:], backward_used[:] = kept_forward_used, kept_backward_used
                added[:] = kept_added
                tries = 6
            fixes = False
            for v in range(n):
                if sides[v] == OPEN and abs(added[v]) > limit - bound:
                    if not fixes:
                        _write_flow(search, n)
                        fixes = True
                    sides[v] = OUTSIDE if added[v] > 0 else INSIDE
            if not fixes:
                break
            state = _close(sides, rule, before, after)
            counts[STEPS] += 0 if state == RUNNING else m
        if state == FOUND:
            return FOUND
        if state == REFUTED:
            counts[DEPTH], counts[IS_NEW] = d - 1, 0
            continue
        # Branch on the node whose two sides raise the bound most, of a few with dear tensors.
        best[:] = -1
        scores[:] = -1.0
        for v in range(n):
            if sides[v] != OPEN:
                continue
            score = (1.0 + around[v]) / (1.0 + abs(added[v]) / scale / 20.0)
            is_near = False
            for i in range(in_start[v], in_start[v + 1]):
                is_near |= sides[sources[in_edges[i]]] == INSIDE
            for e in range(out_start[v], out_start[v + 1]):
                is_near |= sides[targets[e]] == INSIDE
            if is_near:
                score *= 2.0
            i = candidates - 1
            if score > scores[i]:
                while i > 0 and score > scores[i - 1]:
                    scores[i], best[i] = scores[i - 1], best[i - 1]
                    i -= 1
                scores[i], best[i] = score, v
        kept_forward[:], kept_backward[:] = forward, backward
        kept_forward_used[:], kept_backward_used[:] = forward_used, backward_used
        kept_added[:] = added
        chosen, first, most = -1, INSIDE, -1.0
        for i in range(candidates):
            v = best[i]
            if v < 0:
                break
            gains = (0, 0)
            for is_outside in range(2):
                trial[:] = sides
                trial[v] = OUTSIDE if is_outside else INSIDE
                gain = limit - bound + 1
                if _close(trial, rule, before, after) != REFUTED:
                    raised = _bound(
                        counts[PRICE] * least, limit, sources, targets, out_start, in_start,
                        in_edges, capacity, forward, backward, forward_used, backward_used,
                        added, trial, parent, by_edge, queue,
                    )  # fmt: skip
                    gain = min(gain, raised - bound)
                    forward[:], backward[:] = kept_forward, kept_backward
                    forward_used[:], backward_used[:] = kept_forward_used, kept_backward_used
                    added[:] = kept_added
                gains = (gain, gains[1]) if is_outside == 0 else (gains[0], gain)
            score = (gains[0] + 0.5 * scale) * (gains[1] + 0.5 * scale)
            if score > most:
                chosen, first, most = v, INSIDE if gains[0] >= gains[1] else OUTSIDE, score
        start = counts[WRITTEN]
        search.written[start] = 2
        search.written[start + 1] = chosen
        search.written[start + 2] = 1 if first == INSIDE else 0
        counts[WRITTEN] += 3
        counts[STEPS] += 2 * n + 2
        branched[d], side[d], prices[d] = chosen, -first, counts[PRICE]
        search.sides[d + 1] = sides
        search.sides[d + 1, chosen] = first
        counts[DEPTH] = d + 1
    return REFUTED
