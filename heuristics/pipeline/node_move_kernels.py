"""Compiled moves of nodes between stages, for simulated annealing.

A partition whose tensors only flow to later stages stays one when a node moves to any stage from
the last of its producers' to the first of its consumers'. Only the stage that the node leaves and
the one that it enters change their costs: for every other stage it lies outside as before.

Where stages have few nodes, hardly any of them can take one more. Then a pair of moves is tried:
the node moves, and another one leaves the stage that it enters.

Where a node has producers and consumers in its own stage, it cannot move alone. Then it moves to
the next stage with all that depends on it in its own, or to the one before with all that it depends
on there. In models, whose layers are chains, that is most nodes.

Random numbers come from SplitMix64 ([STEELE14], Section 3). A number takes about two nanoseconds,
and only those are drawn that a move needs; to fill an array with all that it might need took 13 of
120 nanoseconds.
"""

from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from numba import types

from boundmark.heuristics.pipeline.kernel_graph import GRAPH, Graph
from boundmark.problems.arrays import IntArray
from boundmark.problems.compiling import INTEGERS, compiled, inlined

State: TypeAlias = npt.NDArray[np.uint64]
STATE = types.uint64[::1]

_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)


def new_state(generator: np.random.Generator) -> State:
    """Return a state drawn from a generator, shape (1,)."""
    return generator.integers(0, 2**64, 1, np.uint64)


@inlined([types.uint64(STATE)])
def draw_bits(state: State) -> int:
    """Return 64 random bits."""
    state[0] += _STEP
    bits = state[0]
    bits = (bits ^ (bits >> np.uint64(30))) * _FIRST
    bits = (bits ^ (bits >> np.uint64(27))) * _SECOND
    return bits ^ (bits >> np.uint64(31))  # type: ignore[no-any-return]


@inlined([types.int64(types.uint64, types.int64)])
def high_below(bits: int, end: int) -> int:
    """Map the higher 32 bits to an integer from 0 to end - 1, for end below 2^32."""
    return np.int64(((bits >> _HALF) * np.uint64(end)) >> _HALF)  # type: ignore[return-value]


@inlined([types.float64(types.uint64)])
def low_fraction(bits: int) -> float:
    """Map the lower 32 bits to a number from 0 to 1, 1 excluded."""
    return np.float64(bits & _LOW) * 2.0**-32


@inlined([types.float64(STATE)])
def draw_fraction(state: State) -> float:
    """Return a number from U(0, 1)."""
    return np.float64(draw_bits(state) >> np.uint64(11)) * 2.0**-53


_INT = types.int64
_ROW = types.int64[::1]
_READERS = types.int32[:, ::1]
_TWO_INTEGERS = types.UniTuple(types.int64, 2)  # type: ignore[no-untyped-call]


class Walk(NamedTuple):
    """The current partition, updated in place; tensors must only flow to later stages.

    Attributes
    ----------
    stages
        The stage of each node, shape (n,).
    costs, loads
        Each stage's cost without overflow, and its sum of param_load, shape (k,).
    readers
        How many consumers each node has in each stage, shape (n, k). With that, what a move costs
        follows from the node's producers alone, however many consumers these have.
    """

    stages: IntArray
    costs: IntArray
    loads: IntArray
    readers: npt.NDArray[np.int32]


WALK = types.NamedTuple([_ROW, _ROW, _ROW, _READERS], Walk)  # type: ignore[no-untyped-call]


@compiled([types.void(GRAPH, _ROW, _READERS)])
def count_readers(graph: Graph, stages: IntArray, readers: npt.NDArray[np.int32]) -> None:
    """Count the consumers of each node in each stage into a table of zeros."""
    for node in range(len(stages)):
        for edge in range(graph.consumer_start[node], graph.consumer_start[node + 1]):
            readers[node, stages[graph.consumers[edge]]] += 1


@inlined([_TWO_INTEGERS(GRAPH, _ROW, _INT, _INT)])
def possible_range(graph: Graph, stages: IntArray, node: int, last: int) -> tuple[int, int]:
    """Return the first and the last stage in which a node may be."""
    first, final = 0, last
    for edge in range(graph.producer_start[node], graph.producer_start[node + 1]):
        first = max(first, stages[graph.producers[edge]])
    for edge in range(graph.consumer_start[node], graph.consumer_start[node + 1]):
        final = min(final, stages[graph.consumers[edge]])
    return first, final


