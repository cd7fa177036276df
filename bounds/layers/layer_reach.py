"""`layer-reach`: the optimum by the checker's own search, with prices of devices that shorten it.

Chains on chains, with processors of equal speed, are solved by testing thresholds ([PINAR04]), and
so are those with processors in a given order ([PINAR08]). Where the order is free, devices come in
types, memory is limited and tensors differ, a furthest end is not enough: all states are kept, and
a Lagrangian relaxation, in which devices have prices instead of numbers, leaves out most.
"""

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

from boundmark.bounds import checker
from boundmark.bounds.checker.budget import MOST_STEPS, limited
from boundmark.bounds.checker.layers.instance import Instance
from boundmark.bounds.checker.layers.limits import MOST_PRICE
from boundmark.bounds.checker.layers.reach import (
    NEVER,
    Reached,
    Rest,
    Step,
    cheapest,
    covers_others,
    most_paid,
    reached,
)
from boundmark.bounds.layers.layer_load import UNIT, refuse_question, speed_prices
from boundmark.problems.arrays import frozen
from boundmark.problems.certificate import Certificate
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.layers import LayerAssignment, LayersInstance
from boundmark.problems.method import Budget, Progress

KIND = "layer-reach/1"


# Relaxations that are solved at most, each with the prices that the one before suggests.
ROUNDS = 24

# Rounds in all, with steps half as long each, that may bring no better bound.
PATIENCE = 8

# Default for one search, in steps of the checker, which does some two million a second.
STEPS = 10_000_000

# How often a search for a sum or makespan that was too large is tried with a lower target and half
# the steps.
HALVINGS = 4


def run(
    instance: LayersInstance,
    budget: Budget,
    seed: int,
    progress: Progress,
    *,
    steps: int = 0,
) -> None:
    """Report the optimum and its certificate, or a bound where the time is up."""
    # `steps`: Most steps of one search, as the checker counts them; 0 for `STEPS`.
    if instance.virtual_stages > 1:
        raise UnsupportedError(
            f"there are {instance.virtual_stages} virtual stages; the search expects one stage for "
            "each device."
        )
    refuse_question(instance)
    read = checker.check_instance(instance.to_json())
    search = Search(instance, read, budget, steps)
    if not search.bottleneck():
        most = instance.most() + 1
        progress.bound(
            Certificate.of(instance, KIND, most, search.payload(most, most), "layer-reach")
        )
        raise UnsupportedError(
            "no assignment fits into the memory of the devices, although all of it together "
            "would do; "
            "the certified bound is above the cost of any assignment."
        )
    if read.adds:
        search.added()
    else:
        search.bound = search.largest
    if search.best is not None:
        progress.solution(search.best)
    if search.bound > 0:
        payload = search.payload(search.bound, search.largest)
        progress.bound(Certificate.of(instance, KIND, search.bound, payload, "layer-reach"))


