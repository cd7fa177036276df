"""Compiled branch and bound for a set that may be a certain stage, is heavy, and cheap enough.

The first stage holds all producers of its nodes, the last one all consumers, and any other one is
convex. In each branch, some nodes are decided to be inside or outside. For a price p of weight, a
set that weighs W or more costs at least ``p W`` plus the least of ``f(S) - p w(S)``, a minimum cut.
The flow of one branch is a flow for every other, so each goes on from the one before, and ends once
the bound exceeds the limit. What the checker (`checker.pipeline.cut_tree`) needs to follow is
written down: branchings, and where a flow closes a branch or decides nodes, the price and what has
changed.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import types

from boundmark.bounds.pipeline.weights.tensors import FIRST, LAST, BitSets
from boundmark.problems.arrays import IntArray
from boundmark.problems.compiling import compiled, internal

Sides = npt.NDArray[np.int8]
# Unsigned numbers of vertices or arcs.
IndexArray = npt.NDArray[np.uint64]

# How a search ends, or that it has not.
RUNNING, REFUTED, FOUND, TOO_LONG = 0, 1, 2, 3

# Entries of `Search.counts`.
DEPTH, IS_NEW, PRICE, WRITTEN, STEPS, BRANCHES = range(6)

# Entries of `Rule.scalars`.
LIMIT, LEAST, SCALE, LARGEST_PRICE, CACHE, MOST_STEPS, POSITION = range(7)

INSIDE, OUTSIDE, OPEN = 1, -1, 0


class Rule(NamedTuple):
    """The sets that are searched.

    Attributes
    ----------
    before, after
        What each node depends on, and what depends on it, at any distance; rows of bits.
    sources, targets
        Ends of edges, in the order of sources; node u's are from ``out_start[u]``.
    in_start, in_edges
        Node v's in-edges: ``in_edges[in_start[v] : in_start[v + 1]]``.
    work, load, transfer, weights
        Integers of each node.
    around
        Transfer of the tensors at each node.
    arc_start, head, reverse
        Network of flows: arcs from vertex x are ``arc_start[x]`` to ``arc_start[x + 1]``, each with
        its head and the number of the arc back. Vertices are nodes and, of the tensor of node u
        with several consumers, n + u on the way to these and 2 n + u on the way from them.
    sent, returned, halved
        What flows to the consumer of an edge is the room of the first arc less that of the second,
        shifted to the right by the third.
    scalars
        Largest cost; least weight; parts of a tick in which flows are counted; largest price;
        parameters that fit; steps that the checker may spend; which stage the sets are to be.
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
    arc_start: IndexArray
    head: IndexArray
    reverse: IndexArray
    sent: IntArray
    returned: IntArray
    halved: IntArray
    scalars: IntArray


