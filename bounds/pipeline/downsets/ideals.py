"""Compiled search for the fewest stages within a threshold, as chains of down-sets (ideals).

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

import numpy as np
from numba import types

from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.compiling import compiled, internal
from boundmark.problems.method import Budget
from boundmark.problems.pipeline.graph import PipelineGraph


class Lattice(NamedTuple):
    """All ideals of a graph, by size: the first is empty, the last has all nodes."""

    # Bit sets of n bits each, as many whole words an ideal as that takes.
    members: IntArray
    # work, load, leaving: Each ideal's work and parameters, and the transfers of its tensors that
    # have a consumer outside.
    work: IntArray
    load: IntArray
    leaving: IntArray
    # step_start, step_node, step_ideal: Step s, from ``step_start[I]`` to ``step_start[I + 1] -
    # 1``, adds a node to I and gives an ideal.
    step_start: IntArray
    step_node: IntArray
    step_ideal: IntArray
    # last_start, last: The producers whose tensors are read for the last time in step s are
    # ``last[last_start[s] : last_start[s + 1]]``.
    last_start: IntArray
    last: IntArray
    # Ticks, shape (n,); 0 for nodes without consumers.
    transfer: IntArray
    # producer_start, producers, consumer_start, consumers: Neighbours of each node.
    producer_start: IntArray
    producers: IntArray
    consumer_start: IntArray
    consumers: IntArray


class State(NamedTuple):
    """Working memory of a search."""

    # stages, before: g(I), -1 if not known yet, and the J that attains it.
    stages: IntArray
    before: IntArray
    # Ideals in the order of g.
    queue: IntArray
    # The last J whose pairs I was found among, or -1.
    seen: IntArray
    # entering, outgoing: Transfers into and out of I - J, for that J.
    entering: IntArray
    outgoing: IntArray
    # The ideals I of the present J, in the order in which they were found.
    found: IntArray
    # Ideals taken from the queue, and put into it; the least threshold that would make a
    # difference; pairs.
    counts: IntArray


REFUTED = -1
PAUSED = -2


def lattice(graph: PipelineGraph, limit: int) -> Lattice | None:
    """Return all ideals of a graph, or None if there are more than `limit`."""
    dag = graph.dag
    producers = [dag.producers_of(v).tolist() for v in range(dag.nodes)]
    consumers = [dag.consumers_of(v).tolist() for v in range(dag.nodes)]
    needs = [sum(1 << u for u in nodes) for nodes in producers]
    feeds = [sum(1 << w for w in nodes) for nodes in consumers]
    work, load = graph.work.tolist(), graph.param_load.tolist()
    transfer = [ticks if feeds[v] else 0 for v, ticks in enumerate(graph.transfer.tolist())]

    number = {0: 0}
    ideals = [0]
    ready = [[v for v in range(dag.nodes) if not needs[v]]]
    totals = [(0, 0, 0)]
    step_start, step_node, step_ideal = [0], list[int](), list[int]()
    last_start, last = [0], list[int]()
    # The list grows while it is read, so ideals come by size.
    for i, ideal in enumerate(ideals):
        for v in ready[i]:
            after = ideal | 1 << v
            read_last = [u for u in producers[v] if feeds[u] & ~after == 0]
            if after not in number:
                if len(ideals) == limit:
                    return None
                number[after] = len(ideals)
                ideals.append(after)
                opened = [w for w in consumers[v] if needs[w] & ~after == 0]
                ready.append([w for w in ready[i] if w != v] + opened)
                leaving = totals[i][2] + transfer[v] - sum(transfer[u] for u in read_last)
                totals.append((totals[i][0] + work[v], totals[i][1] + load[v], leaving))
            step_node.append(v)
            step_ideal.append(number[after])
            last += read_last
            last_start.append(len(last))
        step_start.append(len(step_node))

    size = (dag.nodes + 63) // 64 * 8
    members = b"".join(ideal.to_bytes(size, "little") for ideal in ideals)
    works, loads, leavings = zip(*totals, strict=True)
    return Lattice(
        members=frozen(np.frombuffer(members, dtype="<i8")),
        work=frozen(works),
        load=frozen(loads),
        leaving=frozen(leavings),
        step_start=frozen(step_start),
        step_node=frozen(step_node),
        step_ideal=frozen(step_ideal),
        last_start=frozen(last_start),
        last=frozen(last),
        transfer=frozen(transfer),
        producer_start=dag.producer_start,
        producers=dag.producers,
        consumer_start=dag.consumer_start,
        consumers=dag.targets,
    )


class BudgetSpentError(Exception):
    """The time is up in the middle of a search."""


class IdealSearch:
    """Search for partitions into k stages below a threshold; not for several threads at once."""

    # `pairs_at_a_time`: Pairs of ideals searched between two looks at the clock.

    def __init__(self, graph: PipelineGraph, ideals: Lattice, k: int, pairs_at_a_time: int) -> None:
        self._pairs_at_a_time, self._ideals = pairs_at_a_time, ideals
        self._nodes, self._cache = graph.dag.nodes, graph.cache
        self._k = min(k, self._nodes)
        size = len(ideals.work)
        state = [np.zeros(size, dtype=np.int64) for _ in range(7)]
        state.append(np.zeros(4, dtype=np.int64))
        self._state = State(*state)

    def stages(self, threshold: int, budget: Budget) -> IntArray | None:
        """Return a partition whose stages cost at most a threshold, or None if there is none.

        Raises `BudgetSpentError` if this takes too long.
        """
        state = self._state
        state.stages.fill(-1)
        state.seen.fill(-1)
        state.stages[0] = 0
        state.queue[0] = 0
        state.counts[:] = 0, 1, np.iinfo(np.int64).max, 0
        outcome = PAUSED
        while outcome == PAUSED:
            if budget.is_spent():
                raise BudgetSpentError
            pause = self.pairs + self._pairs_at_a_time
            outcome = search(self._k, threshold, self._cache, pause, self._ideals, state)
        return None if outcome == REFUTED else self._stages_up_to(outcome)

    @property
    def next_threshold(self) -> int:
        """The least threshold that the last search does not refute as well."""
        return int(self._state.counts[2])

    @property
    def pairs(self) -> int:
        """The number of pairs of ideals that the last search looked at."""
        return int(self._state.counts[3])

    def _stages_up_to(self, ideal: int) -> IntArray:
        """Return the number of the stage of each node; those outside the ideal are in the last."""
        stages = np.full(self._nodes, self._state.stages[ideal])
        members = self._ideals.members.reshape(len(self._ideals.work), -1).view(np.uint8)
        while ideal:
            inside = np.unpackbits(members[ideal], count=self._nodes, bitorder="little")
            ideal = int(self._state.before[ideal])
            stages[inside == 1] = self._state.stages[ideal]
        return frozen(stages)


_INT = types.int64
_INPUT = types.Array(types.int64, 1, "C", readonly=True)
_VECTOR = types.Array(types.int64, 1, "C")
_LATTICE = types.NamedUniTuple(_INPUT, 14, Lattice)  # type: ignore[no-untyped-call]
_STATE = types.NamedUniTuple(_VECTOR, 8, State)  # type: ignore[no-untyped-call]


@internal([types.boolean(_INT, _INT, _LATTICE)])
def _contains(ideal: int, node: int, g: Lattice) -> bool:
    words = (len(g.transfer) + 63) // 64
    bit: int = g.members[ideal * words + node // 64] >> (node % 64) & 1
    return bit != 0


@internal([_INT(_INT, _INT, _INT, _LATTICE)])
def _least_threshold(ideal: int, left: int, cache: int, g: Lattice) -> int:
    """Return a lower bound on t for `left` stages that hold all outside an ideal."""
    end = len(g.work) - 1
    rest: int = g.work[end] - g.work[ideal] + g.leaving[ideal]
    load = g.load[end] - g.load[ideal]
    # The product itself may be beyond 64 bits.
    if cache == 0 or left <= load // cache:
        rest += load - left * cache
    return -(-rest // left)


@internal([_INT(*(_INT,) * 3, _LATTICE, _STATE)])
def _entering(first: int, inside: int, node: int, g: Lattice, s: State) -> int:
    """Return the transfers that enter I - J after a node was added to I."""
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


@compiled([_INT(*(_INT,) * 4, _LATTICE, _STATE)])
def search(k: int, t: int, cache: int, pairs: int, g: Lattice, s: State) -> int:
    """Continue a search; return the ideal before the last stage, REFUTED or PAUSED."""
    # `k`, `t`: Number of stages and threshold. `pairs`: Number of pairs after which to pause.
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
