"""Moves of nodes between stages, for simulated annealing.

A partition whose tensors only flow to later stages stays one when a node moves to any stage from
the last of its producers' to the first of its consumers'. Only the stage that the node leaves and
the one that it enters change their costs: for every other stage it lies outside as before.

Where stages have few nodes, hardly any of them can take one more. Then a pair of moves is tried:
the node moves, and another one leaves the stage that it enters.

Where a node has producers and consumers in its own stage, it cannot move alone. Then it moves to
the next stage with all that depends on it in its own, or to the one before with all that it depends
on there. In models, whose layers are chains, that is most nodes.
"""

from typing import NamedTuple

import numpy as np
from numba import types

from boundmark.heuristics.pipeline.kernels.compiling import compiled, inlined
from boundmark.heuristics.pipeline.kernels.draws import (
    STATE,
    State,
    draw_bits,
    draw_fraction,
    high_below,
    low_fraction,
)
from boundmark.heuristics.pipeline.kernels.graph import GRAPH, INTEGERS, Graph
from boundmark.heuristics.pipeline.kernels.walk import (
    WALK,
    Walk,
    cost_changes,
    cost_of,
    excess,
    excess_after,
    move,
    possible_range,
)
from boundmark.problems.arrays import IntArray

# Of the moves that would be refused, the part that is tried together with a second one; and of
# these, the part where the second node goes to where the first one came from.
PAIRED = 0.3
SWAPPED = 0.5

# Of the nodes that cannot move alone, the part that is tried together with others, and how many
# nodes move together at most.
CARRIED = 0.3
MOST_CARRIED = 32

_INT = types.int64
_ROW = types.int64[::1]
_TWO_INTEGERS = types.UniTuple(types.int64, 2)  # type: ignore[no-untyped-call]


@inlined([_INT(_INT, _INT, _INT, types.float64)])
def _target(first: int, final: int, at: int, draw: float) -> int:
    """Return another stage of a range that has at least two.

    Four times out of five that is an end of the range, where most tensors are saved.
    """
    if draw < 0.4:
        to = first
    elif draw < 0.8:
        to = final
    else:
        to = first + int((draw - 0.8) * 5 * (final - first))
        to += to >= at
    return first + final - at if to == at else to


@inlined([_INT(_ROW, _INT, _INT, _INT)])
def _next_in(stages: IntArray, stage: int, start: int, besides: int) -> int:
    """Return the first node of a stage from `start` on, around the end; -1 without another one."""
    nodes = len(stages)
    for step in range(nodes):
        node = start + step
        if node >= nodes:
            node -= nodes
        if stages[node] == stage and node != besides:
            return node
    return -1


@inlined([_INT(GRAPH, WALK, *(_INT,) * 4, *(types.float64,) * 4)])
def _move_second(
    graph: Graph,
    walk: Walk,
    node: int,
    at: int,
    level: int,
    before: int,
    scale: float,
    which: float,
    where: float,
    luck: float,
) -> int:
    """Move another node out of the stage that a node has entered, if the pair is accepted.

    Parameters
    ----------
    at
        The stage that the node came from.
    before
        Excess of both stages before it moved.
    which, where, luck
        Numbers from U(0, 1): they choose the other node and its new stage, and decide.

    Returns
    -------
    The other node's new stage, -1 if it stays.
    """
    stages, cache, to = walk.stages, graph.cache, walk.stages[node]
    other = _next_in(stages, to, int(which * len(stages)), node)
    if other < 0:
        return -1
    first, final = possible_range(graph, stages, other, len(walk.costs) - 1)
    if where < SWAPPED:
        past = at
        if at < first or at > final:
            return -1
    elif first == final:
        return -1
    else:
        past = _target(first, final, to, (where - SWAPPED) / (1 - SWAPPED))
    leaving, entering = cost_changes(graph, walk, other, past)
    rise = -before
    if past != at:
        rise -= excess(walk, past, level, cache)
    move(graph, walk, other, past, leaving, entering)
    rise += excess(walk, at, level, cache) + excess(walk, to, level, cache)
    if past != at:
        rise += excess(walk, past, level, cache)
    if rise > 0 and luck >= np.exp(-rise / scale):
        move(graph, walk, other, to, -entering, -leaving)
        return -1
    return past


class Group(NamedTuple):
    """Room for nodes that move together.

    Attributes
    ----------
    nodes
        In the order in which each of them can move, shape (MOST_CARRIED,).
    path, edges
        Nodes on the way to the one that is looked at, and the next edge of each, the same shape.
    leaving, entering
        Changes of costs by each move, the same shape.
    seen
        The last round in which a node was met, shape (n,).
    """

    nodes: IntArray
    path: IntArray
    edges: IntArray
    leaving: IntArray
    entering: IntArray
    seen: IntArray


_GROUP = types.NamedUniTuple(_ROW, 6, Group)  # type: ignore[no-untyped-call]


@compiled([_GROUP(_INT)])
def _no_group(nodes: int) -> Group:
    """Return room for nodes of a graph of some size."""
    return Group(
        np.empty(MOST_CARRIED, np.int64),
        np.empty(MOST_CARRIED, np.int64),
        np.empty(MOST_CARRIED, np.int64),
        np.empty(MOST_CARRIED, np.int64),
        np.empty(MOST_CARRIED, np.int64),
        np.full(nodes, -1, np.int64),
    )