class Search:
    """Thresholds that are tested, and the best assignment and bound so far."""

    def __init__(
        self, instance: LayersInstance, read: Instance, budget: Budget, steps: int = 0
    ) -> None:
        self.instance, self.read = instance, read
        self.alone = read._replace(adds=0, rounds=1, turns=1)
        self.budget, self.steps = budget, min(steps or STEPS, MOST_STEPS)
        self.types = len(read.members)
        self.alike = read.alike
        # For which prices are found.
        self.case = read.cases[0]
        self.prices = [0] * self.types
        self.largest_prices = [UNIT] * self.types
        self.largest = self.bound = 0
        self.best: LayerAssignment | None = None

    def payload(self, bound: int, largest: int) -> dict[str, Any]:
        """Return the payload with which the checker proves a bound."""
        return {
            "bound": bound, "prices": self.prices,
            "largest": largest, "largest_prices": self.largest_prices,
        }  # fmt: skip

    def below(self, target: int) -> None:
        """Find the best assignment that costs less than `target`, or prove that there is none.

        `best` is such a one or None, and `bound` is proven up to `target`.
        """
        turns = self.read.turns
        if not self.read.adds or turns > 1:
            # What the largest load has to be below.
            load = -(-target // turns)
            self._start(load)
            with suppress(checker.TooLarge), limited("an assignment", self.steps):
                found = reached(self.alone, load - 1, self.largest_prices)
                if found is None:
                    self.bound, self.largest = target, load
                    return
            self.largest_prices = [UNIT] * self.types
        if not self.read.adds or self.read.rounds or turns > 1:
            self.bottleneck()
        if not self.read.adds:
            self.bound = min(self.largest, target)
        else:
            if self.best is not None and self.instance.objective(self.best) >= target:
                self.best = None
            self.added(target)
        if self.best is not None and self.instance.objective(self.best) >= target:
            self.best = None

    def bottleneck(self) -> bool:
        """Find the smallest largest load; return whether any assignment fits into memory."""
        most = replace(self.instance, goal="bottleneck").most() + 1
        low, high = self._in_all_cases(self._start(most)), most
        if self.best is not None:
            high = self._largest_load(self.best)
        # Thresholds below `low` are refuted; `high` is achieved, or more than any load. Those from
        # `low` to `floor` were not refuted because that takes too many steps.
        stride, unknown = 0 if self.best is None else high, 0
        floor = low - 1
        while low < high and not self.budget.is_spent():
            middle = min(low + stride, (low + high) // 2)
            if unknown:
                middle = (floor + high) // 2 if self.best else min(floor + stride, high - 1)
                if unknown > PATIENCE or high - floor <= floor >> 6:
                    break
            try:
                with limited("an assignment", self.steps >> (2 if unknown else 0)):
                    found = reached(self.alone, middle, self.largest_prices)
            except checker.TooLarge:
                # Nothing is known of this threshold; larger ones are easier.
                unknown, floor = unknown + 1, middle
                stride = max(1 + (low >> 4), 4 * stride)
                continue
            if found is None:
                low, floor = middle + 1, max(floor, middle)
                stride = max(4 * stride, 1 + (low >> 14))
            else:
                self.best, stride = traced(*found), stride // 8
                high = self._largest_load(self.best)
        self.largest = low
        return self.best is not None or low < high

    def _largest_load(self, solution: LayerAssignment) -> int:
        return max(load.total for load in self.instance.stage_loads(solution))

    def _in_all_cases(self, low: int) -> int:
        """Return a threshold that one case has refuted all below of, or 0 if another has not.

        What that one finds is kept.
        """
        if low == 0 or len(self.read.cases) == 1:
            return low
        try:
            with limited("an assignment", self.steps):
                found = reached(self.alone, low - 1, self.largest_prices)
        except checker.TooLarge:
            return 0
        if found is None:
            return low
        self.best = traced(*found)
        return 0

    def _start(self, most: int) -> int:
        """Return a threshold such that the relaxation of one case refutes all below it.

        That is the first case in which layers fit if any number of devices may be used.
        """
        low, before = 0, -1
        self.largest_prices = speed_prices(self.read)
        self.case = next(
            (
                case
                for case in self.read.cases
                if Rest(self.alone, case, self.largest_prices, most).root < NEVER
            ),
            self.case,
        )
        while not self.budget.is_spent():
            # With the prices at hand, about as far up as they reach; then with better ones.
            low = self._raised(low, most, 12)
            if low >= most or not any(self.alike) or low - before <= low >> 12:
                break
            before = low
            value, prices = self._best_prices(
                self.largest_prices, partial(self._gain, cap=low + (low >> 12)), until=0
            )
            if value <= 0:
                break
            self.largest_prices = prices
        return self._raised(low, most, 60)

    def _raised(self, low: int, most: int, bits: int) -> int:
        """Return a threshold such that prices refute all below it, exact to so many bits."""
        refuted, high, stride = low - 1, most, max(1, low >> 10)
        while high - refuted > max(1, refuted >> bits) and not self.budget.is_spent():
            middle = (refuted + high) // 2 if high < most else min(refuted + stride, most - 1)
            if self._gain(self.largest_prices, middle)[0] > 0:
                refuted, stride = middle, 4 * stride
            else:
                high = middle
        return refuted + 1

    def _gain(self, prices: list[int], cap: int) -> tuple[int, Rest]:
        """Return by how much all layers cost more than all devices, if loads are small."""
        rest = Rest(self.alone, self.case, prices, cap)
        return rest.root - most_paid(self.alone, self.case, prices), rest

    def added(self, below: int | None = None) -> None:
        """Find the least sum of loads, makespan or round; what is not `below` does not count."""
        rounds, turns, target = self.read.rounds, self.read.turns, self.instance.most() + 1
        if below is not None:
            target = below
        if self.best is not None:
            target = self.instance.objective(self.best)
            if target == turns * self.largest:
                self.bound = target
                return

        cap = (target - 1) // max(1 + rounds, turns)

        def gain(prices: list[int]) -> tuple[int, Rest]:
            rest = Rest(self.read, self.case, prices, cap)
            return rest.root - most_paid(self.read, self.case, prices), rest

        until = NEVER if below is None else below - 1 - rounds * self.largest
        value, self.prices = self._best_prices(self.prices, gain, until)
        # What the relaxation proves by itself, in case that the search becomes too large.
        if len(self.read.cases) > 1:
            value = _in_any_case(self.read, self.prices, cap)
        self.bound = min(target, max(max(value, 0) + rounds * self.largest, turns * self.largest))
        high, steps = target - 1, self.steps
        while self.bound <= high and not self.budget.is_spent():
            middle = high if high == target - 1 else (self.bound + high) // 2
            try:
                with limited("an assignment", steps):
                    step = cheapest(self.read, middle, self.prices, self.largest)
            except checker.TooLarge:
                # Lower targets are searched more quickly, and raise the bound.
                high, steps = min(middle - 1, (self.bound + middle) // 2), steps // 2
                if steps < self.steps >> HALVINGS:
                    return
                continue
            if step is None:
                self.bound = middle + 1
                continue
            self.best = assignment(step)
            target = self.instance.objective(self.best)
            # The first that is found is the cheapest, unless the largest load counts by itself.
            if turns == 1:
                self.bound = target
                return
            high = target - 1

    def _paying(self, prices: list[int]) -> list[int]:
        """Return how many devices of each type pay, if these are the dearest that may."""
        every = sorted(self.read.devices, key=lambda kind: -prices[kind])
        if self.read.is_free:
            every = every[: self.case.most]
        return [every.count(kind) for kind in range(self.types)]

    def _shared(self, slope: list[int]) -> list[float]:
        """Return the mean of a slope for all types that may have the same stages."""
        counts = Counter(self.alike)
        sums = dict.fromkeys(counts, 0)
        for kind, value in zip(self.alike, slope, strict=True):
            sums[kind] += value
        return [sums[kind] / counts[kind] for kind in self.alike]

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
        for _ in range(ROUNDS if any(self.alike) or self.read.adds else 0):
            if top > until or value >= NEVER // 2 or self.budget.is_spent():
                break
            used = _used(rest)
            missing = [u - d for u, d in zip(used, self._paying(prices), strict=True)]
            slope = [
                0.0 if s < 0 and p == 0 else s
                for s, p in zip(self._shared(missing), prices, strict=True)
            ]
            if not any(slope):
                break
            typical = max(prices) or max(1, rest.root // max(1, sum(used)))
            step = scale * typical / sum(s * s for s in slope) ** 0.5
            prices = [
                min(MOST_PRICE, max(0, round(p + step * s)))
                for p, s in zip(best, slope, strict=True)
            ]
            value, rest = gain(prices)
            if value > top:
                top, best, misses = value, prices, 0
            else:
                misses += 1
                scale /= 2
                if misses > PATIENCE:
                    break
        return top, best


def _in_any_case(instance: Instance, prices: list[int], cap: int) -> int:
    """Return the least that the relaxation of a case proves of costs."""
    least = NEVER
    for case in instance.cases:
        rest = Rest(instance, case, prices, cap)
        least = min(least, rest.root - most_paid(instance, case, prices))
        if covers_others(instance, rest):
            break
    return least


def traced(rest: Rest, found: Reached) -> LayerAssignment:
    """Return the assignment whose first stage was reached last."""
    devices: list[int] = []
    start, at, behind = 0, found, found.after
    while behind is not None:
        over = rest.instance.link[at.kind][behind.kind] if behind.kind >= 0 else -1
        ends = [
            end
            for end in range(start + 1, len(rest.instance.weights) + 1)
            if behind.starts >> end & 1
        ]
        end = next(
            end for end in ends if rest.starts(behind.number, at.kind, over, 1 << end) >> start & 1
        )
        devices += [at.device] * (end - start)
        start, at, behind = end, behind, behind.after
    return LayerAssignment(frozen(devices))


def assignment(step: Step) -> LayerAssignment:
    """Return the assignment that begins with a step's stage."""
    devices: list[int] = []
    at: Step | None = step
    while at is not None and at.after is not None:
        devices += [at.device] * (at.after.start - at.start)
        at = at.after
    return LayerAssignment(frozen(devices))


def _used(rest: Rest) -> list[int]:
    """Return how many devices of each type the cheapest relaxed assignment takes."""
    one, prices, case = rest.instance, rest.prices, rest.case
    used = [0] * len(prices)
    end, count, receiver, value = len(one.weights), 1, -1, rest.root
    while end > 0 and value < NEVER:
        later = case.alike(count + 1)
        for sender, price in enumerate(prices):
            sending = one.transfer[one.link[sender][receiver]][end - 1] if receiver >= 0 else 0
            start = next(
                (
                    start
                    for start, time in rest.spans(count, sender, end)
                    if time + sending <= rest.cap
                    and rest.least[later][sender][start] + one.adds * (time + sending) + price
                    == value
                ),
                None,
            )
            if start is not None:
                used[sender] += 1
                end, count, receiver = start, later, sender
                value = rest.least[later][sender][start]
                break
    return used
