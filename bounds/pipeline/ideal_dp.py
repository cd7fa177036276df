"""`ideal-dp`: the optimum over chains of down-sets (ideals), for graphs that have few of them.

A partition whose quotient graph is acyclic is a chain of at most k ideals. Models are long and
narrow, and many have little more ideals than nodes, where the dynamic program over pairs of ideals
is quick. J. Tarnawski et al., "Efficient Algorithms for Device Placement of DNN Graph Operators",
NeurIPS 2020, proposed such a program, with other costs. Here, one search decides whether a
threshold can be met, and thresholds are bisected.
"""

from collections.abc import Sequence

from boundmark.bounds.checker.pipeline import limits
from boundmark.bounds.pipeline.ideals import BudgetSpentError, IdealSearch, lattice
from boundmark.bounds.pipeline.minimum_cuts import MinimumCuts, largest_node_cut
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

    Parameters
    ----------
    ideals
        Number of ideals up to which to try.
    pairs_at_a_time
        Pairs of ideals searched between two looks at the clock; the default takes half a second.

    Raises
    ------
    UnsupportedError
        If there are more.
    """
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
            partition = Partition(_with_pendants(stages, kept, removed))
            upper = instance.objective(partition)
            progress.solution(partition)
        if upper is None:
            # Often the bound just refuted is the optimum.
            threshold = lower + stride
            stride = max(1, lower // 256, 2 * stride)
        else:
            threshold = (lower + upper) // 2


def _with_pendants(stages: IntArray, kept: list[int], removed: list[tuple[int, int]]) -> IntArray:
    """Return the stages of all nodes, given those of the nodes kept."""
    stage = dict(zip(kept, stages.tolist(), strict=True))
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
    return (
        PipelineGraph(
            Dag.from_edges(len(kept), edges),
            frozen(graph.work[kept]),
            frozen(graph.transfer[kept]),
            frozen(graph.param_load[kept]),
            graph.cache,
            tuple(graph.names[v] for v in kept),
            graph.tick,
        ),
        kept,
    )
