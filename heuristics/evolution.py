"""Search over keys in [0, 1] by a biased random-key genetic algorithm (BRKGA, [BRKGA11])."""

from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from boundmark.problems.method import Budget, require_module

Keys: TypeAlias = NDArray[np.float64]


# Fraction of a generation that the next one keeps. Its authors recommend 0.1 to 0.25; on random
# graphs, 0.2 is better than 0.1.
ELITE = 0.2

# Fraction of a generation that is random; recommended are 0.1 to 0.3.
MUTANTS = 0.2

# Probability that a key comes from the elite parent, of two; recommended are 0.5 to 0.8.
FROM_ELITE_PARENT = 0.7


class _Population(Protocol):
    chromosomes: list[list[float]]
    fitness: list[tuple[float, int]]


class _TimeIsUpError(Exception):
    pass


class _Decoder:
    """Pass keys to the cost function; end the search when time or evaluations are used up."""

    def __init__(self, cost: Callable[[Keys], int], evaluations: int, budget: Budget) -> None:
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
    cost: Callable[[Keys], int],
    population: int,
    evaluations: int,
    seed: int,
    budget: Budget,
    initial: Sequence[Keys] = (),
) -> None:
    """Minimise a cost over vectors of keys; the cost function keeps the best."""
    require_module("brkga_mp_ipr")
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
    if initial:
        first = initial[:population]
        search.set_initial_population([vector.tolist() for vector in first])
    try:
        search.initialize()
        while decoder.left > 0:
            _store_by_rank(search.get_current_population())
            search.evolve()
    except _TimeIsUpError:
        return


def _store_by_rank(population: _Population) -> None:
    # brkga-mp-ipr 0.9.1 keeps the first vectors in storage as the elite, whatever their rank, under
    # the fitness of the true elite (https://github.com/ceandrade/brkga_mp_ipr_python/issues/2).
    # In storage sorted by rank, the two are the same vectors.
    population.chromosomes = [population.chromosomes[index] for _, index in population.fitness]
    population.fitness = [(value, rank) for rank, (value, _) in enumerate(population.fitness)]