class Search(NamedTuple):
    """The state of a search; it can be continued.

    Attributes
    ----------
    residual
        What each arc has room for.
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

    residual: IntArray
    added: IntArray
    told: IntArray
    sides: Sides
    branched: IntArray
    side: IntArray
    prices: IntArray
    written: IntArray
    counts: IntArray


class Space(NamedTuple):
    """Work space of a search for flows.

    Attributes
    ----------
    level
        Number of arcs to each vertex from where paths begin; -1 if they do not get there.
    queue
        Vertices in the order in which they are reached.
    current
        First arc of each vertex that may still be on a path.
    path
        Arcs of the present path.
    starts
        Nodes where paths begin, or end.
    known
        For each vertex, 1 or -1 if paths from (1) or to (-1) nodes avoid it, 0 if none do.
    """

    level: IntArray
    queue: IndexArray
    current: IndexArray
    path: IndexArray
    starts: IndexArray
    known: IntArray


_INT = types.int64
_INPUT = types.Array(types.int64, 1, "C", readonly=True)
_VECTOR = types.Array(types.int64, 1, "C")
_INDICES = types.Array(types.uint64, 1, "C", readonly=True)
_BITS = types.Array(types.uint64, 2, "C", readonly=True)
_WORDS = types.Array(types.uint64, 1, "C")
_SIDES = types.Array(types.int8, 1, "C")
_ALL_SIDES = types.Array(types.int8, 2, "C")
_RULE = types.NamedTuple([_BITS] * 2 + [_INPUT] * 10 + [_INDICES] * 3 + [_INPUT] * 4, Rule)  # type: ignore[no-untyped-call]
_SEARCH = types.NamedTuple(  # type: ignore[no-untyped-call]
    [_VECTOR] * 3 + [_ALL_SIDES] + [_VECTOR] * 5, Search
)
_SPACE = types.NamedTuple(  # type: ignore[no-untyped-call]
    [_VECTOR, *(_WORDS,) * 4, _VECTOR], Space
)
_ONE = np.uint64(1)
_MOST = 2**62


@internal([_INT(*(_INT,) * 5, _RULE, _SEARCH, _SIDES, _SPACE)])
def _augmented(
    bound: int, limit: int, starts: int, sign: int, rounds: int, rule: Rule, search: Search,
    sides: Sides, space: Space,
) -> int:  # fmt: skip
    """Raise the bound by flow from or to some nodes, until it exceeds the limit.

    In each round, the paths are as short as any that are left ([DINIC70]). Numbers of
    vertices and arcs are unsigned, for which compiled code need not look whether they are negative.
    """
    arc_start, head, reverse = rule.arc_start, rule.head, rule.reverse
    residual, added, known = search.residual, search.added, space.known
    level, queue, current, path = space.level, space.queue, space.current, space.path
    nodes, none = np.uint64(len(added)), np.uint64(0)
    while bound <= limit and rounds > 0:
        rounds -= 1
        level[:] = -1
        first, last, longest = none, none, len(level)
        for i in range(starts):
            v = space.starts[i]
            if sides[v] == sign or (sides[v] == OPEN and sign * added[v] < 0):
                level[v] = 0
                queue[last] = v
                last += _ONE
        active = last
        while first < last:
            x = queue[first]
            first += _ONE
            further = level[x] + 1
            if further > longest:
                break
            for a in range(arc_start[x], arc_start[x + _ONE]):
                y = head[a]
                if (
                    level[y] == -1
                    and known[y] != sign
                    and residual[a if sign > 0 else reverse[a]] > 0
                ):
                    level[y] = further
                    queue[last] = y
                    last += _ONE
                    if y < nodes and (
                        sides[y] == -sign or (sides[y] == OPEN and sign * added[y] > 0)
                    ):
                        longest = further
        if longest == len(level):
            break
        current[:] = arc_start[:-1]
        for i in range(active):
            start = queue[i]
            depth, x = none, start
            while bound <= limit and (sides[start] == sign or sign * added[start] < 0):
                if (
                    depth > none
                    and x < nodes
                    and (sides[x] == -sign or (sides[x] == OPEN and sign * added[x] > 0))
                ):
                    amount = abs(added[x]) if sides[x] == OPEN else _MOST
                    if sides[start] == OPEN:
                        amount = min(amount, abs(added[start]))
                    for j in range(depth):
                        a = path[j]
                        amount = min(amount, residual[a if sign > 0 else reverse[a]])
                    added[start] += sign * amount
                    added[x] -= sign * amount
                    bound += amount
                    at = depth
                    while at > none:
                        at -= _ONE
                        a = path[at] if sign > 0 else reverse[path[at]]
                        residual[a] -= amount
                        residual[reverse[a]] += amount
                        # Go on from before the first arc without room.
                        if residual[a] == 0:
                            depth = at
                            x = head[reverse[path[at]]]
                    continue
                a, end, next_level = current[x], arc_start[x + _ONE], level[x] + 1
                while a < end and (
                    level[head[a]] != next_level or residual[a if sign > 0 else reverse[a]] <= 0
                ):
                    a += _ONE
                current[x] = a
                if a < end:
                    path[depth] = a
                    depth += _ONE
                    x = head[a]
                elif depth == none:
                    break
                else:
                    depth -= _ONE
                    x = head[reverse[path[depth]]]
                    current[x] += _ONE
    return bound


@internal([_INT(_INT, _INT, _RULE, _SEARCH, _SIDES, _SPACE)])
def _bound(bound: int, limit: int, rule: Rule, search: Search, sides: Sides, space: Space) -> int:
    """Raise the bound of a branch by flow from nodes that lower it, until it is above a limit."""
    added, starts = search.added, 0
    space.known[:] = 0
    for v in range(len(added)):
        if sides[v] == INSIDE or (sides[v] == OPEN and added[v] < 0):
            bound += added[v]
            space.starts[starts] = v
            starts += 1
    return _augmented(bound, limit, starts, 1, _MOST, rule, search, sides, space)


@internal([_INT(_INT, _INT, _RULE, _SEARCH, _SIDES, _SIDES, _SPACE)])
def _raised(
    bound: int, limit: int, rule: Rule, search: Search, sides: Sides, trial: Sides, space: Space
) -> int:
    """Return about the bound of a branch in which more nodes are decided, or one above a limit.

    The flow is a largest one without them. So paths begin or end at nodes decided now: the former
    keep out of what others reach (`Space.known` is 1), the latter keep within it (-1 elsewhere).
    """
    # More rounds tell gains exactly, and take longer.
    rounds = 2
    for v in range(len(sides)):
        if sides[v] == OPEN:
            bound += max(0, trial[v] * search.added[v])
    for sign in (1, -1):
        starts = 0
        for v in range(len(sides)):
            if sides[v] == OPEN and trial[v] == sign:
                space.starts[starts] = v
                starts += 1
        if starts:
            bound = _augmented(bound, limit, starts, sign, rounds, rule, search, trial, space)
    return bound


@internal([_INT(_SIDES, _RULE, *(_WORDS,) * 3)])
def _close(sides: Sides, rule: Rule, before: BitSets, after: BitSets, excluded: BitSets) -> int:
    """Decide what the position decides; return whether that leaves no set, or a cheap one."""
    rows_before, rows_after, weights = rule.before, rule.after, rule.weights
    n, words = rows_before.shape
    before[:] = 0
    after[:] = 0
    for v in range(n):
        if sides[v] == INSIDE:
            for j in range(words):
                before[j] |= rows_before[v, j]
                after[j] |= rows_after[v, j]
    excluded[:] = 0
    is_first, is_last = rule.scalars[POSITION] == FIRST, rule.scalars[POSITION] == LAST
    for v in range(n):
        bit = _ONE << np.uint64(v & 63)
        is_before, is_after = before[v >> 6] & bit != 0, after[v >> 6] & bit != 0
        if (is_before or (is_last and is_after)) and (is_after or is_first):
            if sides[v] == OUTSIDE:
                return REFUTED
            sides[v] = INSIDE
        elif sides[v] == OUTSIDE:
            if is_before or is_last:
                for j in range(words):
                    excluded[j] |= rows_before[v, j]
            if is_after or is_first:
                for j in range(words):
                    excluded[j] |= rows_after[v, j]
    for v in range(n):
        if excluded[v >> 6] & (_ONE << np.uint64(v & 63)):
            if sides[v] == INSIDE:
                return REFUTED
            sides[v] = OUTSIDE
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


@internal([types.void(_RULE, _SEARCH)])
def _write_flow(rule: Rule, search: Search) -> None:
    """Write down the price and where the flow has changed."""
    written, counts, told = search.written, search.counts, search.told
    sent, returned, residual = rule.sent, rule.returned, search.residual
    start = counts[WRITTEN]
    written[start + 1] = counts[PRICE]
    at = start + 2
    for e in range(len(told)):
        amount = (residual[sent[e]] - residual[returned[e]]) >> rule.halved[e]
        if amount != told[e]:
            written[at], written[at + 1] = e, amount
            told[e] = amount
            at += 2
    written[start] = at - start - 1
    counts[WRITTEN] = at
    counts[STEPS] += len(rule.weights) + at - start - 1


@compiled([_INT(_RULE, _SEARCH, _INT)])
def proceed(rule: Rule, search: Search, branches: int) -> int:
    """Continue a search for a number of branches; return how it ended, or RUNNING.

    If a set was found, its nodes are those inside in the last row of `Search.sides` in use.
    """
    sources, targets, out_start = rule.sources, rule.targets, rule.out_start
    in_start, in_edges, weights, around = rule.in_start, rule.in_edges, rule.weights, rule.around
    residual, added = search.residual, search.added
    branched, side, prices, counts = search.branched, search.side, search.prices, search.counts
    n, m = len(weights), len(sources)
    scale, least = rule.scalars[SCALE], rule.scalars[LEAST]
    limit, largest_price = scale * rule.scalars[LIMIT], rule.scalars[LARGEST_PRICE]
    # Number of nodes that are compared before a branching.
    candidates = 8
    space = Space(
        np.empty(3 * n, np.int64), np.empty(3 * n, np.uint64), np.empty(3 * n, np.uint64),
        np.empty(3 * n, np.uint64), np.empty(n, np.uint64), np.empty(3 * n, np.int64),
    )  # fmt: skip
    words = rule.before.shape[1]
    before, after, excluded = (
        np.empty(words, np.uint64), np.empty(words, np.uint64), np.empty(words, np.uint64)
    )  # fmt: skip
    kept_residual, kept_level = np.empty(len(residual), np.int64), np.empty(3 * n, np.int64)
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
        state = _close(sides, rule, before, after, excluded)
        # The checker may have to look at all edges if nothing is open.
        counts[STEPS] += 0 if state == RUNNING else m
        tries, bound = 0, 0
        while state == RUNNING:
            if counts[STEPS] + 5 * n + 2 * m > rule.scalars[MOST_STEPS] or counts[
                WRITTEN
            ] + 2 * m + 8 > len(search.written):
                return TOO_LONG
            price = counts[PRICE]
            bound = _bound(price * least, limit, rule, search, sides, space)
            if bound > limit:
                _write_flow(rule, search)
                state = REFUTED
                break
            kept_level[:] = space.level
            if tries < 3 or (tries < 6 and d < 6):
                # A cut that weighs too little calls for a higher price, and vice versa.
                weight = 0
                for v in range(n):
                    if sides[v] == INSIDE or (sides[v] == OPEN and space.level[v] != -1):
                        weight += weights[v]
                step = 1.12 if tries < 2 else 1.05
                other = int(price * step) if weight < least else int(price / step)
                other = min(other, largest_price)
                kept_residual[:], kept_added[:] = residual, added
                for v in range(n):
                    added[v] -= (other - price) * weights[v]
                other_bound = _bound(other * least, limit, rule, search, sides, space)
                if other_bound > bound:
                    counts[PRICE] = other
                    tries += 1
                    continue
                residual[:], added[:] = kept_residual, kept_added
                tries = 6
            fixes = False
            for v in range(n):
                if sides[v] == OPEN and abs(added[v]) > limit - bound:
                    if not fixes:
                        _write_flow(rule, search)
                        fixes = True
                    sides[v] = OUTSIDE if added[v] > 0 else INSIDE
            if not fixes:
                break
            state = _close(sides, rule, before, after, excluded)
            counts[STEPS] += 0 if state == RUNNING else m
        if state == FOUND:
            return FOUND
        if state == REFUTED:
            counts[DEPTH], counts[IS_NEW] = d - 1, 0
            continue
        # Branch on the node whose two sides raise the bound most, of a few with large tensors.
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
        kept_residual[:], kept_added[:] = residual, added
        for x in range(3 * n):
            space.known[x] = 1 if kept_level[x] >= 0 else -1
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
                if _close(trial, rule, before, after, excluded) != REFUTED:
                    raised = _raised(bound, limit, rule, search, sides, trial, space)
                    gain = min(gain, raised - bound)
                    residual[:], added[:] = kept_residual, kept_added
                gains = (gain, gains[1]) if is_outside == 0 else (gains[0], gain)
            score = (gains[0] + 0.5 * scale) * (gains[1] + 0.5 * scale)
            if score > most:
                chosen, first, most = v, INSIDE if gains[0] >= gains[1] else OUTSIDE, score
        start = counts[WRITTEN]
        search.written[start] = 2
        search.written[start + 1] = chosen
        search.written[start + 2] = 1 if first == INSIDE else 0
        counts[WRITTEN] += 3
        counts[STEPS] += n + 2
        branched[d], side[d], prices[d] = chosen, -first, counts[PRICE]
        search.sides[d + 1] = sides
        search.sides[d + 1, chosen] = first
        counts[DEPTH] = d + 1
    return REFUTED
