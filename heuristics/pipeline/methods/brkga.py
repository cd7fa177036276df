"""`brkga-100`, `brkga-10000`: genetic search over orders, each sliced ([MTPP24], Section 4.2)."""

from boundmark.heuristics.pipeline.searches.evolution import evolve_slicings
from boundmark.heuristics.pipeline.searches.incumbent import Incumbent
from boundmark.problems.method import Budget, Method, Progress
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


def _method(population: int, generations: int) -> Method:
    return Method(
        name=f"brkga-{population * generations}",
        problem="pipeline",
        kind="heuristic",
        summary="Genetic search over topological orders, each sliced ([MTPP24], Algorithm 2).",
        run=run,
        params={"population": population, "generations": generations},
        seeded=True,
    )


BRKGA = (_method(10, 10), _method(100, 100))
