"""Solves graphs with a few hundred down-sets in plain Python, before anything is compiled."""

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from boundmark.bounds.pipeline.ideals.pendants import pendants, with_pendants, without
from boundmark.problems.certificate import Certificate
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import Budget, Progress
from boundmark.problems.pipeline import Partition, PipelineInstance
from boundmark.problems.pipeline.graph import PipelineGraph

KIND = "ideal-dp/1"

# Pairs of down-sets between two looks at the clock.
PAIRS_AT_A_TIME = 2000


# Up to so many, plain Python is quicker than importing what is compiled.
FEW_IDEALS = 1000


def run(
    instance: PipelineInstance, budget: Budget, seed: int, progress: Progress, *, ideals: int
) -> None:
    """Report ever better partitions and bounds up to the optimum.

    Parameters
    ----------
    ideals
        Number of ideals up to which to try.

    Raises
    ------
    UnsupportedError
        If there are more.
    """
    if ideals <= FEW_IDEALS:
        solve_plainly(instance, budget, progress, ideals=ideals)
        return
    # Takes a second to import.
    from boundmark.bounds.pipeline.methods import ideal_dp

    ideal_dp.run(instance, budget, seed, progress, ideals=ideals)


def solve_plainly(
    instance: PipelineInstance, budget: Budget, progress: Progress, *, ideals: int
) -> None:
    """Report an optimal partition and its certificate.

    Parameters
    ----------
    ideals
        Number of down-sets up to which to try.

    Raises
    ------
    UnsupportedError
        If there are more.
    """
    too_many = UnsupportedError(f"the graph has more than {ideals:,} down-sets")
    # A node that costs nothing beside its only neighbour needs no down-set; few graphs have more.
    if instance.nodes > 4 * ideals:
        raise too_many
    removed = pendants(instance.graph)
    core, kept = without(instance.graph, [v for v, _ in removed])
    if len(kept) >= ideals:
        raise too_many
    search = PlainIdealSearch(core, _cost_of_even_work(core, instance.k))
    if not search.list_stages(ideals, budget):
        if budget.is_spent():
            return
        raise too_many
    chain = search.best(instance.k)
    if chain is None:
        return
    progress.solution(Partition(with_pendants(chain.stages, kept, removed)))
    payload = {"threshold": chain.cost - 1, "ignored": sorted(v for v, _ in removed)}
    progress.bound(Certificate.of(instance, KIND, chain.cost, payload, "ideal-dp"))


def _cost_of_even_work(graph: PipelineGraph, k: int) -> int:
    """Return the cost of a partition that cuts the topological order into stages of like work."""
    order = graph.dag.topological_order
    total = np.cumsum(graph.work[order])
    ends = np.searchsorted(total, total[-1] * np.arange(1, k) / k, side="right")
    ends = np.append(np.minimum(ends + 1, graph.dag.nodes), graph.dag.nodes)
    return PipelineInstance(graph, k).objective(Partition.from_slices(order, ends))


@dataclass(frozen=True)
class Chain:
    """An optimal chain of down-sets.

    Attributes
    ----------
    cost
        Ticks of the bottleneck stage.
    stages
        Number of the stage of each node, from 0 up, at most k of them.
    """

    cost: int
    stages: tuple[int, ...]


