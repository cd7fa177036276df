"""`bottleneck-guess-tree`: certified trees, one for each position of a stage ([MTPP24], 3.3).

As in `bottleneck_tree`, the stage has the mean of the nodes' shares, or of their work. Its position
is known here, so that the superblocks before and after it cost something, and nodes have windows.
"""

from collections.abc import Iterator

from boundmark.bounds.pipeline.shares.table import ShareTable
from boundmark.bounds.pipeline.tree.formulation import Formulation, bottleneck_guess
from boundmark.bounds.pipeline.tree.rising import report_rising_bounds
from boundmark.bounds.pipeline.tree.superblocks import Demand
from boundmark.problems.method import Budget, Progress
from boundmark.problems.pipeline import PipelineInstance


def run(instance: PipelineInstance, budget: Budget, seed: int, progress: Progress) -> None:
    """Report the share bound, then better ones until the time is up or the bound stays."""

    def formulate(table: ShareTable, bound: int) -> Iterator[Formulation]:
        yield bottleneck_guess(instance.k, Demand.of_shares(table, bound, instance.k))
        yield bottleneck_guess(instance.k, Demand.of_work(instance.graph, instance.k))

    report_rising_bounds(instance, formulate, budget, progress, "bottleneck-guess-tree")
