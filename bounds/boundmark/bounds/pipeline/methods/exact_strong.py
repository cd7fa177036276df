"""`exact-strong`: the exact program with stronger cuts, narrower stages and known bounds."""

from boundmark.bounds.pipeline.mip.claims import Claims
from boundmark.bounds.pipeline.mip.exact_models import exact_columns, strong_model
from boundmark.bounds.pipeline.mip.incumbents import Incumbents
from boundmark.bounds.pipeline.mip.quick_slicing import quick_partition
from boundmark.bounds.pipeline.mip.solvers import SOLVERS
from boundmark.bounds.pipeline.mip.solvers.search import Search
from boundmark.bounds.pipeline.mip.stage_windows import stage_windows
from boundmark.bounds.pipeline.shares.table import FEW_IO_WEIGHTS, share_table
from boundmark.problems.catalog import find
from boundmark.problems.method import Budget, Method, Progress
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
    incumbents = Incumbents(instance, progress)
    claims = Claims(METHOD.name, progress)
    table = share_table(graph, FEW_IO_WEIGHTS)
    floor = table.bound(k)
    claims.report(floor)
    start = quick_partition(instance, seed, budget.part(START_FRACTION), floor)
    incumbents.report(start)
    cost = instance.objective(start)
    if cost <= floor:
        return
    windows = stage_windows(graph, k, cost - 1, table.io(cost - 1))
    if windows.refute():
        claims.report(cost)
        return
    columns = exact_columns(graph, k)
    outcome = solve(
        strong_model(columns, windows, floor, cost - 1),
        Search(
            budget,
            seed,
            on_incumbent=lambda values: incumbents.report_values(columns, values),
            on_bound=lambda ticks: claims.report(min(ticks, incumbents.cost)),
        ),
    )
    claims.report(min(outcome.bound, incumbents.cost))


METHOD = Method(
    name="exact-strong",
    problem="pipeline",
    kind="exact",
    summary="The exact program with stronger cut constraints, stage windows, cutoff and floor.",
    run=run,
    params={"solver": "highs"},
    seeded=True,
)
