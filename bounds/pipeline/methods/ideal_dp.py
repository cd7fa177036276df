"""`ideal-dp`: the optimum over chains of down-sets (ideals), for graphs that have few of them.

A partition whose quotient graph is acyclic is a chain of at most k ideals. Models are long and
narrow, and many have little more ideals than nodes, where the dynamic program over pairs of ideals
is quick. J. Tarnawski et al., "Efficient Algorithms for Device Placement of DNN Graph Operators",
NeurIPS 2020, proposed such a program, with other costs. Here, one search decides whether a
threshold can be met, and thresholds are bisected.
"""

from boundmark.bounds.checker.pipeline import limits
from boundmark.bounds.pipeline.cuts.minimum_cuts import MinimumCuts, largest_node_cut
from boundmark.bounds.pipeline.ideals.lattice import lattice
from boundmark.bounds.pipeline.ideals.pendants import pendants, with_pendants, without
from boundmark.bounds.pipeline.ideals.search import BudgetSpentError, IdealSearch
from boundmark.problems.certificate import Certificate, Claim
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import Budget, Progress
from boundmark.problems.pipeline import Partition, PipelineInstance

KIND = "ideal-dp/1"


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
    graph = instance.graph
    removed = pendants(graph)
    core, kept = without(graph, [v for v, _ in removed])
    most = min(ideals, limits.MOST_IDEAL_BITS // graph.dag.nodes)
    found = lattice(core, most)
    if found is None:
        raise UnsupportedError(f"the graph has more than {most:,} down-sets")
    search = IdealSearch(core, found, instance.k)
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
            partition = Partition(with_pendants(stages.tolist(), kept, removed))
            upper = instance.objective(partition)
            progress.solution(partition)
        if upper is None:
            # Often the bound just refuted is the optimum.
            threshold = lower + stride
            stride = max(1, lower // 256, 2 * stride)
        else:
            threshold = (lower + upper) // 2
