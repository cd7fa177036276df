"""`brkga-100`, `brkga-10000`: genetic search over orders, each sliced ([MTPP24], Section 4.2)."""

from boundmark.heuristics.pipeline.searches.evolution import evolve_slicings
from boundmark.heuristics.pipeline.searches.incumbent import Incumbent
from boundmark.problems.method import Budget, Progress
from boundmark.problems.pipeline import PipelineInstance


def run(
    instance: PipelineInstance,
    budget: Budget,
    seed: int,
    progress: Progress,
    *,
    population: int,
    generations: int,
) -> None:
    """Minimise the cost of the best slicing of the order that the priorities give."""
    best = Incumbent(progress)
    evolve_slicings(instance, best, population, population * generations, seed, budget)