@inlined([_INT(INTEGERS, INTEGERS, _ROW, _INT, _INT, _GROUP)])
def _gather(
    start: IntArray, others: IntArray, stages: IntArray, node: int, stamp: int, group: Group
) -> int:
    """Collect a node and all that depends on it in its stage, consumers before producers.

    With producers as `others` it is all that it depends on, producers first.

    Returns
    -------
    How many they are, 0 if they are too many.
    """
    count, depth = 0, 1
    group.path[0], group.edges[0], group.seen[node] = node, start[node], stamp
    while depth:
        at = group.path[depth - 1]
        edge = group.edges[depth - 1]
        if edge == start[at + 1]:
            if count == len(group.nodes):
                return 0
            group.nodes[count] = at
            count += 1
            depth -= 1
            continue
        group.edges[depth - 1] = edge + 1
        other = others[edge]
        if stages[other] == stages[node] and group.seen[other] != stamp:
            if depth == len(group.path):
                return 0
            group.seen[other] = stamp
            group.path[depth], group.edges[depth] = other, start[other]
            depth += 1
    return count


@inlined([types.boolean(GRAPH, WALK, _GROUP, *(_INT,) * 4, *(types.float64,) * 2)])
def _move_group(
    graph: Graph,
    walk: Walk,
    group: Group,
    node: int,
    to: int,
    stamp: int,
    level: int,
    scale: float,
    luck: float,
) -> bool:
    """Move a node and what has to move with it to a stage beside its own, if that is accepted."""
    stages, cache, at = walk.stages, graph.cache, walk.stages[node]
    if to > at:
        count = _gather(graph.consumer_start, graph.consumers, stages, node, stamp, group)
    else:
        count = _gather(graph.producer_start, graph.producers, stages, node, stamp, group)
    rise = -excess(walk, at, level, cache) - excess(walk, to, level, cache)
    for i in range(count):
        leaving, entering = cost_changes(graph, walk, group.nodes[i], to)
        group.leaving[i], group.entering[i] = leaving, entering
        move(graph, walk, group.nodes[i], to, leaving, entering)
    rise += excess(walk, at, level, cache) + excess(walk, to, level, cache)
    if rise <= 0 or luck < np.exp(-rise / scale):
        return count > 0
    for i in range(count - 1, -1, -1):
        move(graph, walk, group.nodes[i], at, -group.entering[i], -group.leaving[i])
    return False


@compiled([_INT(GRAPH, WALK, STATE, _INT, types.float64, types.float64, _INT, _ROW)])
def anneal(
    graph: Graph,
    walk: Walk,
    state: State,
    moves: int,
    temperature: float,
    margin: float,
    best: int,
    best_stages: IntArray,
) -> int:
    """Try to move a node, a pair or a group so many times, by the rule of [METROPOLIS53].

    What is minimised is the sum over stages of their excess over a level a little below the best
    cost known. The bottleneck stage alone would be a poor guide: most moves do not touch it.

    Parameters
    ----------
    state
        Of the random numbers; it moves on.
    temperature, margin
        In units of the best cost: the scale of increases that are accepted, and how far the level
        lies below.
    best
        Cost of the best partition known.
    best_stages
        Overwritten when a better partition is found.

    Returns
    -------
    The cost of the best partition, the one in `best_stages` if it is below `best`.
    """
    stages, cache = walk.stages, graph.cache
    nodes, last = len(stages), len(walk.costs) - 1
    group = _no_group(nodes)
    level, scale = int(best * (1 - margin)), temperature * best
    for round_ in range(moves):
        if best == 0:
            break
        bits = draw_bits(state)
        node, draw = high_below(bits, nodes), low_fraction(bits)
        first, final = possible_range(graph, stages, node, last)
        at = past = stages[node]
        if first == final:
            if draw >= CARRIED:
                continue
            to = at + 1 if draw < CARRIED / 2 else at - 1
            if to < 0 or to > last:
                continue
            luck = draw_fraction(state)
            if not _move_group(graph, walk, group, node, to, round_, level, scale, luck):
                continue
        else:
            to = _target(first, final, at, draw)
            leaving, entering = cost_changes(graph, walk, node, to)
            before = excess(walk, at, level, cache) + excess(walk, to, level, cache)
            load = graph.param_load[node]
            rise = (
                excess_after(walk, at, leaving, -load, level, cache)
                + excess_after(walk, to, entering, load, level, cache)
                - before
            )
            is_refused = rise > 0 and draw_fraction(state) >= np.exp(-rise / scale)
            if is_refused:
                pairing = draw_fraction(state)
                if pairing >= PAIRED:
                    continue
            move(graph, walk, node, to, leaving, entering)
            if is_refused:
                past = _move_second(
                    graph,
                    walk,
                    node,
                    at,
                    level,
                    before,
                    scale,
                    pairing / PAIRED,
                    draw_fraction(state),
                    draw_fraction(state),
                )
                if past < 0:
                    move(graph, walk, node, at, -entering, -leaving)
                    continue
        highest = max(
            cost_of(walk, at, cache), cost_of(walk, to, cache), cost_of(walk, past, cache)
        )
        if highest < best:
            bottleneck = 0
            for stage in range(last + 1):
                bottleneck = max(bottleneck, cost_of(walk, stage, cache))
            if bottleneck < best:
                best = bottleneck
                best_stages[:] = stages
                level, scale = int(best * (1 - margin)), temperature * best
    return best
