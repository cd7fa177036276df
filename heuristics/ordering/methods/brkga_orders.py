"""`brkga-orders`: genetic search over priorities of operators ([BRKGA11])."""

from boundmark.heuristics.evolution import evolve
from boundmark.heuristics.ordering.orders.incumbent import Incumbent
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
    best = Incumbent(instance, progress)

    def cost(priorities: Priorities) -> int:
        return best.offer(topological_order(instance.graph.dag, priorities))

    evolve(instance.nodes, cost, population, population * generations, seed, budget)
