"""`mip-tree`: branch and bound on the exact formulation, strengthened, with a certificate.

The relaxation is the paper's exact MIP ([MTPP24], Figure 3) with stronger cut rows, and with
rows and windows that hold below a threshold only (see `shares`). See `tree` for how it is searched.
"""

from boundmark.bounds.pipeline.shares.table import ShareTable
from boundmark.bounds.pipeline.tree.formulation import Formulation, exact
from boundmark.bounds.pipeline.tree.rising import report_rising_bounds
from boundmark.problems.method import Budget, Progress
from boundmark.problems.pipeline import PipelineInstance


def run(instance: PipelineInstance, budget: Budget, seed: int, progress: Progress) -> None:
    """Report the share bound, then better ones until the time is up or the bound stays."""

    def formulate(table: ShareTable, bound: int) -> tuple[Formulation]:
        return (exact(instance.k),)

    report_rising_bounds(instance, formulate, budget, progress, "mip-tree")
