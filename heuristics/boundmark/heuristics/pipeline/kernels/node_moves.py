"""Moves of single nodes between stages, for simulated annealing.

A partition whose tensors only flow to later stages stays one when a node moves to any stage from
the last of its producers' to the first of its consumers'. Only the stage that the node leaves and
the one that it enters change their costs: for every other stage it lies outside as before.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import types

from boundmark.heuristics.pipeline.kernels.compiling import compiled, inlined
from boundmark.heuristics.pipeline.kernels.graph import GRAPH, Graph
from boundmark.problems.arrays import IntArray

_ROW = types.int64[::1]
_DRAWS = types.float64[:, ::1]
_TWO_INTEGERS = types.UniTuple(types.int64, 2)  # type: ignore[no-untyped-call]


class Walk(NamedTuple):
    """The current partition, updated in place; tensors must only flow to later stages.

    Attributes
    ----------
    stages
        The stage of each node, shape (n,).
    costs, loads
        Each stage's cost without overflow, and its sum of param_load, shape (k,).
    """

    stages: IntArray
    costs: IntArray
    loads: IntArray


_WALK = types.NamedUniTuple(_ROW, 3, Walk)  # type: ignore[no-untyped-call]


@inlined([_TWO_INTEGERS(GRAPH, _ROW, types.int64, types.int64)])
def cost_changes(graph: Graph, stages: IntArray, node: int, to: int) -> tuple[int, int]:
    """Return by how much a move raises the costs of the node's own stage and of stage `to`.

    Overflow is left out.
    """
    at = stages[node]
    leaving, entering = -graph.work[node], graph.work[node]
    for edge in range(graph.producer_start[node], graph.producer_start[node + 1]):
        producer = graph.producers[edge]
        amount, home = graph.transfer[producer], stages[producer]
        stays_at = stays_to = is_sent = False
        for other in range(graph.consumer_start[producer], graph.consumer_start[producer + 1]):
            consumer = graph.consumers[other]
            if consumer != node:
                stage = stages[consumer]
                stays_at |= stage == at
                stays_to |= stage == to
                is_sent |= stage != home
        if home == at:
            if not is_sent:
                leaving += amount
        elif not stays_at:
            leaving -= amount
        if home == to:
            if not is_sent:
                entering -= amount
        elif not stays_to:
            entering += amount
    is_read_at = is_read_to = is_read_past_at = is_read_past_to = False
    for edge in range(graph.consumer_start[node], graph.consumer_start[node + 1]):
        stage = stages[graph.consumers[edge]]
        is_read_at |= stage == at
        is_read_to |= stage == to
        is_read_past_at |= stage != at
        is_read_past_to |= stage != to
    if is_read_past_at:
        leaving -= graph.transfer[node]
    if is_read_at:
        leaving += graph.transfer[node]
    if is_read_to:
        entering -= graph.transfer[node]
    if is_read_past_to:
        entering += graph.transfer[node]
    return leaving, entering


@compiled([types.int64(GRAPH, _WALK, _DRAWS, types.float64, types.float64, types.int64, _ROW)])
def anneal(
    graph: Graph,
    walk: Walk,
    draws: npt.NDArray[np.float64],
    temperature: float,
    margin: float,
    best: int,
    best_stages: IntArray,
) -> int:
    """Try one move per row of draws, and accept it by the rule of [METROPOLIS53].

    What is minimised is the sum over stages of their excess over a level a little below the best
    cost known. The bottleneck stage alone would be a poor guide: most moves do not touch it.

    Parameters
    ----------
    draws
        Numbers from U(0, 1), shape (moves, 3): they choose the node, its new stage, and whether a
        move that raises the excess is accepted.
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
    stages, costs, loads = walk
    nodes, last = len(stages), len(costs) - 1
    level, scale = int(best * (1 - margin)), temperature * best
    for row in range(len(draws)):
        if best == 0:
            break
        node = int(draws[row, 0] * nodes)
        first, final = 0, last
        for edge in range(graph.producer_start[node], graph.producer_start[node + 1]):
            first = max(first, stages[graph.producers[edge]])
        for edge in range(graph.consumer_start[node], graph.consumer_start[node + 1]):
            final = min(final, stages[graph.consumers[edge]])
        if first == final:
            continue
        # Four times out of five to an end of the range, where most tensors are saved.
        at, draw = stages[node], draws[row, 1]
        if draw < 0.4:
            to = first
        elif draw < 0.8:
            to = final
        else:
            to = first + int((draw - 0.8) * 5 * (final - first))
            to += to >= at
        if to == at:
            to = first + final - at
        leaving, entering = cost_changes(graph, stages, node, to)
        load = graph.param_load[node]
        old_at = costs[at] + max(0, loads[at] - graph.cache)
        old_to = costs[to] + max(0, loads[to] - graph.cache)
        new_at = costs[at] + leaving + max(0, loads[at] - load - graph.cache)
        new_to = costs[to] + entering + max(0, loads[to] + load - graph.cache)
        rise = max(0, new_at - level) + max(0, new_to - level)
        rise -= max(0, old_at - level) + max(0, old_to - level)
        if rise > 0 and draws[row, 2] >= np.exp(-rise / scale):
            continue
        stages[node] = to
        costs[at] += leaving
        costs[to] += entering
        loads[at] -= load
        loads[to] += load
        if max(new_at, new_to) < best:
            bottleneck = 0
            for stage in range(last + 1):
                bottleneck = max(bottleneck, costs[stage] + max(0, loads[stage] - graph.cache))
            if bottleneck < best:
                best = bottleneck
                best_stages[:] = stages
                level, scale = int(best * (1 - margin)), temperature * best
    return best
