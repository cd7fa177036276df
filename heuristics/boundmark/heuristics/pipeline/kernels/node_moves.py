"""Moves of single nodes between stages, for simulated annealing.

A partition whose tensors only flow to later stages stays one when a node moves to any stage from
the last of its producers' to the first of its consumers'. Only the stage that the node leaves and
the one that it enters change their costs: for every other stage it lies outside as before.
"""

import numba
import numpy as np
import numpy.typing as npt
from numba import types

from boundmark.problems.arrays import IntArray

_INTEGERS = types.Array(types.int64, 1, "C", readonly=True)
_ROW = types.int64[::1]
_TWO_INTEGERS = types.UniTuple(types.int64, 2)  # type: ignore[no-untyped-call]
_GRAPH = (_INTEGERS,) * 6


@numba.njit(
    [_TWO_INTEGERS(*_GRAPH, _ROW, types.int64, types.int64)],
    cache=True,
    nogil=True,
)
def cost_changes(
    producer_start: IntArray,
    producers: IntArray,
    consumer_start: IntArray,
    consumers: IntArray,
    work: IntArray,
    transfer: IntArray,
    stages: IntArray,
    node: int,
    to: int,
) -> tuple[int, int]:
    """Return what the node's own stage and stage `to` cost more if it moves; without overflow."""
    at = stages[node]
    leaving, entering = -work[node], work[node]
    for edge in range(producer_start[node], producer_start[node + 1]):
        producer = producers[edge]
        amount, home = transfer[producer], stages[producer]
        stays_at = stays_to = is_sent = False
        for other in range(consumer_start[producer], consumer_start[producer + 1]):
            consumer = consumers[other]
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
    for edge in range(consumer_start[node], consumer_start[node + 1]):
        stage = stages[consumers[edge]]
        is_read_at |= stage == at
        is_read_to |= stage == to
        is_read_past_at |= stage != at
        is_read_past_to |= stage != to
    if is_read_past_at:
        leaving -= transfer[node]
    if is_read_at:
        leaving += transfer[node]
    if is_read_to:
        entering -= transfer[node]
    if is_read_past_to:
        entering += transfer[node]
    return leaving, entering


@numba.njit(
    [
        types.int64(
            *_GRAPH,
            _INTEGERS,
            types.int64,
            types.float64[:, ::1],
            types.float64,
            types.float64,
            types.int64,
            _ROW,
            _ROW,
            _ROW,
            _ROW,
        )
    ],
    cache=True,
    nogil=True,
)
def anneal(
    producer_start: IntArray,
    producers: IntArray,
    consumer_start: IntArray,
    consumers: IntArray,
    work: IntArray,
    transfer: IntArray,
    param_load: IntArray,
    cache: int,
    draws: npt.NDArray[np.float64],
    temperature: float,
    margin: float,
    best: int,
    stages: IntArray,
    costs: IntArray,
    loads: IntArray,
    best_stages: IntArray,
) -> int:
    """Try a move for each row of draws, and accept it by Metropolis' rule.

    What is minimised is the sum over stages of their excess over a level a little below the best
    cost known. The dearest stage alone would be a poor guide, because most moves do not touch it.

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
    stages, costs, loads
        The current partition, and its stages' costs without overflow and their sums of param_load;
        updated in place. Tensors must only flow to later stages.
    best_stages
        Overwritten when a better partition is found.

    Returns
    -------
    The cost of the best partition, the one in `best_stages` if it is below `best`.
    """
    nodes, last = len(stages), len(costs) - 1
    level, scale = int(best * (1 - margin)), temperature * best
    for row in range(len(draws)):
        if best == 0:
            break
        node = int(draws[row, 0] * nodes)
        first, final = 0, last
        for edge in range(producer_start[node], producer_start[node + 1]):
            first = max(first, stages[producers[edge]])
        for edge in range(consumer_start[node], consumer_start[node + 1]):
            final = min(final, stages[consumers[edge]])
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
        leaving, entering = cost_changes(
            producer_start,
            producers,
            consumer_start,
            consumers,
            work,
            transfer,
            stages,
            node,
            to,
        )
        load = param_load[node]
        old_at = costs[at] + max(0, loads[at] - cache)
        old_to = costs[to] + max(0, loads[to] - cache)
        new_at = costs[at] + leaving + max(0, loads[at] - load - cache)
        new_to = costs[to] + entering + max(0, loads[to] + load - cache)
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
            dearest = 0
            for stage in range(last + 1):
                dearest = max(dearest, costs[stage] + max(0, loads[stage] - cache))
            if dearest < best:
                best = dearest
                best_stages[:] = stages
                level, scale = int(best * (1 - margin)), temperature * best
    return best
