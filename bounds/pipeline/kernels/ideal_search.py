"""Searches for a chain of few down-sets (ideals) whose stages cost at most a threshold.

A partition whose quotient graph is acyclic is a chain of ideals, from the empty set to all nodes;
its stages are the differences between neighbours. So the fewest stages g(I) of cost at most t that
make up the ideal I obey

    g(I) = 1 + min of g(J) over the ideals J inside I with f(I - J) <= t,

and the ideals are found in the order of g by a breadth-first search over such pairs (J, I). Three
facts keep the pairs few. Work, entering tensors and overflow of I - J only grow with I, so that
the pairs of one J are searched outwards and cut off there. A J with r stages left is a dead end if
all that is still to come, i.e. the remaining work, every tensor of J that has a consumer
outside, once, and the parameters that r caches cannot hold, costs more than r t. And where one
stage is left, that same sum is the stage's cost.
"""

from typing import NamedTuple

from numba import njit, types

from boundmark.problems.arrays import IntArray


class Lattice(NamedTuple):
    """All ideals of a graph, by size: the first is empty, the last has all nodes.

    Attributes
    ----------
    members
        Bit sets of n bits each, as many whole words an ideal as that takes.
    work, load, leaving
        Each ideal's work and parameters, and the transfers of its tensors that have a consumer
        outside.
    step_start, step_node, step_ideal
        Step s, from ``step_start[I]`` to ``step_start[I + 1] - 1``, adds a node to I and gives
        an ideal.
    last_start, last
        The producers whose tensors are read for the last time in step s are
        ``last[last_start[s] : last_start[s + 1]]``.
    transfer
        Ticks, shape (n,); 0 for nodes without consumers.
    producer_start, producers, consumer_start, consumers
        Neighbours of each node.
    """

    members: IntArray
    work: IntArray
    load: IntArray
    leaving: IntArray
    step_start: IntArray
    step_node: IntArray
    step_ideal: IntArray
    last_start: IntArray
    last: IntArray
    transfer: IntArray
    producer_start: IntArray
    producers: IntArray
    consumer_start: IntArray
    consumers: IntArray


class State(NamedTuple):
    """Where a search stands.

    Attributes
    ----------
    stages, before
        g(I), -1 if not known yet, and the J that attains it.
    queue
        Ideals in the order of g.
    seen
        The last J whose pairs I was found among, or -1.
    entering, outgoing
        Transfers into and out of I - J, for that J.
    found
        The ideals I of the present J, in the order in which they were found.
    counts
        Ideals taken from the queue, and put into it; the least threshold that would make a
        difference; pairs.
    """

    stages: IntArray
    before: IntArray
    queue: IntArray
    seen: IntArray
    entering: IntArray
    outgoing: IntArray
    found: IntArray
    counts: IntArray


REFUTED = -1
PAUSED = -2

_INT = types.int64
_INPUT = types.Array(types.int64, 1, "C", readonly=True)
_VECTOR = types.Array(types.int64, 1, "C")
_LATTICE = types.NamedUniTuple(_INPUT, 14, Lattice)  # type: ignore[no-untyped-call]
_STATE = types.NamedUniTuple(_VECTOR, 8, State)  # type: ignore[no-untyped-call]


@njit([types.boolean(_INT, _INT, _LATTICE)], cache=True, nogil=True)
def _contains(ideal: int, node: int, g: Lattice) -> bool:
    words = (len(g.transfer) + 63) // 64
    bit: int = g.members[ideal * words + node // 64] >> (node % 64) & 1
    return bit != 0


@njit([_INT(_INT, _INT, _INT, _LATTICE)], cache=True, nogil=True)
def _least_threshold(ideal: int, left: int, cache: int, g: Lattice) -> int:
    """Return the least t for which `left` stages may do for what is outside an ideal."""
    end = len(g.work) - 1
    rest: int = g.work[end] - g.work[ideal] + g.leaving[ideal]
    load = g.load[end] - g.load[ideal]
    # The product itself may be beyond 64 bits.
    if cache == 0 or left <= load // cache:
        rest += load - left * cache
    return -(-rest // left)


@njit([_INT(*(_INT,) * 3, _LATTICE, _STATE)], cache=True, nogil=True)
def _entering(first: int, inside: int, node: int, g: Lattice, s: State) -> int:
    """Return the transfers that enter I - J once a node is added, J being first and I inside."""
    entering: int = s.entering[inside]
    for i in range(g.producer_start[node], g.producer_start[node + 1]):
        u = g.producers[i]
        if not _contains(first, u, g):
            continue
        entered = False
        for j in range(g.consumer_start[u], g.consumer_start[u + 1]):
            w = g.consumers[j]
            if _contains(inside, w, g) and not _contains(first, w, g):
                entered = True
                break
        if not entered:
            entering += g.transfer[u]
    return entering


@njit([_INT(*(_INT,) * 4, _LATTICE, _STATE)], cache=True, nogil=True)
def search(k: int, t: int, cache: int, pairs: int, g: Lattice, s: State) -> int:
    """Continue a search; return the ideal before the last stage, REFUTED or PAUSED.

    Parameters
    ----------
    k, t
        Number of stages and threshold.
    pairs
        Number of pairs after which to pause.
    """
    end = len(g.work) - 1
    head, tail, changes, count = s.counts[0], s.counts[1], s.counts[2], s.counts[3]
    outcome = REFUTED
    while head < tail and outcome == REFUTED:
        if count >= pairs:
            outcome = PAUSED
            break
        first = s.queue[head]
        head += 1
        left = k - s.stages[first]
        least = _least_threshold(first, left, cache, g)
        if least > t:
            changes = min(changes, least)
            continue
        if left == 1:
            outcome = first
            break
        s.found[0] = first
        s.seen[first] = first
        s.entering[first] = 0
        s.outgoing[first] = 0
        next_found, last_found = 0, 1
        while next_found < last_found and outcome == REFUTED:
            inside = s.found[next_found]
            next_found += 1
            for step in range(g.step_start[inside], g.step_start[inside + 1]):
                after = g.step_ideal[step]
                if s.seen[after] == first:
                    continue
                s.seen[after] = first
                count += 1
                node = g.step_node[step]
                entering = _entering(first, inside, node, g, s)
                cost = g.work[after] - g.work[first] + entering
                cost += max(0, g.load[after] - g.load[first] - cache)
                if cost > t:
                    changes = min(changes, cost)
                    continue
                outgoing = s.outgoing[inside] + g.transfer[node]
                for i in range(g.last_start[step], g.last_start[step + 1]):
                    if not _contains(first, g.last[i], g):
                        outgoing -= g.transfer[g.last[i]]
                s.entering[after] = entering
                s.outgoing[after] = outgoing
                s.found[last_found] = after
                last_found += 1
                if s.stages[after] >= 0:
                    continue
                if cost + outgoing > t:
                    changes = min(changes, cost + outgoing)
                    continue
                s.stages[after] = s.stages[first] + 1
                s.before[after] = first
                s.queue[tail] = after
                tail += 1
                if after == end:
                    outcome = first
                    break
    s.counts[0], s.counts[1], s.counts[2], s.counts[3] = head, tail, changes, count
    return outcome
