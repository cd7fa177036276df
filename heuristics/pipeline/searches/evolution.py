"""Search over orders of nodes by a genetic algorithm.

[MTPP24], Section 4.2 and Appendix C.1, state the population and the number of evaluations. They
leave the rest open; `boundmark.heuristics.evolution` sets it within what [BRKGA11], which they
cite, recommends.

The paper counts population x generations evaluations, whether or not the elite is decoded again.
Here an evaluation is a priority vector that was decoded, and the search ends after exactly as many
as population x generations, so that "10000" is the same work as in `random-10000`; as the elite is
not decoded again, there are in fact 124 generations.
"""

from boundmark.heuristics.evolution import evolve
from boundmark.heuristics.pipeline.orders.priorities import Priorities, topological_order
from boundmark.heuristics.pipeline.searches.incumbent import Incumbent
from boundmark.heuristics.pipeline.slicing.best_slicing import slice_order
from boundmark.problems.method import Budget
from boundmark.problems.pipeline import PipelineInstance


def evolve_slicings(
    instance: PipelineInstance,
    best: Incumbent,
    population: int,
    evaluations: int,
    seed: int,
    budget: Budget,
) -> None:
    """Minimise the cost of the best slicing of the order that priorities give."""

    def sort_and_slice(priorities: Priorities) -> int:
        order = topological_order(instance.graph.dag, priorities)
        cost, ends = slice_order(instance, order)
        best.offer_slices(cost, order, ends)
        return cost

    evolve(instance.nodes, sort_and_slice, population, evaluations, seed, budget)