@inlined([_TWO_INTEGERS(GRAPH, WALK, _INT, _INT)])
def cost_changes(graph: Graph, walk: Walk, node: int, to: int) -> tuple[int, int]:
    """Return by how much a move raises the costs of the node's own stage and of stage `to`.

    Overflow is left out. Other stages' costs do not change: the node lies outside as before.
    """
    at, readers = walk.stages[node], walk.readers
    leaving, entering = -graph.work[node], graph.work[node]
    for edge in range(graph.producer_start[node], graph.producer_start[node + 1]):
        producer = graph.producers[edge]
        amount, home = graph.transfer[producer], walk.stages[producer]
        degree = graph.consumer_start[producer + 1] - graph.consumer_start[producer]
        if home == at:
            # Its tensor did not leave the stage before.
            leaving += amount * (readers[producer, at] == degree)
        else:
            leaving -= amount * (readers[producer, at] == 1)
        if home == to:
            entering -= amount * (readers[producer, to] == degree - 1)
        else:
            entering += amount * (readers[producer, to] == 0)
    degree = graph.consumer_start[node + 1] - graph.consumer_start[node]
    read_at, read_to, amount = readers[node, at], readers[node, to], graph.transfer[node]
    leaving += amount * ((read_at > 0) - np.int64(degree > read_at))
    entering += amount * ((degree > read_to) - np.int64(read_to > 0))
    return leaving, entering


@inlined([types.void(GRAPH, WALK, *(_INT,) * 4)])
def move(graph: Graph, walk: Walk, node: int, to: int, leaving: int, entering: int) -> None:
    """Move a node to another stage; add `leaving` and `entering` to the costs of the two."""
    at, load = walk.stages[node], graph.param_load[node]
    walk.stages[node] = to
    walk.costs[at] += leaving
    walk.costs[to] += entering
    walk.loads[at] -= load
    walk.loads[to] += load
    for edge in range(graph.producer_start[node], graph.producer_start[node + 1]):
        producer = graph.producers[edge]
        walk.readers[producer, at] -= 1
        walk.readers[producer, to] += 1


@inlined([_INT(WALK, _INT, _INT)])
def cost_of(walk: Walk, stage: int, cache: int) -> int:
    """Return the cost of a stage, overflow included."""
    return walk.costs[stage] + max(0, walk.loads[stage] - cache)  # type: ignore[no-any-return]


@inlined([_INT(WALK, _INT, _INT, _INT)])
def excess(walk: Walk, stage: int, level: int, cache: int) -> int:
    """Return the excess of a stage's cost over a level, at least 0."""
    return max(0, cost_of(walk, stage, cache) - level)


@inlined([_INT(WALK, *(_INT,) * 5)])
def excess_after(walk: Walk, stage: int, cost: int, load: int, level: int, cache: int) -> int:
    """Return the excess of a stage over a level after changes of its cost and param_load."""
    overflow = max(0, walk.loads[stage] + load - cache)
    return max(0, walk.costs[stage] + cost + overflow - level)  # type: ignore[no-any-return]


# Fraction of the moves that would be refused that is tried together with a second move; and the
# fraction of these in which the second node goes to where the first one came from.
PAIRED = 0.3
SWAPPED = 0.5

# Fraction of the nodes that cannot move alone that is tried together with others, and the largest
# number of nodes that move together.
CARRIED = 0.3
MOST_CARRIED = 32


@inlined([_INT(_INT, _INT, _INT, types.float64)])
def _target(first: int, final: int, at: int, draw: float) -> int:
    """Draw another stage of a range that has at least two.

    Four times out of five it is an end of the range, where most tensors are saved.
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
    """Move another node out of the stage that a node has entered, if the pair is accepted."""
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
    """Buffers for nodes that move together.

    Attributes
    ----------
    nodes
        In the order in which each of them can move, shape (MOST_CARRIED,).
    path, edges
        Stack of the depth-first search: nodes, and the next edge of each, the same shape.
    leaving, entering
        Changes of costs by each move, the same shape.
    seen
        The last round in which a node was visited, shape (n,).
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
    """Allocate a group for a graph."""
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

    With producers as `others`, collect all that the node depends on, producers first.
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
    """Move a node, and the nodes that have to move with it, to a neighbouring stage if accepted."""
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
    """Try moves of a node, a pair or a group, accepted by the rule of [METROPOLIS53].

    The objective is the sum over stages of their excess over a level a little below the best cost.
    The bottleneck stage alone would be a poor guide: most moves do not touch it.
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
