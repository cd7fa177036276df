"""Search over node priorities by a biased random-key genetic algorithm (BRKGA).

[MTPP24], Section 4.2 and Appendix C.1, state the population and the number of evaluations. They
leave open what is set here, within the ranges that [BRKGA11], which they cite, recommends: 20 %
elite (10 to 25 %; on random graphs better than 10 %), 20 % mutants (10 to 30 %), two parents, and a
key from the elite parent with probability 0.7 (0.5 to 0.8).

The paper counts population x generations evaluations, whether or not the elite is decoded again.
Here an evaluation is a priority vector that was decoded, and the search ends after exactly as many
as population x generations, so that "10000" is the same work as in `random-10000`; as the elite is
not decoded again, there are in fact 124 generations.
"""

from collections.abc import Callable
from typing import Protocol

import numpy as np

from boundmark.heuristics.pipeline.orders.priorities import Priorities, topological_order
from boundmark.heuristics.pipeline.searches.incumbent import Incumbent
from boundmark.heuristics.pipeline.slicing.best_slicing import slice_order
from boundmark.problems.method import Budget
from boundmark.problems.pipeline import PipelineInstance

ELITE = 0.2
MUTANTS = 0.2
FROM_ELITE_PARENT = 0.7


class _Population(Protocol):
    chromosomes: list[list[float]]
    fitness: list[tuple[float, int]]


class _TimeIsUpError(Exception):
    pass


class _Decoder:
    """Hands priorities to the cost function, and ends the search when its time or share is up."""

    def __init__(self, cost: Callable[[Priorities], int], evaluations: int, budget: Budget) -> None:
        self.cost = cost
        self.left = evaluations
        self.is_first = True
        self.budget = budget

    def decode(self, chromosome: list[float], rewrite: bool) -> float:
        if self.left == 0 or (self.budget.is_spent() and not self.is_first):
            raise _TimeIsUpError
        self.left -= 1
        self.is_first = False
        return float(self.cost(np.array(chromosome)))


def evolve(
    genes: int,
    cost: Callable[[Priorities], int],
    population: int,
    evaluations: int,
    seed: int,
    budget: Budget,
) -> None:
    """Minimise a cost over priority vectors in [0, 1]; the cost function keeps what it finds.

    Parameters
    ----------
    population
        Number of vectors in a generation.
    evaluations
        How many vectors are decoded, if the budget allows.
    """
    from brkga_mp_ipr.algorithm import BrkgaMpIpr
    from brkga_mp_ipr.enums import BiasFunctionType, Sense
    from brkga_mp_ipr.types import BrkgaParams

    params = BrkgaParams()
    params.population_size = population
    params.elite_percentage = ELITE
    params.mutants_percentage = MUTANTS
    params.num_elite_parents = 1
    params.total_parents = 2
    params.bias_type = BiasFunctionType.CONSTANT
    params.num_independent_populations = 1
    decoder = _Decoder(cost, evaluations, budget)
    search = BrkgaMpIpr(decoder, Sense.MINIMIZE, seed, genes, params)
    search.set_bias_custom_function(
        lambda rank: FROM_ELITE_PARENT if rank == 1 else 1 - FROM_ELITE_PARENT
    )
    try:
        search.initialize()
        while decoder.left > 0:
            _store_by_rank(search.get_current_population())
            search.evolve()
    except _TimeIsUpError:
        return


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


def _store_by_rank(population: _Population) -> None:
    # brkga-mp-ipr 0.9.1 keeps the first vectors in storage as the elite, whatever their rank, under
    # the fitness of the true elite (https://github.com/ceandrade/brkga_mp_ipr_python/issues/2).
    # In storage sorted by rank, the two are the same vectors.
    population.chromosomes = [population.chromosomes[index] for _, index in population.fitness]
    population.fitness = [(value, rank) for rank, (value, _) in enumerate(population.fitness)]
