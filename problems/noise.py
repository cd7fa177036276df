"""Times drawn around their values, to see how much a solution depends on them."""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from boundmark.problems.errors import InvalidInputError

FloatArray: TypeAlias = NDArray[np.float64]

MOST_DRAWS = 100_000


@dataclass(frozen=True)
class Noise:
    """How times are drawn: each is its value times a factor of its own, of mean 1.

    Factors have a log-normal distribution, so that no time is negative.

    Attributes
    ----------
    deviation
        Standard deviation of the factors: 0.1 for times that are right to about 10 %.
    draws
        How often all times are drawn.
    seed
        Of the random numbers: equal ones give equal times, whatever the solution.
    """

    deviation: float
    draws: int = 100
    seed: int = 1

    def __post_init__(self) -> None:
        if not 0 <= self.deviation <= 10:
            raise InvalidInputError(
                f"noise is {self.deviation:g}; expected a fraction from 0 to 10, such as 0.2."
            )
        if not 1 <= self.draws <= MOST_DRAWS:
            raise InvalidInputError(f"draws is {self.draws}; expected 1 to {MOST_DRAWS}.")

    def generator(self) -> np.random.Generator:
        """Return the source of factors, at its beginning."""
        return np.random.default_rng(self.seed)

    def factors(self, generator: np.random.Generator, *shape: int) -> FloatArray:
        """Return the next factors, shape (draws, ...)."""
        sigma = np.sqrt(np.log1p(self.deviation**2))
        normal = generator.standard_normal((self.draws, *shape))
        return np.asarray(np.exp(sigma * normal - sigma**2 / 2))


@dataclass(frozen=True)
class Lead:
    """A solution's cost, and its lead over a baseline, under noise.

    Attributes
    ----------
    cost
        Mean cost over draws, as a multiple of the cost without noise.
    lead, low, high
        Mean of 1 - cost / the baseline's cost in the same draw, and its 5 % and 95 % quantiles.
    ahead
        Share of the draws in which the solution costs less than the baseline's.
    """

    cost: float
    lead: float
    low: float
    high: float
    ahead: float


def lead_over(costs: FloatArray, baseline: FloatArray, objective: int) -> Lead:
    """Return a solution's cost and lead under noise.

    Parameters
    ----------
    costs, baseline
        What it and the baseline's solution cost in each draw, of one shape.
    objective
        What it costs without noise.
    """
    leads = 1 - costs / np.where(baseline > 0, baseline, np.nan)
    low, high = np.nanquantile(leads, (0.05, 0.95)) if (baseline > 0).any() else (np.nan, np.nan)
    mean = float(np.nanmean(leads)) if (baseline > 0).any() else float("nan")
    ratio = float(costs.mean()) / objective if objective > 0 else float("nan")
    return Lead(ratio, mean, float(low), float(high), float((costs < baseline).mean()))
