"""`fractional-load`: bounds by the fraction of a stage that each node takes, with its tensors.

Let io_v(t) be a lower bound on the tensor cost io(S) of every stage S that contains v and costs at
most t. Within such a stage, ``work(S) <= t - io(S) <= t - io_v(t)`` for each v in S, so that

    sum over v in S of work[v] / (t - io_v(t)) <= 1.

Hence OPT > t if some ``work[v] > t - io_v(t)``, or if the sum over all nodes exceeds k. The same
holds with ``work + param_load`` in place of work and ``t + cache`` in place of t, because
``param_load(S) - cache`` is at most the overflow. All of it is monotone in t: bisect.

io_v(t) comes from minimum cuts: with C_v(a) = min of a io(S) + work(S) over all S that contain v,

    (a - 1) io(S) >= C_v(a) - (io(S) + work(S)) >= C_v(a) - t.

The table of C_v(a) over a few weights a depends on neither t nor k.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numba import types

from boundmark.bounds.best import Best
from boundmark.bounds.pipeline.flows.minimum_cuts import MinimumCuts, largest_node_cut
from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.certificate import Certificate
from boundmark.problems.compiling import compiled, internal
from boundmark.problems.method import Budget, Progress
from boundmark.problems.pipeline import PipelineInstance
from boundmark.problems.pipeline.graph import PipelineGraph

KIND = "fractional-load/1"

# Weights a of io in the cuts C_v(a). A few give most of the bound; more and larger ones give up to
# a percent more, for several times the time and size.
FEW_IO_WEIGHTS = (2, 4, 8, 16, 32, 64)
IO_WEIGHTS = (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 384)

# The clock is looked at after the cuts of so many nodes: a second on graphs of 10,000 nodes.
NODES_AT_A_TIME = 16


def run(
    instance: PipelineInstance,
    budget: Budget,
    seed: int,
    progress: Progress,
    *,
    tables: "Tables | None" = None,
) -> None:
    """Report bounds: the mean work without cuts, then by few io weights, then by all."""
    # `tables`: Maps a graph and the time left to its table with all io weights; None for
    # `table_in_time`.
    mean = -(-int(instance.graph.work.sum()) // instance.k)
    without_cuts = {"threshold": mean - 1, "flows": []}
    best = Best.before(instance, progress)
    best.bound(Certificate.of(instance, KIND, mean, without_cuts, "fractional-load"))
    steps: list[Tables] = [partial(table_in_time, io_weights=FEW_IO_WEIGHTS)]
    # On larger graphs, flows for the largest weights fill certificates of hundreds of megabytes.
    if instance.nodes <= 2000:
        steps.append(tables or table_in_time)
    for step in steps:
        if budget.is_spent():
            break
        step(instance.graph, budget).report(instance, "fractional-load", best, budget)


@dataclass(frozen=True, eq=False)
class ShareTable:
    """Minimum cuts of one graph, from which the share bounds of all k follow."""

    graph: PipelineGraph
    # The nodes that take a share of a stage, i.e. with work or parameters.
    nodes: IntArray
    io_weights: IntArray
    # C_v(a), one row per node of `nodes` and one column per weight of `io_weights`.
    cuts: IntArray
    # node, node_bound: The node-cut bound and where it is attained.
    node: int
    node_bound: int
    # The minimum cuts of the graph.
    solver: MinimumCuts

    def io(self, threshold: int) -> IntArray:
        """Return io_v(t) for all nodes v, shape (n,); 0 for nodes without work and parameters."""
        io = np.zeros(self.graph.dag.nodes, dtype=np.int64)
        io[self.nodes] = io_bounds(threshold, self.cuts, self.io_weights)
        return frozen(io)

    def bound(self, k: int) -> int:
        """Return the lower bound for k stages."""
        graph = self.graph
        overflow = max(0, int(graph.param_load.sum()) - graph.cache)
        one_stage = int(graph.work.sum()) + overflow
        return 1 + int(
            largest_refuted(
                k,
                self.node_bound - 1,
                one_stage,
                self.cuts,
                self.io_weights,
                frozen(graph.work[self.nodes]),
                frozen(graph.param_load[self.nodes]),
                graph.cache,
            )
        )

    def certificate(self, instance: PipelineInstance, producer: str) -> Certificate:
        """Return the bound for an instance of this graph with its proof."""
        bound = self.bound(instance.k)
        flows = [self.solver.flow(*cut) for cut in self._refuting_cuts(bound - 1, instance.k)]
        return _certificate(instance, bound, flows, producer)

    def report(self, instance: PipelineInstance, producer: str, best: Best, budget: Budget) -> int:
        """Report the bound for an instance if it is better than the best one; return it.

        Its proof takes a minimum cut per node, seconds on a thousand nodes. If the time is up
        before, nothing is reported, unless it takes a few.
        """
        bound = self.bound(instance.k)
        if bound > best.certified:
            flows = self._in_time(self._refuting_cuts(bound - 1, instance.k), budget)
            if flows is not None:
                best.bound(_certificate(instance, bound, flows, producer))
        return bound

    def flows_in_time(self, threshold: int, budget: Budget) -> list[dict[str, Any]] | None:
        """Return flows that prove `io` at a threshold, for the nodes where it is not 0.

        None if the time is up before all are computed.
        """
        io_by_weight = self._io_by_weight(threshold)
        best, io = io_by_weight.argmax(axis=1), io_by_weight.max(axis=1)
        cuts = [(int(self.nodes[i]), int(self.io_weights[best[i]])) for i in np.flatnonzero(io > 0)]
        return self._in_time(cuts, budget)

    def _in_time(self, cuts: list[tuple[int, int]], budget: Budget) -> list[dict[str, Any]] | None:
        """Return flows for cuts; None if the time is up before, unless they are few."""
        flows: list[dict[str, Any]] = []
        for cut in cuts:
            if len(flows) >= NODES_AT_A_TIME and budget.is_spent():
                return None
            flows.append(self.solver.flow(*cut))
        return flows

    def _io_by_weight(self, threshold: int) -> IntArray:
        steps = self.io_weights - 1
        return -(-np.maximum(self.cuts - threshold, 0) // steps)

    def _refuting_cuts(self, threshold: int, k: int) -> list[tuple[int, int]]:
        """Return the nodes and io weights of few cuts that refute a threshold."""
        if threshold < self.node_bound:
            return [(self.node, 1)]
        io_by_weight = self._io_by_weight(threshold)
        best = io_by_weight.argmax(axis=1)
        io = io_by_weight.max(axis=1).tolist()
        work = self.graph.work[self.nodes]
        loaded = work + self.graph.param_load[self.nodes]
        for demand, room in ((work, threshold), (loaded, threshold + self.graph.cache)):
            needed = _needed(demand.tolist(), io, room, k)
            if needed is not None:
                return [(int(self.nodes[i]), int(self.io_weights[best[i]])) for i in needed]
        raise AssertionError("the compiled test refutes a threshold that exact arithmetic does not")


def _certificate(
    instance: PipelineInstance, bound: int, flows: list[dict[str, Any]], producer: str
) -> Certificate:
    payload = {"threshold": bound - 1, "flows": flows}
    return Certificate.of(instance, KIND, bound, payload, producer)


def _needed(demand: list[int], io: list[int], room: int, k: int) -> list[int] | None:
    """Return positions of few nodes whose io bounds refute a threshold, None if all do not."""
    # `demand`: What each node takes of a stage. `io`: What the tensors of a stage with that node
    # take at least. `room`: What a stage holds.
    # Shares are counted in these parts of a stage, rounded down.
    units = 2**60
    for i, (amount, taken) in enumerate(zip(demand, io, strict=True)):
        if amount > room - taken:
            return [i] if amount <= room else []
    with_io = [
        amount * units // (room - taken) if amount else 0
        for amount, taken in zip(demand, io, strict=True)
    ]
    spare = sum(with_io) - k * units - 1
    if spare < 0:
        return None
    gains = [
        share - (amount * units // room if amount else 0)
        for share, amount in zip(with_io, demand, strict=True)
    ]
    needed = []
    for i in sorted(range(len(gains)), key=gains.__getitem__):
        if gains[i] > spare:
            needed.append(i)
        else:
            spare -= gains[i]
    return sorted(needed)


class GrowingTable:
    """The table of one graph while it is computed: it goes on where the time was up before."""

    # `io_weights`: Weights a, ascending from above 1, each a divisor of the last one. `part`: Part
    # of the time that is left for the table, at most: flows for a proof take about as long.

    def __init__(
        self, graph: PipelineGraph, io_weights: Sequence[int] = IO_WEIGHTS, part: float = 0.5
    ) -> None:
        takes_share = graph.work > 0
        if not graph.is_cached:
            takes_share |= graph.param_load > 0
        nodes = frozen(np.flatnonzero(takes_share))
        solver = MinimumCuts(graph)
        node, node_bound = largest_node_cut(graph, solver)
        cuts = np.zeros((len(nodes), len(io_weights)), dtype=np.int64)
        self._table = ShareTable(graph, nodes, frozen(io_weights), cuts, node, node_bound, solver)
        self._done, self._part = 0, part

    def until(self, budget: Budget | None) -> ShareTable:
        """Return the table with cuts of as many nodes as its time allows; None for all.

        The other nodes have cuts of 0, which say nothing. So bounds are valid, but lower.
        """
        table, own = self._table, budget and budget.part(self._part)
        while self._done < len(table.nodes) and not (own and own.is_spent()):
            # Looking at the clock may let another method compute some.
            some = slice(self._done, self._done + NODES_AT_A_TIME)
            table.cuts[some] = table.solver.table(table.nodes[some], table.io_weights)
            self._done = some.stop
        return replace(table, cuts=frozen(table.cuts))


def share_table(graph: PipelineGraph, io_weights: Sequence[int] = IO_WEIGHTS) -> ShareTable:
    """Compute the minimum cuts that all share bounds of a graph need; see `GrowingTable`."""
    return GrowingTable(graph, io_weights).until(None)


def table_in_time(
    graph: PipelineGraph, budget: Budget, io_weights: Sequence[int] = IO_WEIGHTS
) -> ShareTable:
    """Compute as much of a graph's table as there is time for; see `GrowingTable`."""
    return GrowingTable(graph, io_weights).until(budget)


