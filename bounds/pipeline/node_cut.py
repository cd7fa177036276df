"""`node-cut`: the stage that contains a node costs at least the cheapest set that contains it.

For every node v and every k,

    OPT >= min over S containing v of (work(S) + io(S)) + max(0, param_load[v] - cache),

where io(S) is what the tensors that enter and leave S cost. S need not be a stage of an acyclic
partition, and its overflow is counted as far as v alone causes it; the rest is a minimum cut.
"""

from typing import Any

from boundmark.bounds.pipeline.minimum_cuts import MinimumCuts, largest_node_cut
from boundmark.problems.certificate import Certificate
from boundmark.problems.method import Budget, Progress
from boundmark.problems.pipeline import PipelineInstance

KIND = "node-cut/1"


def run(
    instance: PipelineInstance, budget: Budget, seed: int, progress: Progress, **params: Any
) -> None:
    """Report the bound of the best node."""
    cuts = MinimumCuts(instance.graph)
    node, bound = largest_node_cut(instance.graph, cuts)
    payload = cuts.flow(node, io_weight=1)
    progress.bound(Certificate.of(instance, KIND, bound, payload, "node-cut"))
