"""Compiled minimum cuts that divide the nodes of two stages between them anew.

Of two stages i < j, let U be the nodes of both, and A those that are to be in stage i. With the
rest of the partition given, ``a f(A) + b f(U - A)`` is submodular in A for any weights a and b, so
the best A is a minimum cut. A node of A has its producers in U in A, too.

f(A) + f(U - A) is never less than f(U): if all nodes could move, the best A would always be U or
nothing. So some are held where they are: those that a stage between i and j reads or is read by,
and those far from the boundary between the two stages. The rest is the corridor in which a better
boundary is looked for, as in flow-based refinement of partitions [HEUER18].

The network has a vertex for each node, on the source's side if it is in stage i, and one for each
tensor with a producer in U and for each that enters U from outside and has several consumers there
(two, one for each stage that it may enter). What is a whole layer's chain to moves of single nodes
is one cut here.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import types

from boundmark.heuristics.pipeline.kernel_graph import GRAPH, Graph
from boundmark.problems.arrays import IntArray
from boundmark.problems.compiling import INTEGERS, compiled, inlined, internal

# Weights of the two stages add up to this.
WEIGHTS = 1024
# More than any flow.
_UNBOUNDED = 2**61

_INT = types.int64
_ROW = types.int64[::1]
_TWO_INTEGERS = types.UniTuple(types.int64, 2)  # type: ignore[no-untyped-call]


class Arcs(NamedTuple):
    """The arcs of a network, each followed by its reverse.

    Attributes
    ----------
    first, after
        Lists of the arcs that begin at each vertex: the first one, and the one after each arc.
    head
        Where each arc ends.
    lower, upper
        An arc's room is ``a lower + b upper`` for the weights a and b of the two stages.
    room
        What is left of it.
    """

    first: IntArray
    after: IntArray
    head: IntArray
    lower: IntArray
    upper: IntArray
    room: IntArray


_ARCS = types.NamedUniTuple(_ROW, 6, Arcs)  # type: ignore[no-untyped-call]


@inlined([_INT(_ARCS, *(_INT,) * 6)])
def _join(arcs: Arcs, arc: int, tail: int, head: int, lower: int, upper: int, backward: int) -> int:
    """Add an arc and its reverse; return the number of the next one."""
    arcs.head[arc], arcs.head[arc + 1] = head, tail
    arcs.after[arc], arcs.first[tail] = arcs.first[tail], arc
    arcs.after[arc + 1], arcs.first[head] = arcs.first[head], arc + 1
    arcs.lower[arc], arcs.upper[arc] = lower, upper
    arcs.lower[arc + 1], arcs.upper[arc + 1] = backward, 0
    return arc + 2


@inlined([_INT(_ARCS, _INT, _INT)])
def _push(arcs: Arcs, arc: int, most: int) -> int:
    """Push up to `most` along an arc; return how much."""
    amount = min(most, arcs.room[arc])
    arcs.room[arc] -= amount
    arcs.room[arc ^ 1] += amount
    return int(amount)


@internal([types.void(_ARCS, _ROW, _INT, _INT)])
def _find_cut(arcs: Arcs, level: IntArray, source: int, sink: int) -> None:
    """Find the minimum cut with the fewest vertices on the sink's side: those of a level < len.

    Pushes from the highest level first, and relabels [CHERKASSKY97]. Levels are distances to the
    sink after each n relabels, and when a level is empty, nothing above it can get there. The
    amounts that cannot reach the sink need not find their way back.
    """
    vertices = len(level)
    amount_at = np.zeros(vertices, np.int64)
    queue = np.empty(vertices, np.int64)
    following = np.empty(vertices, np.int64)
    # Stacks of the vertices of each level that something is at.
    top = np.empty(vertices + 1, np.int64)
    below = np.empty(vertices, np.int64)
    members = np.empty(vertices + 1, np.int64)
    arc = arcs.first[source]
    while arc >= 0:
        amount_at[arcs.head[arc]] += _push(arcs, arc, _UNBOUNDED - amount_at[arcs.head[arc]])
        arc = arcs.after[arc]
    amount_at[sink] = 0
    while True:
        level[:] = vertices
        level[sink], level[source] = 0, vertices + 1
        top[:] = -1
        members[:] = 0
        queue[0] = sink
        taken, put = 0, 1
        highest = 0
        while taken < put:
            vertex = queue[taken]
            taken += 1
            members[level[vertex]] += 1
            following[vertex] = arcs.first[vertex]
            if amount_at[vertex] > 0:
                highest = level[vertex]
                below[vertex], top[highest] = top[highest], vertex
            arc = arcs.first[vertex]
            while arc >= 0:
                other = arcs.head[arc]
                if level[other] == vertices and arcs.room[arc ^ 1] > 0:
                    level[other] = level[vertex] + 1
                    queue[put] = other
                    put += 1
                arc = arcs.after[arc]
        if highest == 0:
            return
        relabels = put
        while highest > 0 and relabels > 0:
            vertex = top[highest]
            if vertex < 0:
                highest -= 1
                continue
            top[highest] = below[vertex]
            while level[vertex] < vertices:
                arc = following[vertex]
                while arc >= 0:
                    other = arcs.head[arc]
                    if level[other] == level[vertex] - 1 and arcs.room[arc] > 0:
                        amount = _push(arcs, arc, amount_at[vertex])
                        amount_at[vertex] -= amount
                        if other != sink:
                            if amount_at[other] == 0:
                                below[other], top[level[other]] = top[level[other]], other
                            amount_at[other] = min(_UNBOUNDED, amount_at[other] + amount)
                        if amount_at[vertex] == 0:
                            break
                    arc = arcs.after[arc]
                following[vertex] = arc
                if arc >= 0:
                    break
                relabels -= 1
                lowest = vertices
                arc = arcs.first[vertex]
                while arc >= 0:
                    if arcs.room[arc] > 0:
                        lowest = min(lowest, level[arcs.head[arc]] + 1)
                    arc = arcs.after[arc]
                members[level[vertex]] -= 1
                if members[level[vertex]] == 0:
                    lowest = vertices
                level[vertex] = lowest
                members[lowest] += 1
                following[vertex] = arcs.first[vertex]
                if lowest < vertices:
                    highest = max(highest, lowest)


class Pair(NamedTuple):
    """Two stages and what their costs depend on.

    Attributes
    ----------
    nodes
        The nodes of both in topological order, shape (u,).
    place
        The position of each node among them, -1 for others, shape (n,).
    entering
        Producers elsewhere of tensors that enter the two stages.
    is_read
        1 for nodes that are read outside the two stages, shape (u,).
    """

    nodes: IntArray
    place: IntArray
    entering: IntArray
    is_read: IntArray


_PAIR = types.NamedUniTuple(_ROW, 4, Pair)  # type: ignore[no-untyped-call]


@internal([_PAIR(GRAPH, _ROW, _INT, _INT, INTEGERS)])
def _pair_of(graph: Graph, stages: IntArray, first: int, last: int, order: IntArray) -> Pair:
    """Collect the nodes of two stages and the tensors that they read."""
    place = np.full(len(stages), -1, np.int64)
    nodes = np.empty(len(stages), np.int64)
    count = 0
    for node in order:
        if stages[node] == first or stages[node] == last:
            place[node], nodes[count] = count, node
            count += 1
    nodes = nodes[:count].copy()
    is_read = np.zeros(count, np.int64)
    entering = np.empty(len(stages), np.int64)
    is_listed = np.zeros(len(stages), np.bool_)
    found = 0
    for at in range(count):
        node = nodes[at]
        for edge in range(graph.producer_start[node], graph.producer_start[node + 1]):
            producer = graph.producers[edge]
            if place[producer] < 0 and not is_listed[producer]:
                is_listed[producer] = True
                entering[found] = producer
                found += 1
        for edge in range(graph.consumer_start[node], graph.consumer_start[node + 1]):
            is_read[at] |= place[graph.consumers[edge]] < 0
    return Pair(nodes, place, entering[:found].copy(), is_read)


@internal([_TWO_INTEGERS(GRAPH, _PAIR, _ROW, _INT, _INT)])
def _costs(graph: Graph, pair: Pair, stages: IntArray, first: int, last: int) -> tuple[int, int]:
    """Return the costs of both stages."""
    lower = upper = lower_load = upper_load = 0
    for at in range(len(pair.nodes)):
        node = pair.nodes[at]
        is_outside = pair.is_read[at] > 0
        if stages[node] == last:
            upper += graph.work[node] + graph.transfer[node] * is_outside
            upper_load += graph.param_load[node]
            continue
        lower += graph.work[node]
        lower_load += graph.param_load[node]
        is_handed_on = False
        for edge in range(graph.consumer_start[node], graph.consumer_start[node + 1]):
            is_handed_on |= stages[graph.consumers[edge]] == last
        lower += graph.transfer[node] * (is_outside or is_handed_on)
        upper += graph.transfer[node] * is_handed_on
    for at in range(len(pair.entering)):
        node = pair.entering[at]
        enters_first = enters_last = False
        for edge in range(graph.consumer_start[node], graph.consumer_start[node + 1]):
            enters_first |= stages[graph.consumers[edge]] == first
            enters_last |= stages[graph.consumers[edge]] == last
        lower += graph.transfer[node] * enters_first
        upper += graph.transfer[node] * enters_last
    return (
        lower + max(0, lower_load - graph.cache),
        upper + max(0, upper_load - graph.cache),
    )


@internal([_ROW(GRAPH, _PAIR, _ROW, _INT, _INT, types.float64)])
def _held(
    graph: Graph, pair: Pair, stages: IntArray, first: int, last: int, corridor: float
) -> IntArray:
    """Return 1 for the nodes of a pair that stay where they are, and 0 for the others."""
    count = len(pair.nodes)
    held = np.zeros(count, np.int64)
    for at in range(count):
        node = pair.nodes[at]
        if stages[node] == first:
            for edge in range(graph.consumer_start[node], graph.consumer_start[node + 1]):
                consumer = graph.consumers[edge]
                held[at] |= pair.place[consumer] < 0 and stages[consumer] < last
        else:
            for edge in range(graph.producer_start[node], graph.producer_start[node + 1]):
                producer = graph.producers[edge]
                held[at] |= pair.place[producer] < 0 and stages[producer] > first
    if corridor < 1:
        lower = upper = 0
        for at in range(len(pair.nodes)):
            if stages[pair.nodes[at]] == first:
                lower += graph.work[pair.nodes[at]] + 1
            else:
                upper += graph.work[pair.nodes[at]] + 1
        before_first, after_last = 0, upper
        for at in range(count):
            weight = graph.work[pair.nodes[at]] + 1
            if stages[pair.nodes[at]] == first:
                held[at] |= before_first < (1 - corridor) * lower
                before_first += weight
            else:
                after_last -= weight
                held[at] |= after_last < (1 - corridor) * upper
    # What comes before a node that stays in the first stage stays, too, and what comes after one
    # that stays in the last.
    waiting = np.empty(count, np.int64)
    put = 0
    for at in range(count):
        if held[at]:
            waiting[put] = at
            put += 1
    while put > 0:
        put -= 1
        node = pair.nodes[waiting[put]]
        if stages[node] == first:
            start, stop, others = (
                graph.producer_start[node],
                graph.producer_start[node + 1],
                graph.producers,
            )
        else:
            start, stop, others = (
                graph.consumer_start[node],
                graph.consumer_start[node + 1],
                graph.consumers,
            )
        for edge in range(start, stop):
            at = pair.place[others[edge]]
            if at >= 0 and not held[at]:
                held[at] = 1
                waiting[put] = at
                put += 1
    return held


@internal([_ARCS(GRAPH, _PAIR, _ROW, _INT, _INT, _ROW)])
def _network_of(
    graph: Graph, pair: Pair, stages: IntArray, first: int, last: int, held: IntArray
) -> Arcs:
    """Build the network; its last two vertices are the source and the sink."""
    count, found = len(pair.nodes), len(pair.entering)
    vertices = 2 * count + 2 * found + 2
    source, sink = vertices - 2, vertices - 1
    most = 3 * count + 2 * found
    for at in range(count):
        node = pair.nodes[at]
        most += 2 * (graph.consumer_start[node + 1] - graph.consumer_start[node])
    for at in range(found):
        node = pair.entering[at]
        most += 2 * (graph.consumer_start[node + 1] - graph.consumer_start[node])
    arcs = Arcs(
        np.full(vertices, -1, np.int64),
        np.empty(2 * most, np.int64),
        np.empty(2 * most, np.int64),
        np.empty(2 * most, np.int64),
        np.empty(2 * most, np.int64),
        np.empty(2 * most, np.int64),
    )
    load_first = load_last = 0
    for at in range(count):
        node = pair.nodes[at]
        load_first += graph.param_load[node] * (stages[node] == first)
        load_last += graph.param_load[node] * (stages[node] == last)
    # What is held is the source or the sink itself.
    vertex = np.empty(count, np.int64)
    for at in range(count):
        vertex[at] = at
        if held[at]:
            vertex[at] = source if stages[pair.nodes[at]] == first else sink
    # Cost of each node alone in the first and in the last of the two stages.
    in_first = np.empty(count, np.int64)
    in_last = np.empty(count, np.int64)
    for at in range(count):
        node = pair.nodes[at]
        read = graph.transfer[node] * pair.is_read[at]
        in_first[at] = graph.work[node] + read + graph.param_load[node] * (load_first > graph.cache)
        in_last[at] = graph.work[node] + read + graph.param_load[node] * (load_last > graph.cache)
    arc = 0
    for at in range(found):
        node, transfer = pair.entering[at], graph.transfer[pair.entering[at]]
        readers, reader = 0, -1
        for edge in range(graph.consumer_start[node], graph.consumer_start[node + 1]):
            if pair.place[graph.consumers[edge]] >= 0:
                readers += 1
                reader = pair.place[graph.consumers[edge]]
        if readers == 1:
            in_first[reader] += transfer
            in_last[reader] += transfer
            continue
        to_first, to_last = 2 * count + at, 2 * count + found + at
        arc = _join(arcs, arc, to_first, sink, transfer, 0, 0)
        arc = _join(arcs, arc, source, to_last, 0, transfer, 0)
        for edge in range(graph.consumer_start[node], graph.consumer_start[node + 1]):
            reader = pair.place[graph.consumers[edge]]
            if reader >= 0 and vertex[reader] != sink:
                arc = _join(arcs, arc, vertex[reader], to_first, _UNBOUNDED, 0, 0)
            if reader >= 0 and vertex[reader] != source:
                arc = _join(arcs, arc, to_last, vertex[reader], _UNBOUNDED, 0, 0)
    for at in range(count):
        node = pair.nodes[at]
        readers, only, are_held = 0, -1, held[at] > 0
        for edge in range(graph.consumer_start[node], graph.consumer_start[node + 1]):
            reader = pair.place[graph.consumers[edge]]
            if reader >= 0:
                readers += 1
                only = reader
                are_held &= vertex[reader] == vertex[at]
        transfer = graph.transfer[node]
        leaving = transfer * (1 - pair.is_read[at])
        if are_held:
            # All in one stage, whatever the cut.
            continue
        if readers == 1:
            arc = _join(arcs, arc, vertex[at], vertex[only], leaving, transfer, _UNBOUNDED)
        elif readers > 1:
            arc = _join(arcs, arc, vertex[at], count + at, leaving, transfer, 0)
            for edge in range(graph.consumer_start[node], graph.consumer_start[node + 1]):
                reader = pair.place[graph.consumers[edge]]
                if reader >= 0 and vertex[reader] != source:
                    arc = _join(arcs, arc, count + at, vertex[reader], _UNBOUNDED, 0, 0)
                if reader >= 0 and vertex[reader] not in (sink, vertex[at]):
                    arc = _join(arcs, arc, vertex[reader], vertex[at], _UNBOUNDED, 0, 0)
        if not held[at]:
            arc = _join(arcs, arc, source, at, 0, in_last[at], 0)
            arc = _join(arcs, arc, at, sink, in_first[at], 0, 0)
    return Arcs(
        arcs.first,
        arcs.after[:arc],
        arcs.head[:arc],
        arcs.lower[:arc],
        arcs.upper[:arc],
        arcs.room[:arc],
    )


@internal([types.void(_ARCS, _INT, _INT)])
def _open(arcs: Arcs, weight: int, unit: int) -> None:
    """Give all arcs their room, for a weight of the first stage."""
    other = WEIGHTS - weight
    for arc in range(len(arcs.room)):
        if arcs.lower[arc] == _UNBOUNDED or arcs.upper[arc] == _UNBOUNDED:
            arcs.room[arc] = _UNBOUNDED
        else:
            arcs.room[arc] = weight * (arcs.lower[arc] // unit) + other * (arcs.upper[arc] // unit)


@internal([types.void(GRAPH, _PAIR, _ROW, _INT, _INT, types.float64, _INT, _INT, _ROW)])
def _divide_within(
    graph: Graph,
    pair: Pair,
    stages: IntArray,
    first: int,
    last: int,
    corridor: float,
    cuts: int,
    unit: int,
    times_first: IntArray,
) -> None:
    """Divide the nodes of a corridor anew, and add to `times_first`; see `divide_pair`."""
    held = _held(graph, pair, stages, first, last, corridor)
    if held.all():
        return
    count = len(pair.nodes)
    before = np.empty(count, np.int64)
    for at in range(count):
        before[at] = stages[pair.nodes[at]]
    best = before.copy()
    best_first, best_last = _costs(graph, pair, stages, first, last)
    arcs = _network_of(graph, pair, stages, first, last, held)
    level = np.empty(len(arcs.first), np.int64)
    # Costs of a solution whose first stage costs more, and of one whose last stage does.
    more_first, less_last = -1, -1
    less_first, more_last = -1, -1
    low, high = 0, WEIGHTS
    for _ in range(cuts):
        weight = (low + high) // 2
        if more_first >= 0 and more_last >= 0:
            # With this weight, both solutions are as good: only one between them is better.
            rise, fall = more_last - less_last, more_first - less_first
            weight = int(WEIGHTS * (rise / (rise + fall)))
        if not low < weight < high:
            break
        _open(arcs, weight, unit)
        _find_cut(arcs, level, len(level) - 2, len(level) - 1)
        for at in range(count):
            is_first = before[at] == first if held[at] else level[at] >= len(level)
            stages[pair.nodes[at]] = first if is_first else last
            times_first[pair.nodes[at]] += is_first
        cost_first, cost_last = _costs(graph, pair, stages, first, last)
        cost, least = max(cost_first, cost_last), max(best_first, best_last)
        if cost < least or (cost == least and cost_first + cost_last < best_first + best_last):
            best_first, best_last = cost_first, cost_last
            for at in range(count):
                best[at] = stages[pair.nodes[at]]
        if cost_first == cost_last:
            break
        if cost_first > cost_last:
            is_known = cost_first == more_first and cost_last == less_last
            low, more_first, less_last = weight, cost_first, cost_last
        else:
            is_known = cost_first == less_first and cost_last == more_last
            high, less_first, more_last = weight, cost_first, cost_last
        if is_known:
            break
    for at in range(count):
        stages[pair.nodes[at]] = best[at]


@compiled([_INT(GRAPH, _ROW, _INT, _INT, INTEGERS, types.float64[::1], _INT, _INT, _ROW)])
def divide_pair(
    graph: Graph,
    stages: IntArray,
    first: int,
    last: int,
    order: IntArray,
    corridors: npt.NDArray[np.float64],
    cuts: int,
    unit: int,
    times_first: IntArray,
) -> int:
    """Divide the nodes of two stages anew so that the costlier one is as cheap as cuts make it.

    Parameters
    ----------
    stages
        The partition, whose tensors only flow to later stages; updated.
    order
        The nodes in a topological order, shape (n,). The earliest nodes of the first stage and the
        latest ones of the last stage are the farthest from the boundary.
    corridors
        Parts of each stage's work, next to the boundary, that may move; 1.0 for all of it. One is
        tried after the other.
    cuts
        Number of weights for which a cut is found: bisection for equal costs.
    unit
        Ticks by which costs are divided in the networks, so that flows fit into 64 bits.
    times_first
        Filled, for nodes of the two stages, with the number of cuts that had them in the first one.
        There is none in a corridor in which no node can move.

    Returns
    -------
    How many nodes changed their stage.
    """
    pair = _pair_of(graph, stages, first, last, order)
    before = np.empty(len(pair.nodes), np.int64)
    for at in range(len(pair.nodes)):
        before[at] = stages[pair.nodes[at]]
        times_first[pair.nodes[at]] = 0
    for corridor in corridors:
        _divide_within(graph, pair, stages, first, last, corridor, cuts, unit, times_first)
    changed = 0
    for at in range(len(pair.nodes)):
        changed += stages[pair.nodes[at]] != before[at]
    return changed
