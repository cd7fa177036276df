"""`exact`: the exact program as printed (papers/mtpp, Figure 3)."""

from boundmark.bounds.pipeline.mip.claims import Claims
from boundmark.bounds.pipeline.mip.exact_models import exact_columns, exact_model
from boundmark.bounds.pipeline.mip.incumbents import Incumbents
from boundmark.bounds.pipeline.mip.quick_slicing import sliced
from boundmark.bounds.pipeline.mip.solvers import SOLVERS
from boundmark.bounds.pipeline.mip.solvers.search import Search
from boundmark.problems.catalog import find
from boundmark.problems.method import Budget, Method, Progress
from boundmark.problems.pipeline import PipelineInstance


def run(
    instance: PipelineInstance, budget: Budget, seed: int, progress: Progress, *, solver: str
) -> None:
    """Report what the solver finds, beginning with a slicing of the graph's own order."""
    solve = find("solver", solver, SOLVERS)
    incumbents = Incumbents(instance, progress)
    claims = Claims(METHOD.name, progress)
    start = sliced(instance, instance.graph.dag.topological_order)
    incumbents.report(start)
    columns = exact_columns(instance.graph, instance.k)
    outcome = solve(
        exact_model(columns),
        Search(
            budget,
            seed,
            start=columns.values(start),
            on_incumbent=lambda values: incumbents.report_values(columns, values),
            on_bound=lambda ticks: claims.report(min(ticks, incumbents.cost)),
        ),
    )
    claims.report(min(outcome.bound, incumbents.cost))


METHOD = Method(
    name="exact",
    problem="pipeline",
    kind="exact",
    summary="The exact program as printed (papers/mtpp, Figure 3).",
    run=run,
    params={"solver": "highs"},
)