class PlainIdealSearch:
    """Finds the least cost of a bottleneck stage over chains of down-sets, for any k.

    A stage is what one down-set has beyond another. All stages that cost no more than `most_cost`
    are listed once; whether k of them suffice under a threshold is a breadth-first search, and the
    least threshold is found by bisection over their costs. [TARNAWSKI20] describes the dynamic
    program; the compiled search of `ideal-dp` is the one for large graphs.

    Parameters
    ----------
    most_cost
        Cost of a known partition, in ticks: no stage that costs more is of interest.
    """

    def __init__(self, graph: PipelineGraph, most_cost: int) -> None:
        dag = graph.dag
        self._graph = graph
        self._most_cost = most_cost
        self._work, self._load = graph.work.tolist(), graph.param_load.tolist()
        self._producers = [dag.producers_of(v).tolist() for v in range(dag.nodes)]
        self._consumers = [dag.consumers_of(v).tolist() for v in range(dag.nodes)]
        self._needs = [_set(nodes) for nodes in self._producers]
        self._feeds = [_set(nodes) for nodes in self._consumers]
        self._transfer = [
            ticks if self._feeds[v] else 0 for v, ticks in enumerate(graph.transfer.tolist())
        ]
        self._all = (1 << dag.nodes) - 1
        # By down-set: the nodes that may come next.
        self._ready = {0: [v for v in range(dag.nodes) if not self._needs[v]]}
        # By down-set: cost and end of each stage that may begin there.
        self._stages: dict[int, list[tuple[int, int]]] = {}

    def list_stages(self, most_ideals: int, budget: Budget) -> bool:
        """List the stages; return whether there are few enough, and time enough, to do so.

        Parameters
        ----------
        most_ideals
            Number of down-sets up to which to try.
        """
        waiting, seen, pairs = [0], {0}, 0
        while waiting:
            first = waiting.pop()
            stages = []
            for cost, end in self._stages_from(first):
                stages.append((cost, end))
                if end not in seen:
                    seen.add(end)
                    waiting.append(end)
            self._stages[first] = stages
            if len(self._ready) > most_ideals:
                return False
            pairs += len(stages)
            if pairs > PAIRS_AT_A_TIME:
                pairs = 0
                if budget.is_spent():
                    return False
        return True

    def best(self, k: int) -> Chain | None:
        """Return an optimal chain of at most k stages, None if none is within the known cost."""
        costs = sorted({cost for stages in self._stages.values() for cost, _ in stages})
        found = bisect_left(costs, True, key=lambda cost: self._before(k, cost) is not None)
        if found == len(costs):
            return None
        before = self._before(k, costs[found])
        assert before is not None
        return Chain(costs[found], self._stages_of(before))

    def _stages_from(self, first: int) -> Iterator[tuple[int, int]]:
        """Yield cost and end of each stage within the known cost that begins at a down-set."""
        seen = {first}
        stack = [(first, 0, 0, 0, 0, first)]
        while stack:
            ideal, work, load, entering, leaving, unread = stack.pop()
            for v in self._ready[ideal]:
                after = ideal | 1 << v
                if after in seen:
                    continue
                seen.add(after)
                if after not in self._ready:
                    opened = [w for w in self._consumers[v] if not self._needs[w] & ~after]
                    self._ready[after] = [w for w in self._ready[ideal] if w != v] + opened
                now_work, now_load = work + self._work[v], load + self._load[v]
                read = [u for u in self._producers[v] if unread >> u & 1]
                now_entering = entering + sum(self._transfer[u] for u in read)
                # None of these becomes less as nodes are added.
                overflow = max(0, now_load - self._graph.cache)
                if now_work + now_entering + overflow > self._most_cost:
                    continue
                read_last = [
                    u
                    for u in self._producers[v]
                    if not first >> u & 1 and not self._feeds[u] & ~after
                ]
                now_leaving = (
                    leaving + self._transfer[v] - sum(self._transfer[u] for u in read_last)
                )
                now_unread = unread & ~_set(read)
                stack.append((after, now_work, now_load, now_entering, now_leaving, now_unread))
                cost = now_work + now_entering + overflow + now_leaving
                if cost <= self._most_cost:
                    yield cost, after

    def _before(self, k: int, threshold: int) -> dict[int, int] | None:
        """Return the down-set before each that k stages reach, None if they do not reach the end.

        Breadth first, so that each is reached with the fewest stages.
        """
        before, level = {0: 0}, [0]
        for _ in range(k):
            ends = []
            for first in level:
                for cost, end in self._stages[first]:
                    if cost <= threshold and end not in before:
                        before[end] = first
                        ends.append(end)
            if self._all in before:
                return before
            level = ends
        return None

    def _stages_of(self, before: dict[int, int]) -> tuple[int, ...]:
        chain = [self._all]
        while chain[-1]:
            chain.append(before[chain[-1]])
        stage = [0] * self._graph.dag.nodes
        for number, (end, first) in enumerate(zip(chain[-2::-1], chain[:0:-1], strict=True)):
            for v in range(len(stage)):
                if (end & ~first) >> v & 1:
                    stage[v] = number
        return tuple(stage)


def _set(nodes: list[int]) -> int:
    """Return nodes as bits."""
    return sum(1 << v for v in nodes)
