"""By how much a node's move to another stage changes the costs of both stages."""

from numba import types

from boundmark.heuristics.pipeline.kernels.compiling import inlined
from boundmark.heuristics.pipeline.kernels.graph import GRAPH, Graph
from boundmark.problems.arrays import IntArray

_ROW = types.int64[::1]
_TWO_INTEGERS = types.UniTuple(types.int64, 2)  # type: ignore[no-untyped-call]


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
