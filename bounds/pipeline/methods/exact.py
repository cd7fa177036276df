"""`exact`: the exact program as printed ([MTPP24], Figure 3)."""

from boundmark.bounds.best import Best
from boundmark.bounds.mip.solvers import SOLVERS
from boundmark.bounds.pipeline.mip.exact_models import exact_columns, exact_model
from boundmark.bounds.pipeline.mip.exact_search import search_exactly
from boundmark.bounds.pipeline.mip.quick_slicing import sliced
from boundmark.problems.lookup import find
from boundmark.problems.method import Budget, Progress
from boundmark.problems.pipeline import PipelineInstance


def run(
    instance: PipelineInstance, budget: Budget, seed: int, progress: Progress, *, solver: str
) -> None:
    """Report what the solver finds, beginning with a slicing of the graph's own order."""
    solve = find("solver", solver, SOLVERS)
    best = Best(instance, progress)
    start = sliced(instance, instance.graph.dag.topological_order)
    best.solution(start)
    columns = exact_columns(instance.graph, instance.k)
    search_exactly(solve, exact_model(columns), columns, best, "exact", budget, seed, start)
