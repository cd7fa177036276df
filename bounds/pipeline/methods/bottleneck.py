"""`bottleneck`: the program of a stage, what is before and what is after it ([MTPP24], 3.2)."""

from functools import partial

from boundmark.bounds.best import Best
from boundmark.bounds.mip.claims import claim
from boundmark.bounds.mip.solvers import SOLVERS
from boundmark.bounds.mip.solvers.search import Search
from boundmark.bounds.pipeline.mip.superblock_models import bottleneck_model, simple_bound
from boundmark.problems.lookup import find
from boundmark.problems.method import Budget, Progress
from boundmark.problems.pipeline import PipelineInstance


def run(
    instance: PipelineInstance, budget: Budget, seed: int, progress: Progress, *, solver: str
) -> None:
    """Report the simple bound, which the program contains, and what the solver adds to it."""
    solve = find("solver", solver, SOLVERS)
    best = Best(instance, progress)
    report = partial(claim, "bottleneck", progress=best)
    report(simple_bound(instance.graph, instance.k))
    model = bottleneck_model(instance.graph, instance.k)
    report(solve(model, Search(budget, seed, on_bound=report)).bound)
