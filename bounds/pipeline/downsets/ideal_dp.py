"""`ideal-dp`: dynamic programming over down-sets (ideals), for graphs that have few of them.

A partition whose quotient graph is acyclic is a chain of at most k ideals. Models are long and
narrow, and many have little more ideals than nodes, where the dynamic program over pairs of ideals
is quick. [TARNAWSKI20] proposed such a program, with other costs. Here, one search decides whether
a threshold can be met, and thresholds are bisected. Few thousand ideals are searched in plain
Python, which takes less time than importing the compiled search in `ideals`.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from boundmark.bounds import checker
from boundmark.bounds.checker.pipeline import limits
from boundmark.bounds.checker.pipeline.ideals import Ideals
from boundmark.bounds.checker.pipeline.instance import Instance
from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.certificate import Certificate, Claim
from boundmark.problems.dag import Dag
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import Budget, Progress
from boundmark.problems.pipeline import Partition, PipelineInstance
from boundmark.problems.pipeline.graph import PipelineGraph

KIND = "ideal-dp/1"

# What plain Python tries at most, about half a second's worth.
MOST_PLAIN_IDEALS = 4000
MOST_PLAIN_PAIRS = 100_000


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
    if ideals <= MOST_PLAIN_IDEALS:
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
            stride = max(1, lower // 128)
        else:
            threshold = (lower + upper) // 2


def _solve_plainly(
    instance: PipelineInstance, budget: Budget, progress: Progress, ideals: int
) -> None:
    """Report an optimal partition and its certificate, both at once."""
    # A node that costs nothing beside its only neighbour needs no down-set; few graphs have more.
    if instance.nodes > 4 * ideals:
        raise UnsupportedError(f"the graph has more than {ideals:,} down-sets")
    removed = pendants(instance.graph)
    core, kept = without(instance.graph, [v for v, _ in removed])
    try:
        search = PlainIdealSearch(PipelineInstance(core, instance.k), ideals)
        stages = search.best(budget)
    except checker.TooLarge as error:
        raise UnsupportedError(str(error)) from None
    if stages is None:
        return
    partition = Partition(_with_pendants(stages, kept, removed))
    cost = instance.objective(partition)
    progress.solution(partition)
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
    """Search for the optimum in plain Python, over the down-sets as the checker lists them.

    It is the compiled search of `ideal-dp`, but keeps the stages that may begin at a down-set from
    one threshold to the next.
    """

    def __init__(self, instance: PipelineInstance, most_ideals: int) -> None:
        self._k, self._nodes = min(instance.k, instance.nodes), instance.nodes
        graph = instance.graph
        costs = (graph.work.tolist(), graph.transfer.tolist(), graph.param_load.tolist())
        edges = [(u, w) for u, w in graph.dag.edge_pairs().tolist()]
        self._ideals = Ideals(Instance(self._k, *costs, graph.cache, edges), set(), most_ideals)
        # No stage that costs more than those of a known partition is of interest.
        self._most_cost = _cost_of_even_work(instance.graph, instance.k)
        # By down-set: cost and end of each stage that may begin there, the cheapest first.
        self._stages: dict[int, list[tuple[int, int]]] = {}
        # Pairs of down-sets after which to look at the clock.
        self._next_look = 2000

    def best(self, budget: Budget) -> list[int] | None:
        """Return the stage of each node in an optimal partition, None if the time is up before."""
        # The least and the largest cost that the optimum may have; and the next to try.
        lower, upper, threshold = 0, self._most_cost, 0
        best = None
        while best is None or lower < upper:
            found = self._within(threshold, budget)
            if found is None:
                return None
            cost, chain = found
            if chain is None:
                lower = cost
            else:
                upper, best = cost, chain
            # Far above the optimum, many more stages would have to be listed.
            above = min(lower + max(1, lower // 128), upper)
            threshold = above if best is None else (lower + upper) // 2
        return self._stages_of(best)

    def _within(self, threshold: int, budget: Budget) -> tuple[int, list[int] | None] | None:
        """Return the cost of k stages within a threshold, and the down-sets between them.

        If there are none, return the least threshold that this does not refute as well; and nothing
        at all if the time is up. Breadth first, so that each is reached with the fewest stages.
        """
        before = {0: (0, 0)}
        level, refuted = [0], self._most_cost
        for left in range(self._k, 0, -1):
            ends = []
            for first in level:
                least = -(-self._ideals.least_cost(first, left) // left)
                if least > threshold:
                    refuted = min(refuted, least)
                    continue
                if left == 1:
                    return self._chain(before, first, least)
                if first not in self._stages:
                    if self._ideals.pairs > self._next_look:
                        if budget.is_spent():
                            return None
                        self._next_look = self._ideals.pairs + 2000
                    if self._ideals.pairs > MOST_PLAIN_PAIRS:
                        raise UnsupportedError(
                            f"the graph has more than {MOST_PLAIN_PAIRS:,} pairs of down-sets"
                        )
                    self._stages[first] = sorted(
                        self._ideals.after_one_stage(first, self._most_cost)
                    )
                for cost, end in self._stages[first]:
                    if end in before:
                        continue
                    if cost > threshold:
                        refuted = min(refuted, cost)
                        break
                    before[end] = cost, first
                    ends.append(end)
            whole = self._ideals.all
            if whole in before:
                return self._chain(before, whole, 0)
            level = ends
        return refuted, None

    def _chain(
        self, before: Mapping[int, tuple[int, int]], last: int, cost: int
    ) -> tuple[int, list[int]]:
        """Return the largest cost of a stage, if the last costs so much, and what it has before."""
        chain = []
        while last:
            chain.append(last)
            stage_cost, last = before[last]
            cost = max(cost, stage_cost)
        return cost, chain

    def _stages_of(self, chain: Sequence[int]) -> list[int]:
        stage = [len(chain)] * self._nodes
        for ideal in chain:
            for v in self._ideals.nodes(ideal):
                stage[v] -= 1
        return stage
