"""A maximum flow that splits the cost of tensors among nodes, to bound the weight of sets.

At a price per tick, a set S weighs at most ``price f(S)`` plus what its nodes weigh beyond their
work's price and their part of the tensors. The parts are a flow: what tensors take from some ends
they give to others, at most the price of the tensor in all, either from the producer to consumers
or the opposite. The flow that leaves the least excess, among sets with some nodes inside and some
outside, is a maximum flow from nodes that weigh more than their work's price, and from those
inside, to nodes that weigh less, and to those outside (Dinic's algorithm [DINIC70]).
"""

import numpy as np
from numba import njit, types

from boundmark.bounds.pipeline.weights.set_search import GRAPH, TensorGraph
from boundmark.problems.arrays import IntArray

_INT = types.int64
_INPUT = types.Array(types.int64, 1, "C", readonly=True)
_VECTOR = types.Array(types.int64, 1, "C")

# More than any flow.
_UNBOUNDED = 2**62


@njit([types.void(_VECTOR, _VECTOR, _VECTOR, _VECTOR, _INT, _INT, _INT)], cache=True, nogil=True)
def _join(
    first: IntArray, after: IntArray, to: IntArray, room: IntArray, arc: int, tail: int, head: int
) -> None:
    """Add an arc and its reverse to the adjacency lists."""
    to[arc], to[arc + 1] = head, tail
    after[arc], first[tail] = first[tail], arc
    after[arc + 1], first[head] = first[head], arc + 1
    room[arc + 1] = 0


@njit([types.boolean(*(_VECTOR,) * 6, _INT, _INT)], cache=True, nogil=True)
def _find_levels(
    first: IntArray,
    after: IntArray,
    to: IntArray,
    room: IntArray,
    level: IntArray,
    queue: IntArray,
    source: int,
    sink: int,
) -> bool:
    """Find the vertices' distances from the source; return whether it reaches the sink."""
    level[:] = -1
    level[source] = 0
    queue[0] = source
    taken, put = 0, 1
    while taken < put:
        v = queue[taken]
        taken += 1
        arc = first[v]
        while arc >= 0:
            if room[arc] > 0 and level[to[arc]] < 0:
                level[to[arc]] = level[v] + 1
                queue[put] = to[arc]
                put += 1
            arc = after[arc]
    return bool(level[sink] >= 0)


@njit([types.void(*(_VECTOR,) * 7, _INT, _INT)], cache=True, nogil=True)
def _block(
    next_arc: IntArray,
    after: IntArray,
    to: IntArray,
    room: IntArray,
    level: IntArray,
    path: IntArray,
    first: IntArray,
    source: int,
    sink: int,
) -> None:
    """Find a blocking flow along shortest paths."""
    next_arc[:] = first
    length, v = 0, source
    while True:
        if v == sink:
            amount = room[path[0]]
            for i in range(1, length):
                amount = min(amount, room[path[i]])
            full = -1
            for i in range(length):
                room[path[i]] -= amount
                room[path[i] ^ 1] += amount
                if full < 0 and room[path[i]] == 0:
                    full = i
            length = full
            v = to[path[full] ^ 1]
            continue
        arc = next_arc[v]
        while arc >= 0 and (room[arc] == 0 or level[to[arc]] != level[v] + 1):
            arc = after[arc]
        next_arc[v] = arc
        if arc >= 0:
            path[length] = arc
            length += 1
            v = to[arc]
        elif v == source:
            return
        else:
            level[v] = -1
            length -= 1
            v = to[path[length] ^ 1]


@njit([_INT(_INT, _INPUT, _INPUT, GRAPH, _VECTOR, _VECTOR)], cache=True, nogil=True)
def split(
    price: int, sides: IntArray, weights: IntArray, g: TensorGraph, taken: IntArray, left: IntArray
) -> int:
    """Find the flow for some decisions; return the cost of a set that attains the excess.

    Parameters
    ----------
    sides
        1 for nodes inside, at least one, -1 for nodes outside, 0 for others, shape (n,).
    taken
        What tensors take from their ends, in the order of ``g.end``: before, of another flow to go
        on from, of which as much is kept as the price allows; then of the one that is found.
    left
        Filled with the weight of each node beyond its work's price and what tensors take, (n,).
    """
    n = len(g.work)
    source, sink = 3 * n, 3 * n + 1
    arcs = 2 * n + 4 * n + 4 * len(g.end)
    first = np.full(3 * n + 2, -1, dtype=np.int64)
    after, to, room = (
        np.empty(arcs, dtype=np.int64),
        np.empty(arcs, dtype=np.int64),
        np.empty(arcs, dtype=np.int64),
    )
    forward = np.zeros(len(g.end), dtype=np.int64)
    arc = 2 * n
    for v in range(n):
        left[v] = weights[v] - price * g.work[v]
    for u in range(n):
        begin, end = g.end_start[u], g.end_start[u + 1]
        if begin == end:
            continue
        # Vertices n + u and 2 n + u are what leaves the producer, and what it receives.
        through = price * g.transfer[u]
        leaving = entering = 0
        produced = arc
        arc += 4
        for i in range(begin + 1, end):
            forward[i] = arc
            given = min(max(0, -taken[i]), through - leaving)
            received = min(max(0, taken[i]), through - entering)
            leaving += given
            entering += received
            left[g.end[i]] += given - received
            _join(first, after, to, room, arc, n + u, g.end[i])
            room[arc], room[arc + 1] = through - given, given
            _join(first, after, to, room, arc + 2, g.end[i], 2 * n + u)
            room[arc + 2], room[arc + 3] = through - received, received
            arc += 4
        left[u] -= leaving - entering
        _join(first, after, to, room, produced, u, n + u)
        room[produced], room[produced + 1] = through - leaving, leaving
        _join(first, after, to, room, produced + 2, 2 * n + u, u)
        room[produced + 2], room[produced + 3] = through - entering, entering
    arc = 0
    for v in range(n):
        supply = sides[v] * _UNBOUNDED if sides[v] else left[v]
        if supply >= 0:
            room[arc] = supply
            _join(first, after, to, room, arc, source, v)
        else:
            room[arc] = -supply
            _join(first, after, to, room, arc, v, sink)
        arc += 2
    level, queue, path, next_arc = (
        np.empty(3 * n + 2, dtype=np.int64),
        np.empty(3 * n + 2, dtype=np.int64),
        np.empty(3 * n + 2, dtype=np.int64),
        np.empty(3 * n + 2, dtype=np.int64),
    )
    while _find_levels(first, after, to, room, level, queue, source, sink):
        _block(next_arc, after, to, room, level, path, first, source, sink)
    cost = 0
    for v in range(n):
        left[v] = weights[v] - price * g.work[v]
        if level[v] >= 0:
            cost += g.work[v]
    for u in range(n):
        begin, end = g.end_start[u], g.end_start[u + 1]
        if begin == end:
            continue
        sent, inside = 0, 0
        for i in range(begin, end):
            inside += level[g.end[i]] >= 0
            if i > begin:
                amount = room[forward[i] + 1] - room[forward[i] + 3]
                taken[i] = -amount
                left[g.end[i]] += amount
                sent += amount
        taken[begin] = sent
        left[u] -= sent
        if 0 < inside < end - begin:
            cost += g.transfer[u]
    return cost
