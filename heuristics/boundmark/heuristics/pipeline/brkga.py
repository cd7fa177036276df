"""`brkga-100`, `brkga-10000`: evolved priorities, each sorted and sliced (papers/mtpp, 4.2)."""

from boundmark.heuristics.pipeline.evolution import evolve
from boundmark.heuristics.pipeline.priorities import Priorities, topological_order
from boundmark.heuristics.pipeline.slicing import slice_order
from boundmark.problems.method import Budget, Method, Progress
from boundmark.problems.pipeline import Partition, PipelineInstance


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
    best: int | None = None

    def sort_and_slice(priorities: Priorities) -> int:
        nonlocal best
        order = topological_order(instance.graph.dag, priorities)
        cost, ends = slice_order(instance, order)
        if best is None or cost < best:
            best = cost
            progress.solution(Partition.from_slices(order, ends))
        return cost

    evolve(instance.nodes, sort_and_slice, population, population * generations, seed, budget)


def _method(population: int, generations: int) -> Method:
    return Method(
        name=f"brkga-{population * generations}",
        problem="pipeline",
        kind="heuristic",
        summary="Genetic search over topological orders, each sliced (papers/mtpp, Algorithm 2).",
        run=run,
        params={"population": population, "generations": generations},
        seeded=True,
    )


BRKGA = (_method(10, 10), _method(100, 100))
