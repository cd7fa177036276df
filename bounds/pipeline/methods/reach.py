"""`reach`: how far the first s stages can get, for s = 1 to k, step by step.

See `reach` for the argument, and `reach.closing_in` for which thresholds are tried. Real models are
long: a step's linear program is nearly integral there, and few nodes are open in it.
"""

from boundmark.bounds.best import Best
from boundmark.bounds.pipeline.methods import mean_work, node_cut
from boundmark.bounds.pipeline.mip.quick_slicing import quick_partition
from boundmark.bounds.pipeline.reach.attempt import Setting
from boundmark.bounds.pipeline.reach.closing_in import ClosingIn
from boundmark.problems.method import Budget, Progress
from boundmark.problems.pipeline import PipelineInstance

# Of the time, at most, for a partition to start from.
START_FRACTION = 0.02


def run(instance: PipelineInstance, budget: Budget, seed: int, progress: Progress) -> None:
    """Report ever better partitions and certificates.

    Raises
    ------
    UnsupportedError
        If the instance is too large for the checker.
    """
    setting = Setting.of(instance, budget)
    best = Best.before(instance, progress)
    mean_work.run(instance, budget, seed, best)
    node_cut.run(instance, budget, seed, best)
    floor = int(best.certified)
    best.solution(quick_partition(instance, seed, budget.part(START_FRACTION), floor))
    ClosingIn(setting, best, "reach").run()
