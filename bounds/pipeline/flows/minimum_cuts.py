"""Cheapest sets around a node, ``min of a io(S) + work(S), v in S``, and flows that prove them.

io(S) is what the tensors that enter and leave S cost. Both terms are submodular, so this is a
minimum cut. Its dual is one signed amount x_e per edge e = (u, w): x_e > 0 flows from producer u
to consumer w, x_e < 0 from w to u. If for every producer the positive and the negative amounts on
its out-edges each add up to at most ``a transfer[u]``, and no node but v keeps more than its work,
then every S that contains v satisfies

    a io(S) + work(S) >= work[v] + net outflow of v,

because what leaves S crosses tensors that io(S) counts, and what stays is kept by nodes of S.

The cut of ``a io(S) + b work(S)`` is one in a network of 3 n vertices and a sink, S being the
source's side: operator y is vertex y; the tensor of producer u has vertex n + u ("out", reached
from u with capacity a transfer[u], leading to all consumers) and vertex 2 n + u ("back", reached
from all consumers, leading to u with capacity a transfer[u]); each operator drains up to b work[y]
into the sink; v itself is the source. Flows are short, and explore what is near v.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numba import types

from boundmark.bounds.maximum_flow import UNLIMITED, Network, augment
from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.certificate import Certificate
from boundmark.problems.compiling import compiled, internal
from boundmark.problems.method import Budget, Progress
from boundmark.problems.pipeline import PipelineInstance
from boundmark.problems.pipeline.graph import PipelineGraph


class CutGraph(NamedTuple):
    """A costed graph as the kernels read it."""

    # work, transfer: Ticks, shape (n,).
    work: IntArray
    transfer: IntArray
    # Transfers into and out of each node alone, shape (n,).
    io: IntArray
    # first, leaving, heads: The network, see `maximum_flow.Network`. First come the arcs to "out"
    # vertices, from "back" vertices, and to the sink, by node; then those to and from the
    # consumers, by edge.
    first: IntArray
    leaving: IntArray
    heads: IntArray
    # room, level: What arcs have room for, and the levels of a flow.
    room: IntArray
    level: IntArray


_INPUT = types.Array(types.int64, 1, "C", readonly=True)
_VECTOR = types.Array(types.int64, 1, "C")
_MATRIX = types.Array(types.int64, 2, "C")
_INT = types.int64
_TWO_INTS = types.UniTuple(_INT, 2)  # type: ignore[no-untyped-call]
_GRAPH = types.NamedTuple([_INPUT] * 3 + [_VECTOR] * 5, CutGraph)  # type: ignore[no-untyped-call]


@internal([types.void(*(_INT,) * 3, _GRAPH)])
def _prepare(source: int, a: int, b: int, g: CutGraph) -> None:
    """Set the rooms for a cut of ``a io(S) + b work(S)``, without any flow."""
    n = len(g.work)
    g.room[: 6 * n] = 0
    for y in range(n):
        g.room[2 * y] = g.room[2 * (n + y)] = a * g.transfer[y]
        g.room[2 * (2 * n + y)] = b * g.work[y]
    g.room[2 * (2 * n + source)] = 0
    g.room[6 * n :: 2] = UNLIMITED
    g.room[6 * n + 1 :: 2] = 0


@internal([_INT(_INT, _INT, _GRAPH)])
def _augment(source: int, wanted: int, g: CutGraph) -> int:
    """Augment the flow; return by how much."""
    sink = 3 * len(g.work)
    return augment(source, sink, 0, wanted, g.first, g.leaving, g.heads, g.room, g.level)


@compiled([_MATRIX(_INPUT, _INPUT, _GRAPH)])
def cut_table(nodes: IntArray, io_weights: IntArray, g: CutGraph) -> IntArray:
    """Return the minimum of ``a io(S) + work(S)``, v in S, for each node v and weight a.

    With a common multiple of all weights on the tensors, only the drains differ, and they widen
    as a falls: the flow for one weight is where that for the next smaller one starts.
    """
    # `io_weights`: The weights a, ascending, each a divisor of the last one.
    n = len(g.work)
    cuts = np.zeros((len(nodes), len(io_weights)), dtype=np.int64)
    scale = io_weights[-1]
    for i, v in enumerate(nodes):
        flow, drained = 0, 1
        _prepare(v, scale, drained, g)
        for j in range(len(io_weights) - 1, -1, -1):
            work_weight = scale // io_weights[j]
            for y in range(n):
                if y != v:
                    g.room[2 * (2 * n + y)] += (work_weight - drained) * g.work[y]
            drained = work_weight
            flow += _augment(v, scale * g.io[v] - flow, g)
            cuts[i, j] = g.work[v] + flow // work_weight
    return cuts


@compiled([_TWO_INTS(_INPUT, _INPUT, _GRAPH)])
def largest_cut(order: IntArray, extra: IntArray, g: CutGraph) -> tuple[int, int]:
    """Return the maximum of ``extra[v] + min of io(S) + work(S), v in S``, behind its v."""
    # `order`: The nodes by ``extra[v] + io({v}) + work[v]``, descending: an upper bound, so that
    # the first one not above the best ends the search.
    best_node, best = -1, -1
    ceiling = g.io + g.work
    for v in order:
        if extra[v] + g.io[v] + g.work[v] <= best:
            break
        if extra[v] + ceiling[v] <= best:
            continue
        _prepare(v, 1, 1, g)
        flow = _augment(v, g.io[v], g)
        cut = g.work[v] + flow
        if extra[v] + cut > best:
            best_node, best = v, extra[v] + cut
        # The minimal set contains others, and is an upper bound for each of them.
        if flow < g.io[v]:
            for u in range(len(g.work)):
                if g.level[u] >= 0:
                    ceiling[u] = min(ceiling[u], cut)
    return best_node, best


@compiled([_VECTOR(_INT, _INT, _GRAPH)])
def cut_flow(v: int, io_weight: int, g: CutGraph) -> IntArray:
    """Return a maximum flow for ``a io(S) + work(S)``, v in S: signed amounts by edge.

    A positive amount goes from producer to consumer.
    """
    _prepare(v, io_weight, 1, g)
    _augment(v, io_weight * g.io[v], g)
    to_consumers = 6 * len(g.work)
    amounts = np.empty((len(g.room) - to_consumers) // 4, dtype=np.int64)
    from_consumers = to_consumers + 2 * len(amounts)
    for e in range(len(amounts)):
        amounts[e] = g.room[to_consumers + 2 * e + 1] - g.room[from_consumers + 2 * e + 1]
    return amounts


class MinimumCuts:
    """Minimum cuts of one graph; not for use by several threads at once."""

    def __init__(self, graph: PipelineGraph) -> None:
        dag, n = graph.dag, graph.dag.nodes
        nodes, sinks = np.arange(n), np.full(n, 3 * n)
        outs, backs = n + dag.sources, 2 * n + dag.sources
        tails = np.concatenate([nodes, 2 * n + nodes, nodes, outs, dag.targets])
        heads = np.concatenate([n + nodes, nodes, sinks, dag.targets, backs])
        network = Network.of(3 * n + 1, tails, heads)
        self._graph = CutGraph(
            work=graph.work,
            transfer=graph.transfer,
            io=frozen(transfers_around(graph)),
            first=network.first,
            leaving=network.leaving,
            heads=network.heads,
            room=np.empty(len(network.heads), dtype=np.int64),
            level=np.empty(3 * n + 1, dtype=np.int64),
        )

    def largest(self, extra: IntArray) -> tuple[int, int]:
        """Return the maximum of ``extra[v] + min of io(S) + work(S)``, behind its node v."""
        # `extra`: Constants, one per node, shape (n,).
        alone = extra + self._graph.io + self._graph.work
        order = frozen(np.argsort(-alone, kind="stable"))
        node, value = largest_cut(order, extra, self._graph)
        return int(node), int(value)

    def table(self, nodes: IntArray, io_weights: Sequence[int] | IntArray) -> IntArray:
        """Return the minima for each node and each weight a, shape (nodes, weights)."""
        # `io_weights`: Ascending, each a divisor of the last one.
        return frozen(cut_table(nodes, frozen(io_weights), self._graph))

    def flow(self, node: int, io_weight: int) -> dict[str, Any]:
        """Return the flow that proves one minimum, as certificates store it."""
        amounts = cut_flow(node, io_weight, self._graph)
        edges = np.flatnonzero(amounts)
        return {
            "node": node,
            "io_weight": io_weight,
            "edges": edges.tolist(),
            "amounts": amounts[edges].tolist(),
        }


def transfers_around(graph: PipelineGraph) -> IntArray:
    """Return the transfers into and out of each node alone, shape (n,)."""
    dag = graph.dag
    around = np.where(np.diff(dag.consumer_start) > 0, graph.transfer, 0)
    np.add.at(around, dag.targets, graph.transfer[dag.sources])
    return around


def largest_node_cut(graph: PipelineGraph, cuts: MinimumCuts) -> tuple[int, int]:
    """Return the node with the largest `node-cut` bound, and that bound."""
    return cuts.largest(frozen(np.maximum(graph.param_load - graph.cache, 0)))


NODE_CUT = "node-cut/1"


def run_node_cut(
    instance: PipelineInstance, budget: Budget, seed: int, progress: Progress, **params: Any
) -> None:
    """Report `node-cut` of the best node: its stage costs at least the cheapest set around it.

    For every node v and every k,

        OPT >= min over S containing v of (work(S) + io(S)) + max(0, param_load[v] - cache).

    S need not be a stage of an acyclic partition, and its overflow is counted as far as v alone
    causes it; the rest is a minimum cut.
    """
    cuts = MinimumCuts(instance.graph)
    node, bound = largest_node_cut(instance.graph, cuts)
    payload = cuts.flow(node, io_weight=1)
    progress.bound(Certificate.of(instance, NODE_CUT, bound, payload, "node-cut"))
