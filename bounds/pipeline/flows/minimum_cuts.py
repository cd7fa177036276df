"""Cheapest sets around a node, ``min of a io(S) + work(S), v in S``, and flows that prove them.

io(S) is what the tensors that enter and leave S cost. Both terms are submodular, so this is a
minimum cut. Its dual is one signed amount x_e per edge e = (u, w): x_e > 0 flows from producer u
to consumer w, x_e < 0 from w to u. If for every producer the positive and the negative amounts on
its out-edges each add up to at most ``a transfer[u]``, and no node but v keeps more than its work,
then every S that contains v satisfies

    a io(S) + work(S) >= work[v] + net outflow of v,

because what leaves S crosses tensors that io(S) counts, and what stays is kept by nodes of S.

The cut of ``a io(S) + b work(S)`` is one in a network of 3 n vertices, S being the source's side:
operator y is vertex y; the tensor of producer u has vertex n + u ("out", reached from u with
capacity a transfer[u], leading to all consumers) and vertex 2 n + u ("back", reached from all
consumers, leading to u with capacity a transfer[u]); each operator drains up to b work[y] into the
sink; v itself is the source.

It is found in time that depends on the cut and not on the graph: as by [DINIC70], with one change.
A phase's levels do not end with the nearest vertex that can still drain: they go on until those
found can drain all that v may still send, and all of them take part. The blocking flow still
lengthens the shortest augmenting path, so Dinic's bound on the number of phases stays; and a phase
explores a ball around v that is just large enough.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit, types

from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.certificate import Certificate
from boundmark.problems.method import Budget, Progress
from boundmark.problems.pipeline import PipelineInstance
from boundmark.problems.pipeline.graph import PipelineGraph


class CutGraph(NamedTuple):
    """A costed graph as the kernels read it.

    Attributes
    ----------
    work, transfer
        Ticks, shape (n,).
    io
        Transfers into and out of each node alone, shape (n,).
    sources, targets
        The edges, shape (m,), sorted by source.
    out_start, in_start
        Node v's out-edges are ``out_start[v] .. out_start[v + 1] - 1``, and its in-edges are
        ``in_edges[in_start[v] : in_start[v + 1]]``.
    in_edges
        Edge numbers sorted by target, shape (m,).
    """

    work: IntArray
    transfer: IntArray
    io: IntArray
    sources: IntArray
    targets: IntArray
    out_start: IntArray
    in_start: IntArray
    in_edges: IntArray


class CutState(NamedTuple):
    """Working memory; between calls all zero, except that levels are -1.

    Attributes
    ----------
    forward, backward
        Flow from the tensor's "out" vertex to the consumer, and from the consumer to the tensor's
        "back" vertex, shape (m,).
    used
        What an operator drains, enters an "out" vertex, and leaves a "back" vertex, shape (3 n,).
    level, arc
        Distance from the source in this phase, and the vertex's next arc to try, shape (3 n,).
    queue
        Vertices in the order in which they were reached, shape (3 n,).
    is_touched, touched
        Vertices to clear after the flow, as flags and as a list, shape (3 n,).
    path, wanted, sent
        The depth-first search's stack: vertex, amount asked of it, amount delivered, shape (3 n,).
    """

    forward: IntArray
    backward: IntArray
    used: IntArray
    level: IntArray
    arc: IntArray
    queue: IntArray
    is_touched: IntArray
    touched: IntArray
    path: IntArray
    wanted: IntArray
    sent: IntArray


_INPUT = types.Array(types.int64, 1, "C", readonly=True)
_VECTOR = types.Array(types.int64, 1, "C")
_MATRIX = types.Array(types.int64, 2, "C")
_INT = types.int64
_TWO_INTS = types.UniTuple(_INT, 2)  # type: ignore[no-untyped-call]
_THREE_INTS = types.UniTuple(_INT, 3)  # type: ignore[no-untyped-call]
_TWO_VECTORS = types.UniTuple(_VECTOR, 2)  # type: ignore[no-untyped-call]
_GRAPH = types.NamedUniTuple(_INPUT, 8, CutGraph)  # type: ignore[no-untyped-call]
_STATE = types.NamedUniTuple(_VECTOR, 11, CutState)  # type: ignore[no-untyped-call]


@njit([_TWO_INTS(*(_INT,) * 4, _GRAPH, _STATE)], cache=True, nogil=True)
def _reach(source: int, a: int, b: int, wanted: int, g: CutGraph, s: CutState) -> tuple[int, int]:
    """Set levels from the source on; return the number of vertices and their drain capacity."""
    n = len(g.work)
    s.queue[0] = source
    s.level[source] = 0
    s.arc[source] = 0
    head, tail, level_end, drain = 0, 1, 1, 0
    while head < tail:
        if head == level_end:
            if drain >= wanted:
                break
            level_end = tail
        x = s.queue[head]
        head += 1
        below = s.level[x] + 1
        known = tail
        if x < n:
            if s.level[n + x] < 0 and s.used[n + x] < a * g.transfer[x]:
                s.level[n + x] = below
                s.queue[tail] = n + x
                tail += 1
            if s.level[2 * n + x] < 0 and s.used[2 * n + x] > 0:
                s.level[2 * n + x] = below
                s.queue[tail] = 2 * n + x
                tail += 1
            for i in range(g.in_start[x], g.in_start[x + 1]):
                e = g.in_edges[i]
                u = g.sources[e]
                if s.level[2 * n + u] < 0:
                    s.level[2 * n + u] = below
                    s.queue[tail] = 2 * n + u
                    tail += 1
                if s.level[n + u] < 0 and s.forward[e] > 0:
                    s.level[n + u] = below
                    s.queue[tail] = n + u
                    tail += 1
        else:
            is_out = x < 2 * n
            u = x - n if is_out else x - 2 * n
            if s.level[u] < 0 and (s.used[x] > 0 if is_out else s.used[x] < a * g.transfer[u]):
                s.level[u] = below
                s.queue[tail] = u
                tail += 1
            for e in range(g.out_start[u], g.out_start[u + 1]):
                y = g.targets[e]
                if s.level[y] < 0 and (is_out or s.backward[e] > 0):
                    s.level[y] = below
                    s.queue[tail] = y
                    tail += 1
        for i in range(known, tail):
            y = s.queue[i]
            s.arc[y] = 0
            if y < n:
                drain += b * g.work[y] - s.used[y]
    return tail, drain


@njit([_TWO_INTS(*(_INT,) * 3, _GRAPH, _STATE)], cache=True, nogil=True)
def _next_arc(x: int, a: int, offer: int, g: CutGraph, s: CutState) -> tuple[int, int]:
    """Advance x's current arc to one that leads a level down; return end (or -1) and capacity."""
    n = len(g.work)
    below = s.level[x] + 1
    if x < n:
        arcs = 2 + 2 * (g.in_start[x + 1] - g.in_start[x])
        for i in range(s.arc[x], arcs):
            if i == 0:
                y, capacity = n + x, a * g.transfer[x] - s.used[n + x]
            elif i == 1:
                y, capacity = 2 * n + x, s.used[2 * n + x]
            else:
                e = g.in_edges[g.in_start[x] + (i - 2) // 2]
                if i % 2 == 0:
                    y, capacity = 2 * n + g.sources[e], offer
                else:
                    y, capacity = n + g.sources[e], s.forward[e]
            if capacity > 0 and s.level[y] == below:
                s.arc[x] = i
                return y, capacity
    else:
        is_out = x < 2 * n
        u = x - n if is_out else x - 2 * n
        arcs = 1 + g.out_start[u + 1] - g.out_start[u]
        for i in range(s.arc[x], arcs):
            if i == 0:
                y, capacity = u, s.used[x] if is_out else a * g.transfer[u] - s.used[x]
            else:
                e = g.out_start[u] + i - 1
                y, capacity = g.targets[e], offer if is_out else s.backward[e]
            if capacity > 0 and s.level[y] == below:
                s.arc[x] = i
                return y, capacity
    s.arc[x] = arcs
    return -1, 0


@njit([types.void(_INT, _INT, _GRAPH, _STATE)], cache=True, nogil=True)
def _send(x: int, amount: int, g: CutGraph, s: CutState) -> None:
    """Add flow on the current arc of x."""
    n = len(g.work)
    i = s.arc[x]
    if x < n:
        if i == 0:
            s.used[n + x] += amount
        elif i == 1:
            s.used[2 * n + x] -= amount
        else:
            e = g.in_edges[g.in_start[x] + (i - 2) // 2]
            if i % 2 == 0:
                s.backward[e] += amount
            else:
                s.forward[e] -= amount
    elif x < 2 * n:
        if i == 0:
            s.used[x] -= amount
        else:
            s.forward[g.out_start[x - n] + i - 1] += amount
    elif i == 0:
        s.used[x] += amount
    else:
        s.backward[g.out_start[x - 2 * n] + i - 1] -= amount


@njit([_INT(*(_INT,) * 4, _GRAPH, _STATE)], cache=True, nogil=True)
def _blocking_flow(source: int, a: int, b: int, wanted: int, g: CutGraph, s: CutState) -> int:
    """Find a blocking flow, depth first; return its value.

    A vertex drains what it can and sends the rest on. An arc that could not take all it was
    offered is not tried again in this phase.
    """
    n = len(g.work)
    top = 0
    s.path[0], s.wanted[0], s.sent[0] = source, wanted, 0
    while True:
        x = s.path[top]
        offer = s.wanted[top] - s.sent[top]
        if offer > 0:
            y, capacity = _next_arc(x, a, offer, g, s)
            if y >= 0:
                top += 1
                offer = min(offer, capacity)
                drained = min(offer, b * g.work[y] - s.used[y]) if y < n else 0
                if y < n:
                    s.used[y] += drained
                s.path[top], s.wanted[top], s.sent[top] = y, offer, drained
                continue
        if top == 0:
            return int(s.sent[0])
        amount, is_short = s.sent[top], s.sent[top] < s.wanted[top]
        top -= 1
        x = s.path[top]
        s.sent[top] += amount
        _send(x, amount, g, s)
        if is_short:
            s.arc[x] += 1


@njit([_THREE_INTS(*(_INT,) * 5, _GRAPH, _STATE)], cache=True, nogil=True)
def _augment(
    source: int, a: int, b: int, flow: int, touched: int, g: CutGraph, s: CutState
) -> tuple[int, int, int]:
    """Augment a flow until it is maximal.

    Returns the flow's value, the number of vertices to clear, and how many vertices at the front
    of the queue are the source's side of a minimum cut.
    """
    s.queue[0] = source
    limit = a * g.io[source]
    while flow < limit:
        reached, drain = _reach(source, a, b, limit - flow, g, s)
        if drain > 0:
            flow += _blocking_flow(source, a, b, limit - flow, g, s)
        for i in range(reached):
            x = s.queue[i]
            s.level[x] = -1
            if s.is_touched[x] == 0:
                s.is_touched[x] = 1
                s.touched[touched] = x
                touched += 1
        if drain == 0:
            return flow, touched, reached
    return flow, touched, 1


@njit([types.void(_INT, _GRAPH, _STATE)], cache=True, nogil=True)
def _clear(touched: int, g: CutGraph, s: CutState) -> None:
    """Reset the working memory."""
    n = len(g.work)
    for i in range(touched):
        x = s.touched[i]
        s.is_touched[x] = 0
        s.used[x] = 0
        if x >= n:
            flow = s.forward if x < 2 * n else s.backward
            u = x % n
            flow[g.out_start[u] : g.out_start[u + 1]] = 0


@njit([_MATRIX(_INPUT, _INPUT, _GRAPH, _STATE)], cache=True, nogil=True)
def cut_table(nodes: IntArray, io_weights: IntArray, g: CutGraph, s: CutState) -> IntArray:
    """Return the minimum of ``a io(S) + work(S)``, v in S, for each node v and weight a.

    With a common multiple of all weights on the tensors, only the drains differ, and they widen
    as a falls: the flow for one weight is where that for the next smaller one starts.

    Parameters
    ----------
    io_weights
        The weights a, ascending, each a divisor of the last one.
    """
    cuts = np.zeros((len(nodes), len(io_weights)), dtype=np.int64)
    scale = io_weights[-1]
    for i, v in enumerate(nodes):
        flow, touched = 0, 0
        for j in range(len(io_weights) - 1, -1, -1):
            work_weight = scale // io_weights[j]
            flow, touched, _ = _augment(v, scale, work_weight, flow, touched, g, s)
            cuts[i, j] = g.work[v] + flow // work_weight
        _clear(touched, g, s)
    return cuts


@njit([_TWO_INTS(_INPUT, _INPUT, _GRAPH, _STATE)], cache=True, nogil=True)
def largest_cut(order: IntArray, extra: IntArray, g: CutGraph, s: CutState) -> tuple[int, int]:
    """Return the v that maximises ``extra[v] + min of io(S) + work(S), v in S``, and the maximum.

    Parameters
    ----------
    order
        The nodes by ``extra[v] + io({v}) + work[v]``, descending: an upper bound, so that the
        first one not above the best ends the search.
    """
    best_node, best = -1, -1
    ceiling = g.io + g.work
    for v in order:
        if extra[v] + g.io[v] + g.work[v] <= best:
            break
        if extra[v] + ceiling[v] <= best:
            continue
        flow, touched, side = _augment(v, 1, 1, 0, 0, g, s)
        cut = g.work[v] + flow
        if extra[v] + cut > best:
            best_node, best = v, extra[v] + cut
        # The minimal set contains others, and is an upper bound for each of them.
        for i in range(side):
            u = s.queue[i]
            if u < len(g.work):
                ceiling[u] = min(ceiling[u], cut)
        _clear(touched, g, s)
    return best_node, best


@njit([_TWO_VECTORS(_INT, _INT, _GRAPH, _STATE)], cache=True, nogil=True)
def cut_flow(v: int, io_weight: int, g: CutGraph, s: CutState) -> tuple[IntArray, IntArray]:
    """Return a maximum flow for ``a io(S) + work(S)``, v in S: edges and signed amounts.

    A positive amount goes from producer to consumer. Edges come in no order.
    """
    n = len(g.work)
    _, touched, _ = _augment(v, io_weight, 1, 0, 0, g, s)
    size = 0
    for i in range(touched):
        if s.touched[i] >= n:
            u = s.touched[i] % n
            size += g.out_start[u + 1] - g.out_start[u]
    edges = np.empty(size, dtype=np.int64)
    amounts = np.empty(size, dtype=np.int64)
    found = 0
    for i in range(touched):
        x = s.touched[i]
        if x >= n and (x < 2 * n or s.is_touched[x - n] == 0):
            for e in range(g.out_start[x % n], g.out_start[x % n + 1]):
                amount = s.forward[e] - s.backward[e]
                if amount != 0:
                    edges[found], amounts[found] = e, amount
                    found += 1
    _clear(touched, g, s)
    return edges[:found].copy(), amounts[:found].copy()


class MinimumCuts:
    """Minimum cuts of one graph; not for use by several threads at once.

    Parameters
    ----------
    most_kept
        Number of amounts in flows that are kept, at 12 bytes each. Proofs of one graph have most
        flows in common, whatever their kind and threshold, and all together take seconds on a
        thousand nodes.
    """

    def __init__(self, graph: PipelineGraph, most_kept: int = 2**22) -> None:
        dag = graph.dag
        self._graph = CutGraph(
            work=graph.work,
            transfer=graph.transfer,
            io=frozen(transfers_around(graph)),
            sources=dag.sources,
            targets=dag.targets,
            out_start=dag.consumer_start,
            in_start=dag.producer_start,
            in_edges=frozen(np.argsort(dag.targets, kind="stable")),
        )
        state = [np.zeros(dag.edges, dtype=np.int64) for _ in range(2)]
        state += [np.zeros(3 * dag.nodes, dtype=np.int64) for _ in range(9)]
        self._state = CutState(*state)
        self._state.level[:] = -1
        self._most_kept, self._kept = most_kept, 0
        self._flows: dict[tuple[int, int], tuple[npt.NDArray[np.int32], IntArray]] = {}

    def largest(self, extra: IntArray) -> tuple[int, int]:
        """Return the node v that maximises ``extra[v] + min of io(S) + work(S)``, and the maximum.

        Parameters
        ----------
        extra
            Constants, one per node, shape (n,).
        """
        alone = extra + self._graph.io + self._graph.work
        order = frozen(np.argsort(-alone, kind="stable"))
        node, value = largest_cut(order, extra, self._graph, self._state)
        return int(node), int(value)

    def table(self, nodes: IntArray, io_weights: Sequence[int] | IntArray) -> IntArray:
        """Return the minima for each node and each weight a, shape (nodes, weights).

        Parameters
        ----------
        io_weights
            Ascending, each a divisor of the last one.
        """
        weights = frozen(io_weights)
        return frozen(cut_table(nodes, weights, self._graph, self._state))

    def keeps(self, node: int, io_weight: int) -> bool:
        """Whether a flow has been computed and kept."""
        return (node, io_weight) in self._flows

    def flow(self, node: int, io_weight: int) -> dict[str, Any]:
        """Return the flow that proves one minimum, as certificates store it."""
        edges, amounts = self._flows.get((node, io_weight)) or self._flow(node, io_weight)
        return {
            "node": node,
            "io_weight": io_weight,
            "edges": edges.tolist(),
            "amounts": amounts.tolist(),
        }

    def _flow(self, node: int, io_weight: int) -> tuple[npt.NDArray[np.int32], IntArray]:
        """Compute the edges and amounts of a flow, by edge, and keep them if there is room."""
        edges, amounts = cut_flow(node, io_weight, self._graph, self._state)
        by_edge = np.argsort(edges)
        flow = edges[by_edge].astype(np.int32), amounts[by_edge]
        if self._kept + len(edges) <= self._most_kept:
            self._flows[node, io_weight] = flow
            self._kept += len(edges)
        return flow


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
