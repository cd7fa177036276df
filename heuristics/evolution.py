"""Search over keys in [0, 1] by a biased random-key genetic algorithm (BRKGA, [BRKGA11]).

Of what its authors recommend, this takes 20 % elite (10 to 25 %; on random graphs better than
10 %), 20 % mutants (10 to 30 %), two parents, and a key from the elite parent with probability 0.7
(0.5 to 0.8).
"""

from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from boundmark.problems.method import Budget

Keys: TypeAlias = NDArray[np.float64]

ELITE = 0.2
MUTANTS = 0.2
FROM_ELITE_PARENT = 0.7


class _Population(Protocol):
    chromosomes: list[list[float]]
    fitness: list[tuple[float, int]]


class _TimeIsUpError(Exception):
    pass


class _Decoder:
    """Hands keys to the cost function, and ends the search when its time or share is up."""

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
    """Minimise a cost over vectors of keys; the cost function keeps what it finds.

    Parameters
    ----------
    genes
        Length of a vector.
    population
        Number of vectors in a generation.
    evaluations
        How many vectors are decoded, if the budget allows.
    initial
        Vectors of the first generation; the others are random.
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
    if initial:
        search.set_initial_population([vector.tolist() for vector in initial[:population]])
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
