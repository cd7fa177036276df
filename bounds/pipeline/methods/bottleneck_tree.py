"""`bottleneck-tree`: a certified tree on one stage and what is around it ([MTPP24], 3.2).

The paper's program asks that the stage has the mean work. Here it has the mean of the nodes' shares
at the share bound (see `shares`): a node among expensive tensors counts for more than its work.
So the tree starts where `share` ends. If it comes to an end, one that asks for the mean work
follows, whose optimum is at least that of the paper's program.
"""

from collections.abc import Iterator

from boundmark.bounds.pipeline.shares.table import ShareTable
from boundmark.bounds.pipeline.tree.formulation import Formulation, bottleneck
from boundmark.bounds.pipeline.tree.rising import report_rising_bounds
from boundmark.bounds.pipeline.tree.superblocks import Demand
from boundmark.problems.method import Budget, Progress
from boundmark.problems.pipeline import PipelineInstance


def run(instance: PipelineInstance, budget: Budget, seed: int, progress: Progress) -> None:
    """Report the share bound, then better ones until the time is up or the bound stays."""

    def formulate(table: ShareTable, bound: int) -> Iterator[Formulation]:
        yield bottleneck(instance.k, Demand.of_shares(table, bound, instance.k))
        yield bottleneck(instance.k, Demand.of_work(instance.graph, instance.k))

    report_rising_bounds(instance, formulate, budget, progress, "bottleneck-tree")
