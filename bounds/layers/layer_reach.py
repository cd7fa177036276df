"""`layer-reach`: the optimum by the checker's own search, with prices of devices that shorten it.

Chains on chains, with processors of equal speed, are solved by testing thresholds ([PINAR04]), and so are
those with processors in a given order ([PINAR08]). Where the order is free, devices come in types,
memory is limited and tensors differ, a furthest end is not enough: all states are kept, and a
Lagrangian relaxation, in which devices have prices instead of numbers, leaves out most.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from boundmark.bounds import checker
from boundmark.bounds.checker.layers.instance import Instance
from boundmark.bounds.checker.layers.limits import MOST_PRICE
from boundmark.bounds.checker.layers.reach import NEVER, Rest, Step, cheapest
from boundmark.problems.arrays import frozen
from boundmark.problems.certificate import Certificate
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.layers import LayerAssignment, LayersInstance
from boundmark.problems.method import Budget, Progress

KIND = "layer-reach/1"


@dataclass(frozen=True)
class PriceSearch:
    """How prices of devices are found, by subgradients.

    Attributes
    ----------
    rounds
        Relaxations that are solved at most, each with the prices that the one before suggests.
    unit
        What prices are multiples of where loads are not added up: one device's share.
    patience
        Rounds without a better bound after which steps are halved.
    """

    rounds: int = 24
    unit: int = 2**20
    patience: int = 2


def run(
    instance: LayersInstance,
    budget: Budget,
    seed: int,
    progress: Progress,
    *,
    settings: PriceSearch = PriceSearch(),  # noqa: B008
    **params: Any,
) -> None:
    """Report the optimum and its certificate, or a bound where the time is up."""
    read = checker.check_instance(instance.to_json())
    search = _Search(instance, read, budget, settings)
    largest = search.bottleneck()
    if largest is None:
        most = _more_than_any(instance)
        payload = search.payload(most)
        if cheapest(read, most - 1, payload["prices"]) is None:
            progress.bound(Certificate.of(instance, KIND, most, payload, "layer-reach"))
        raise UnsupportedError(
            "no assignment fits into the memory of the devices, although all of it together would do; "
            "the certified bound is above the cost of any assignment."
        )
    if read.adds:
        search.added(largest)
    if search.best is not None:
        progress.solution(search.best)
    if search.bound > 0:
        payload = search.payload(search.bound)
        progress.bound(Certificate.of(instance, KIND, search.bound, payload, "layer-reach"))


def _more_than_any(instance: LayersInstance) -> int:
    """Return more than any assignment costs."""
    chain = instance.chain
    loads = int(chain.time.max(axis=0).astype(object).sum())
    if chain.layers > 1:
        loads += int(chain.transfer.max(axis=0).astype(object).sum())
    return (1 + instance.micro_batches) * loads + 1


class _Search:
    """Thresholds that are tested, and the best assignment and bound so far."""

    def __init__(
        self, instance: LayersInstance, read: Instance, budget: Budget, settings: PriceSearch
    ) -> None:
        self.instance, self.read = instance, read
        self.alone = read._replace(adds=0, rounds=1)
        self.budget, self.settings = budget, settings
        self.types = len(read.members)
        self.prices = [0] * self.types
        self.largest_prices = [settings.unit] * self.types
        self.largest = self.bound = 0
        self.best: LayerAssignment | None = None

    def payload(self, bound: int) -> dict[str, Any]:
        """Return what the checker needs to prove a bound."""
        if self.read.adds:
            return {
                "bound": bound, "prices": self.prices,
                "largest": self.largest, "largest_prices": self.largest_prices,
            }  # fmt: skip
        prices = self.largest_prices
        return {"bound": bound, "prices": prices, "largest": 0, "largest_prices": prices}

    def assignment(self, step: Step) -> LayerAssignment:
        """Return the assignment that ends with a step, which is its first stage."""
        devices: list[int] = []
        at: Step | None = step
        while at is not None and at.after is not None:
            devices += [at.device] * (at.after.start - at.start)
            at = at.after
        return LayerAssignment(frozen(devices))

    def bottleneck(self) -> int | None:
        """Return the smallest largest load; None if nothing fits into memory."""
        most = _more_than_any(replace(self.instance, goal="bottleneck"))
        low = self._start(most)
        high, found = most, None
        # Thresholds below `low` are refuted; `high` is achieved or more than any load.
        stride = 0
        while low < high and not self.budget.is_spent():
            middle = low if stride == 0 else min(low + stride, (low + high) // 2)
            step = self._test(middle)
            if step is None:
                low = middle + 1
                stride = max(1, 4 * stride, low >> 12)
            else:
                found = self.assignment(step)
                loads = self.instance.stage_loads(found)
                high = max(load.total for load in loads)
                self.best, stride = found, stride // 4
        self.largest = low
        if not self.read.adds:
            self.bound = low
        return None if found is None and low >= high else low

    def _start(self, most: int) -> int:
        """Return a threshold such that the relaxation refutes all below it."""
        low, high = 0, most
        while low < high and not self.budget.is_spent():
            middle = (low + high) // 2
            if self._refuted(middle):
                low = middle + 1
            else:
                high = middle
        return low

    def _refuted(self, threshold: int) -> bool:
        """Whether some prices show that no assignment has so small a largest load."""

        def gain(prices: list[int]) -> tuple[int, Rest]:
            rest = Rest(self.alone, prices, threshold)
            return rest.root - self._total(prices), rest

        value, prices = self._best_prices(self.largest_prices, gain, until=0)
        self.largest_prices = prices
        return value > 0

    def _test(self, threshold: int) -> Step | None:
        return cheapest(self.alone, threshold, self.largest_prices)

    def added(self, largest: int) -> None:
        """Find the least sum of loads, or the least makespan."""
        rounds, target = self.read.rounds, _more_than_any(self.instance)
        if self.best is not None:
            target = self.instance.objective(self.best)

        def gain(prices: list[int]) -> tuple[int, Rest]:
            rest = Rest(self.read, prices, (target - 1) // (1 + rounds))
            return rest.root - self._total(prices), rest

        value, self.prices = self._best_prices(self.prices, gain, until=NEVER)
        step = cheapest(self.read, target - 1, self.prices, self.largest)
        if step is not None:
            self.best = self.assignment(step)
        assert self.best is not None
        self.bound = self.instance.objective(self.best)

    def _total(self, prices: list[int]) -> int:
        return sum(
            price * len(devices) for price, devices in zip(prices, self.read.members, strict=True)
        )

    def _best_prices(
        self,
        start: list[int],
        gain: Callable[[list[int]], tuple[int, Rest]],
        until: int,
    ) -> tuple[int, list[int]]:
        """Return the largest value found of a concave function of prices, and where it is.

        A device of which the relaxation uses too many becomes dearer, one that it leaves cheaper.
        """
        prices = best = list(start)
        value, rest = gain(prices)
        top, scale, misses = value, 1.0, 0
        for _ in range(self.settings.rounds if self.types > 1 or self.read.adds else 0):
            if top > until or value >= NEVER // 2 or self.budget.is_spent():
                break
            used = _used(rest)
            slope = [u - len(d) for u, d in zip(used, self.read.members, strict=True)]
            slope = [0 if s < 0 and p == 0 else s for s, p in zip(slope, prices, strict=True)]
            if not any(slope):
                break
            typical = max(prices) or max(1, rest.root // max(1, sum(used)))
            step = scale * typical / sum(s * s for s in slope) ** 0.5
            prices = [
                min(MOST_PRICE, max(0, round(p + step * s))) for p, s in zip(best, slope, strict=True)
            ]
            value, rest = gain(prices)
            if value > top:
                top, best, misses = value, prices, 0
            else:
                misses += 1
                scale /= 2
        return top, best


def _used(rest: Rest) -> list[int]:
    """Return how many devices of each type the cheapest relaxed assignment takes."""
    one, prices = rest.instance, rest.prices
    used = [0] * len(prices)
    end, held, receiver, value = len(one.weights), 1, -1, rest.root
    while end > 0 and value < NEVER:
        later = min(held + 1, one.in_flight)
        for sender, price in enumerate(prices):
            sending = one.transfer[one.link[sender][receiver]][end - 1] if receiver >= 0 else 0
            start = next(
                (
                    start
                    for start, time in rest.spans(held, sender, end)
                    if time + sending <= rest.cap
                    and rest.least[later][sender][start] + one.adds * (time + sending) + price
                    == value
                ),
                None,
            )
            if start is not None:
                used[sender] += 1
                end, held, receiver = start, later, sender
                value = rest.least[later][sender][start]
                break
    return used