# Maps a graph and the time left to the graph's table; methods that run together share one.
Tables: TypeAlias = Callable[[PipelineGraph, Budget], ShareTable]

_INT = types.int64
_INPUT = types.Array(types.int64, 1, "C", readonly=True)
_TABLE = types.Array(types.int64, 2, "C", readonly=True)
_VECTOR = types.Array(types.int64, 1, "C")


@internal([_INT(_INT, _INT, _TABLE, _INPUT)])
def _node_io(i: int, t: int, cuts: IntArray, io_weights: IntArray) -> int:
    """Return the largest ``ceil((C_v(a) - t) / (a - 1))`` over the weights a, at least 0."""
    io = 0
    for j in range(len(io_weights)):
        excess = cuts[i, j] - t
        if excess > io * (io_weights[j] - 1):
            io = -(-excess // (io_weights[j] - 1))
    return io


@compiled([_VECTOR(_INT, _TABLE, _INPUT)])
def io_bounds(t: int, cuts: IntArray, io_weights: IntArray) -> IntArray:
    """Return io_v(t) for each row of the table."""
    io = np.empty(len(cuts), dtype=np.int64)
    for i in range(len(cuts)):
        io[i] = _node_io(i, t, cuts, io_weights)
    return io


@internal([types.boolean(_INT, _INT, _TABLE, *(_INPUT,) * 3, _INT)])
def _is_refuted(
    t: int,
    k: int,
    cuts: IntArray,
    io_weights: IntArray,
    work: IntArray,
    load: IntArray,
    cache: int,
) -> bool:
    """Whether the table shows that no k stages of cost at most t hold all nodes."""
    # Rounding errors of the sums are smaller than this margin, so none refutes wrongly.
    enough = k * (1.0 + len(cuts) * 2.0**-50)
    shares, loaded_shares = 0.0, 0.0
    for i in range(len(cuts)):
        room = t - _node_io(i, t, cuts, io_weights)
        loaded = work[i] + load[i]
        if work[i] > room or loaded > room + cache:
            return True
        if work[i] > 0:
            shares += work[i] / room
        if loaded > 0:
            loaded_shares += loaded / (room + cache)
        if shares > enough or loaded_shares > enough:
            return True
    return False


@compiled([_INT(*(_INT,) * 3, _TABLE, *(_INPUT,) * 3, _INT)])
def largest_refuted(
    k: int,
    refuted: int,
    unrefuted: int,
    cuts: IntArray,
    io_weights: IntArray,
    work: IntArray,
    load: IntArray,
    cache: int,
) -> int:
    """Return the largest refuted threshold."""
    # `refuted`, `unrefuted`: Thresholds known to be. `cuts`, `io_weights`: C_v(a) by node and
    # weight, and the weights, all above 1. `work`, `load`, `cache`: Work and parameters of the
    # table's nodes, and parameters that fit, in ticks.
    while unrefuted - refuted > 1:
        t = (refuted + unrefuted) // 2
        if _is_refuted(t, k, cuts, io_weights, work, load, cache):
            refuted = t
        else:
            unrefuted = t
    return refuted
