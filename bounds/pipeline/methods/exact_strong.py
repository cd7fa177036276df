"""`exact-strong`: the exact program with stronger cuts, narrower stages and known bounds."""

from boundmark.bounds.best import Best
from boundmark.bounds.mip.claims import claim
from boundmark.bounds.mip.solvers import SOLVERS
from boundmark.bounds.pipeline.mip.exact_models import exact_columns, strong_model
from boundmark.bounds.pipeline.mip.exact_search import search_exactly
from boundmark.bounds.pipeline.mip.quick_slicing import quick_partition
from boundmark.bounds.pipeline.shares.table import FEW_IO_WEIGHTS, share_table
from boundmark.bounds.pipeline.shares.windows import threshold_windows
from boundmark.problems.lookup import find
from boundmark.problems.method import Budget, Progress
from boundmark.problems.pipeline import PipelineInstance

# Of the time, for the partition to start from.
START_FRACTION = 0.1


def run(
    instance: PipelineInstance, budget: Budget, seed: int, progress: Progress, *, solver: str
) -> None:
    """Report a quick partition and the share bound, then search for anything cheaper.

    The program is about partitions that cost less than the quick one. Its bound, or that cost if
    there are none, bounds the optimum.
    """
    solve = find("solver", solver, SOLVERS)
    graph, k = instance.graph, instance.k
    best = Best(instance, progress)
    table = share_table(graph, FEW_IO_WEIGHTS)
    floor = table.bound(k)
    claim("exact-strong", floor, best)
    start = quick_partition(instance, seed, budget.part(START_FRACTION), floor)
    best.solution(start)
    cost = instance.objective(start)
    if cost <= floor:
        return
    windows = threshold_windows(graph, k, cost - 1, table.io(cost - 1))
    if not windows.are_possible:
        claim("exact-strong", cost, best)
        return
    columns = exact_columns(graph, k)
    model = strong_model(columns, windows, floor, cost - 1)
    search_exactly(solve, model, columns, best, "exact-strong", budget, seed)
