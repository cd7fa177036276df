"""`brkga-orders`: genetic search over priorities of operators ([BRKGA11])."""

from boundmark.heuristics.evolution import BrkgaSettings, evolve
from boundmark.heuristics.ordering.incumbent import OrderIncumbent
from boundmark.heuristics.priority_order import Priorities, topological_order
from boundmark.problems.method import Budget, Progress
from boundmark.problems.ordering import OrderingInstance


def run(
    instance: OrderingInstance,
    budget: Budget,
    seed: int,
    progress: Progress,
    *,
    population: int,
    generations: int,
) -> None:
    """Minimise the memory of the order that always takes the operator of highest priority."""
    best = OrderIncumbent(instance, progress)

    def cost(priorities: Priorities) -> int:
        return best.evaluate(topological_order(instance.graph.dag, priorities))

    settings = BrkgaSettings(population, population * generations)
    evolve(instance.nodes, cost, settings, seed, budget)
