"""`placement-certify`: the best certificate in the time given, by bounds that take turns.

Paths and loads of the whole model come first: they take hardly any time. Then searched modules,
prices of ports, prices of time, loads of intervals and prices of paths take turns (see
`boundmark.bounds.portfolio`), and the one whose bound promises most gets most of the time. Only
what is better than everything before is reported, and nothing is begun once the best bound is the
makespan of the best schedule, or of one that is known.
"""

from contextlib import suppress
from dataclasses import dataclass

from boundmark.bounds.best import Best
from boundmark.bounds.placement import (
    assignment_load,
    critical_path,
    interval_load,
    path_prices,
    port_prices,
    time_prices,
)
from boundmark.bounds.placement.series import method as series
from boundmark.bounds.portfolio import PortfolioSettings, run_by_turns
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import Budget, Progress
from boundmark.problems.placement import PlacementInstance

# Part of the time for loads of the whole model, at most.
ASSIGNMENT_FRACTION = 0.1

# Part of the time for prices without modules, which mostly prove less.
PRICES_FRACTION = 0.3

# Part of the time for what does not look at the clock once it has begun, such as rounding and
# checks.
RESERVED = 0.03

TURNS = PortfolioSettings()


@dataclass
class _Turns:
    """The methods that take turns, and the chain of modules as far as it is searched.

    Attributes
    ----------
    closing
        The chain; None before the first turn of `search`.
    is_searched
        Whether its search is over.
    is_priced
        Whether prices of paths over it have been asked for.
    """

    instance: PlacementInstance
    seed: int
    closing: series.ClosingIn | None = None
    is_searched: bool = False
    is_priced: bool = False

    def search(self, budget: Budget, best: Best) -> None:
        """Search modules."""
        self.closing = series.ClosingIn.of(self.instance, budget, best, "series")
        self.closing = series.search(self.closing, budget)
        self.is_searched = True

    def price_time(self, budget: Budget, best: Best) -> None:
        """Report bounds by prices of time, over what the search has proven so far."""
        if self.closing is None:
            time_prices.run(self.instance, budget, self.seed, best)
        elif not best.is_proven:
            time_prices.report_with_modules(self.instance, self.closing, budget, best)

    def price_ports(self, budget: Budget, best: Best) -> None:
        """Report bounds by prices of ports, over what the search has proven so far."""
        if self.closing is None:
            port_prices.run(self.instance, budget, self.seed, best)
        elif not best.is_proven:
            port_prices.report_with_modules(self.instance, self.closing, budget, best)

    def load(self, budget: Budget, best: Best) -> None:
        """Report bounds by loads of intervals."""
        interval_load.run(self.instance, budget, self.seed, best)

    def price(self, budget: Budget, best: Best) -> None:
        """Report bounds by prices of paths, without modules and over those searched so far.

        Once the search is over, its modules come first: they prove more.
        """
        if self.is_searched:
            self._price_modules(budget, best)
        path_prices.run(self.instance, budget.part(PRICES_FRACTION), self.seed, best)
        if not self.is_priced:
            self._price_modules(budget, best)

    def _price_modules(self, budget: Budget, best: Best) -> None:
        closing = self.closing
        if closing is None or closing.sees_all or best.is_proven or budget.is_spent():
            return
        path_prices.report_with_modules(self.instance, closing, budget, best)
        self.is_priced = True


def run(
    instance: PlacementInstance,
    budget: Budget,
    seed: int,
    progress: Progress,
    *,
    known_cost: int,
    portfolio: PortfolioSettings = TURNS,
) -> None:
    """Report certificates, and schedules where they are found on the way.

    Parameters
    ----------
    portfolio
        Who gets turns.
    """
    best = Best(instance, progress, passes_claims=False)
    if known_cost:
        best.objective = known_cost
    budget = budget.part(1 - RESERVED)
    # A method may refuse a graph beyond the checker's limits.
    with suppress(UnsupportedError):
        critical_path.run(instance, budget, seed, best)
    if best.is_proven or budget.is_spent():
        return
    with suppress(UnsupportedError):
        assignment_load.run(instance, budget.part(ASSIGNMENT_FRACTION), seed, best)
    turns = _Turns(instance, seed)
    # Modules prove most on most models. Prices come last: their program takes its time at once.
    methods = {
        "series": turns.search,
        "port-prices": turns.price_ports,
        "time-prices": turns.price_time,
        "interval-load": turns.load,
        "path-prices": turns.price,
    }
    run_by_turns(methods, instance, budget, best, portfolio)
