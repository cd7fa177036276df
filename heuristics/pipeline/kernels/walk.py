"""A partition that changes node by node, and what has to be known of it so that this is quick."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import types

from boundmark.heuristics.pipeline.kernels.compiling import compiled, inlined
from boundmark.heuristics.pipeline.kernels.graph import GRAPH, Graph
from boundmark.problems.arrays import IntArray

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
    """Return the first and the final stage in which a node may be."""
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
            # Nobody else sends it out of its stage.
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
    """Move a node to another stage, which raises the costs of both by so much."""
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
    """Return by how much a stage costs more than a level."""
    return max(0, cost_of(walk, stage, cache) - level)


@inlined([_INT(WALK, *(_INT,) * 5)])
def excess_after(walk: Walk, stage: int, cost: int, load: int, level: int, cache: int) -> int:
    """Return by how much a stage would exceed a level with so much more cost and param_load."""
    overflow = max(0, walk.loads[stage] + load - cache)
    return max(0, walk.costs[stage] + cost + overflow - level)  # type: ignore[no-any-return]
