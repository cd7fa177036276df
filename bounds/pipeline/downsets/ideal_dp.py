"""`ideal-dp`: dynamic programming over down-sets (ideals), for graphs that have few of them.

A partition whose quotient graph is acyclic is a chain of at most k ideals. Models are long and
narrow, and many have little more ideals than nodes, where the dynamic program over pairs of ideals
is quick. [TARNAWSKI20] proposed such a program, with other costs. Here, one search decides whether
a threshold can be met, and thresholds are bisected. Few hundred ideals are searched in plain
Python, which takes less time than importing the compiled search in `ideals`.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence

import numpy as np

from boundmark.bounds.checker.pipeline import limits
from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.certificate import Certificate, Claim
from boundmark.problems.dag import Dag
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import Budget, Progress
from boundmark.problems.pipeline import Partition, PipelineInstance
from boundmark.problems.pipeline.graph import PipelineGraph

KIND = "ideal-dp/1"


def run(
    instance: PipelineInstance,
    budget: Budget,
    seed: int,
    progress: Progress,
    *,
    ideals: int,
    pairs_at_a_time: int = 10_000_000,
) -> None:
    """Report ever better partitions and bounds up to the optimum.

    Raises `UnsupportedError` if there are more.
    """
    # `ideals`: Number of ideals up to which to try. `pairs_at_a_time`: Pairs of ideals searched
    # between two looks at the clock; the default takes half a second.
    # Up to so many, plain Python is quicker than importing what is compiled.
    if ideals <= 1000:
        _solve_plainly(instance, budget, progress, ideals)
    else:
        _solve_compiled(instance, budget, progress, ideals, pairs_at_a_time)


def _solve_compiled(
    instance: PipelineInstance,
    budget: Budget,
    progress: Progress,
    ideals: int,
    pairs_at_a_time: int,
) -> None:
    """Report ever better partitions and bounds by bisection."""
    # Takes a second to import.
    from boundmark.bounds.pipeline.downsets.ideals import BudgetSpentError, IdealSearch, lattice
    from boundmark.bounds.pipeline.flows.minimum_cuts import MinimumCuts, largest_node_cut

    graph = instance.graph
    removed = pendants(graph)
    core, kept = without(graph, [v for v, _ in removed])
    most = min(ideals, limits.MOST_IDEAL_BITS // graph.dag.nodes)
    found = lattice(core, most)
    if found is None:
        raise UnsupportedError(f"the graph has more than {most:,} down-sets")
    search = IdealSearch(core, found, instance.k, pairs_at_a_time)
    ignored = sorted(v for v, _ in removed)
    steps = limits.most_ideal_steps(graph.dag.nodes)
    pairs = limits.most_ideal_pairs(graph.dag.nodes)

    def report(bound: int) -> None:
        if len(found.step_node) <= steps and search.pairs <= pairs:
            payload = {"threshold": bound - 1, "ignored": ignored}
            progress.bound(Certificate.of(instance, KIND, bound, payload, "ideal-dp"))
        else:
            progress.bound(Claim(KIND, bound))

    # The bound's own threshold is searched too, because the certificate needs the pairs counted.
    mean = -(-int(graph.work.sum()) // instance.k)
    threshold = max(mean, largest_node_cut(core, MinimumCuts(core))[1]) - 1
    lower, upper, stride = threshold, None, 0
    while upper is None or lower < upper:
        try:
            stages = search.stages(threshold, budget)
        except BudgetSpentError:
            return
        if stages is None:
            lower = search.next_threshold
            report(lower)
        else:
            partition = Partition(_with_pendants(stages.tolist(), kept, removed))
            upper = instance.objective(partition)
            progress.solution(partition)
        if upper is None:
            # Often the bound just refuted is the optimum.
            threshold = lower + stride
            stride = max(1, lower // 256, 2 * stride)
        else:
            threshold = (lower + upper) // 2


def _solve_plainly(
    instance: PipelineInstance, budget: Budget, progress: Progress, ideals: int
) -> None:
    """Report an optimal partition and its certificate, both at once."""
    too_many = UnsupportedError(f"the graph has more than {ideals:,} down-sets")
    # A node that costs nothing beside its only neighbour needs no down-set; few graphs have more.
    if instance.nodes > 4 * ideals:
        raise too_many
    removed = pendants(instance.graph)
    core, kept = without(instance.graph, [v for v, _ in removed])
    if len(kept) >= ideals:
        raise too_many
    search = PlainIdealSearch(core, _cost_of_even_work(core, instance.k), ideals)
    if not search.list_stages(budget):
        if search.has_too_many:
            raise too_many
        return
    found = search.best(instance.k)
    if found is None:
        return
    cost, stages = found
    progress.solution(Partition(_with_pendants(stages, kept, removed)))
    payload = {"threshold": cost - 1, "ignored": sorted(v for v, _ in removed)}
    progress.bound(Certificate.of(instance, KIND, cost, payload, "ideal-dp"))


def _cost_of_even_work(graph: PipelineGraph, k: int) -> int:
    """Return the cost of a partition that cuts the topological order into stages of like work."""
    order = graph.dag.topological_order
    total = np.cumsum(graph.work[order])
    ends = np.searchsorted(total, total[-1] * np.arange(1, k) / k, side="right")
    ends = np.append(np.minimum(ends + 1, graph.dag.nodes), graph.dag.nodes)
    return PipelineInstance(graph, k).objective(Partition.from_segments(order, ends))


def _with_pendants(
    stages: Sequence[int], kept: Sequence[int], removed: Sequence[tuple[int, int]]
) -> IntArray:
    """Return the stages of all nodes, given those of the nodes that `without` keeps."""
    stage = dict(zip(kept, stages, strict=True))
    for v, neighbour in reversed(removed):
        stage[v] = stage[neighbour]
    return frozen([stage[v] for v in range(len(stage))])


def pendants(graph: PipelineGraph) -> list[tuple[int, int]]:
    """Return nodes that share their only neighbour's stage for free, with that neighbour.

    Without work and parameters, such a node adds nothing to its neighbour's stage, and removes a
    tensor from two stages if it was elsewhere; and no cycle can pass through it. So there is an
    optimal partition in which it shares its neighbour's stage, wherever that is. This leaves
    another graph, in which other nodes may have one neighbour.
    """
    dag = graph.dag
    neighbours = [
        {*dag.producers_of(v).tolist(), *dag.consumers_of(v).tolist()} for v in range(dag.nodes)
    ]
    free = (graph.work == 0) & (graph.is_cached | (graph.param_load == 0))
    waiting = [v for v in range(dag.nodes) if free[v] and len(neighbours[v]) == 1]
    removed = []
    while waiting:
        v = waiting.pop()
        if not neighbours[v]:
            # Its only neighbour was removed before it.
            continue
        u = neighbours[v].pop()
        neighbours[u].discard(v)
        removed.append((v, u))
        if free[u] and len(neighbours[u]) == 1:
            waiting.append(u)
    return removed


def without(graph: PipelineGraph, nodes: Sequence[int]) -> tuple[PipelineGraph, list[int]]:
    """Remove nodes and their edges; return the graph and the nodes kept."""
    kept = sorted(set(range(graph.dag.nodes)) - set(nodes))
    number = {v: i for i, v in enumerate(kept)}
    edges = [
        (number[u], number[w])
        for u, w in graph.dag.edge_pairs().tolist()
        if u in number and w in number
    ]
    core = PipelineGraph(
        Dag.from_edges(len(kept), edges),
        frozen(graph.work[kept]),
        frozen(graph.transfer[kept]),
        frozen(graph.param_load[kept]),
        graph.cache,
        tuple(graph.names[v] for v in kept),
        graph.tick,
    )
    return core, kept


class PlainIdealSearch:
    """Search for the optimum over chains of down-sets in plain Python, for any k.

    A stage is what one down-set has beyond another. All stages that cost no more than `most_cost`
    are listed once; whether k of them suffice under a threshold is a breadth-first search, and the
    least threshold is found by bisection over their costs. [TARNAWSKI20] describes the dynamic
    program; the compiled search of `ideal-dp` is the one for large graphs.
    """

    # `most_cost`: Cost of a known partition, in ticks: no stage that costs more is of interest.
    # `most_ideals`: Number of down-sets up to which to try.

    def __init__(self, graph: PipelineGraph, most_cost: int, most_ideals: int) -> None:
        dag = graph.dag
        self._graph, self._most_cost, self._most_ideals = graph, most_cost, most_ideals
        self._work, self._load = graph.work.tolist(), graph.param_load.tolist()
        self._producers = [dag.producers_of(v).tolist() for v in range(dag.nodes)]
        self._consumers = [dag.consumers_of(v).tolist() for v in range(dag.nodes)]
        # As bits.
        self._needs = [sum(1 << u for u in nodes) for nodes in self._producers]
        self._feeds = [sum(1 << w for w in nodes) for nodes in self._consumers]
        self._transfer = [
            ticks if self._feeds[v] else 0 for v, ticks in enumerate(graph.transfer.tolist())
        ]
        self._all = (1 << dag.nodes) - 1
        # By down-set: the nodes that may come next.
        self._ready = {0: [v for v in range(dag.nodes) if not self._needs[v]]}
        # By down-set: cost and end of each stage that may begin there.
        self._stages: dict[int, list[tuple[int, int]]] = {}

    @property
    def has_too_many(self) -> bool:
        """Whether more down-sets were found than it should try."""
        return len(self._ready) > self._most_ideals

    def list_stages(self, budget: Budget) -> bool:
        """List the stages; return whether there were few enough down-sets, and time enough."""
        waiting, seen, listed = [0], {0}, 0
        while waiting:
            first = waiting.pop()
            stages = self._stages[first] = []
            for cost, end in self._stages_from(first):
                stages.append((cost, end))
                if end not in seen:
                    seen.add(end)
                    waiting.append(end)
            if self.has_too_many:
                return False
            listed += len(stages)
            # Stages between two looks at the clock.
            if listed > 2000:
                listed = 0
                if budget.is_spent():
                    return False
        return True

    def best(self, k: int) -> tuple[int, list[int]] | None:
        """Return the optimum and each node's stage, None if none is within the known cost."""
        costs = sorted({cost for stages in self._stages.values() for cost, _ in stages})
        found = bisect_left(costs, True, key=lambda cost: self._before(k, cost) is not None)
        if found == len(costs):
            return None
        before = self._before(k, costs[found])
        assert before is not None
        return costs[found], self._stages_of(before)

    def _stages_from(self, first: int) -> Iterator[tuple[int, int]]:
        """Yield cost and end of each stage within the known cost that begins at a down-set."""
        seen = {first}
        stack = [(first, 0, 0, 0, 0, first)]
        while stack:
            ideal, work, load, entering, leaving, unread = stack.pop()
            if self.has_too_many:
                return
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
                now_unread = unread & ~self._needs[v]
                stack.append((after, now_work, now_load, now_entering, now_leaving, now_unread))
                cost = now_work + now_entering + overflow + now_leaving
                if cost <= self._most_cost:
                    yield cost, after

    def _before(self, k: int, threshold: int) -> dict[int, int] | None:
        """Return each reached down-set's predecessor, None if k stages do not reach the end.

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

    def _stages_of(self, before: dict[int, int]) -> list[int]:
        chain = [self._all]
        while chain[-1]:
            chain.append(before[chain[-1]])
        stage = [0] * self._graph.dag.nodes
        for number, (end, first) in enumerate(zip(chain[-2::-1], chain[:0:-1], strict=True)):
            for v in range(len(stage)):
                if (end & ~first) >> v & 1:
                    stage[v] = number
        return stage
