"""`downset-dp`: dynamic programming over down-sets, section by section, ever wider.

The order is cut at breakpoints that some optimal order passes: operators that all others wait for
or precede and, for the sum, the corners of the lower convex hull of what is in memory over the
number of operators done ([SIDNEY75], there for jobs with weights). Each section is then searched
level by level with a width that grows until the search is exact or the time is up.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from boundmark.bounds import checker
from boundmark.bounds.best import Best
from boundmark.bounds.checker.ordering import limits
from boundmark.bounds.checker.ordering.prices import least_while_running
from boundmark.bounds.checker.ordering.section import Section
from boundmark.bounds.ordering.levels import Level, count_members, expand, first_level, steps_of
from boundmark.bounds.ordering.live_cut import Cuts, largest_least_memory, least_memory
from boundmark.bounds.ordering.plan import Plan
from boundmark.bounds.ordering.section_network import Rows
from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.certificate import Certificate, Claim
from boundmark.problems.method import Budget, Progress
from boundmark.problems.ordering import ExecutionOrder, OrderingInstance
from boundmark.problems.ordering.order import memory_while_running

KIND = "downset-dp/1"


# Factor of the width from one round to the next.
WIDENING = 16

# Part of the time for breakpoints, and of the time left for cuts behind them.
FOR_BREAKPOINTS = 0.3
FOR_CUTS = 0.4

# Part of the memory for the level that is being filled.
FOR_LEVEL = 0.25

# More than any cost.
_NO_LIMIT = 2**62


class Found(NamedTuple):
    """The result of a search.

    Attributes
    ----------
    cost, places
        The best order below the limit, by places in the section; None if there is none.
    lower
        No order costs less.
    steps
        How many steps from one down-set to the next were looked at.
    largest
        The number of down-sets of two sizes that follow each other, at most.
    """

    cost: int | None
    places: list[int] | None
    lower: int
    steps: int
    largest: int


class _Section:
    """A section's best cost so far, its lower bound, and the proof of that."""

    def __init__(self, part: Section, is_peak: bool) -> None:
        self.part, self._is_peak = part, is_peak
        self.cost = 0
        self.cuts = Cuts([0] * len(part.operators), {})
        self.lower = 0
        self.proof: Found | None = None
        if len(part.operators) == 1:
            self.learn(Cuts([least_while_running(part, 0, {})], {}))

    @property
    def proven_by_cuts(self) -> int:
        """The bound that the cuts alone prove."""
        return max(self.cuts.least) if self._is_peak else sum(self.cuts.least)

    def learn(self, cuts: Cuts) -> None:
        """Store the operators' least memory, and raise the bound."""
        self.cuts = cuts
        self.lower = max(self.lower, self.proven_by_cuts)


class DownsetSearch:
    """Search of an instance: its sections, their orders and bounds."""

    def __init__(self, instance: OrderingInstance, budget: Budget, best: Best) -> None:
        self._instance, self._budget, self._best = instance, budget, best
        self._is_peak = instance.metric == "peak"
        read = checker.check_instance(instance.to_json())
        self._plan = Plan(read, instance.graph.dag.topological_order.tolist())
        self._plan.find_forced()
        if not self._is_peak:
            self._plan.find_slopes(budget.part(FOR_BREAKPOINTS).is_spent)
        self._sections = [_Section(part, self._is_peak) for part in self._plan.sections()]

    @property
    def lower(self) -> int:
        """The bound of all sections together."""
        lowers = [section.lower for section in self._sections]
        return max(lowers) if self._is_peak else sum(lowers)

    def run(self, most: int) -> None:
        """Report ever better orders and bounds."""
        self._adopt()
        self._search_round(1)
        self._cut()
        self._report_bound()
        width = 1
        while width < most and not self._best.is_proven and not self._budget.is_spent():
            width = min(most, width * WIDENING)
            if not self._search_round(width):
                return

    def _adopt(self) -> None:
        """Start from the plan's order."""
        self._best.solution(ExecutionOrder(frozen(self._plan.order)))
        taken = self._taken()
        for begin, section in zip(self._plan.ends, self._sections, strict=False):
            here = taken[begin : begin + len(section.part.operators)]
            section.cost = max(here) if self._is_peak else sum(here)

    def _taken(self) -> list[int]:
        """Return the memory while each operator runs, in the plan's order."""
        instance = self._instance
        return memory_while_running(
            instance.graph, instance.workspace, instance.overwrites, self._plan.order
        )

    def _search_round(self, width: int) -> bool:
        """Search all unsolved sections; return False if none is left or the time is up."""
        memory = int(FOR_LEVEL * self._budget.memory_bytes)
        changed = False
        costs_first = sorted(range(len(self._sections)), key=lambda s: -self._sections[s].cost)
        for number in costs_first:
            section = self._sections[number]
            floor = self.lower if self._is_peak else section.lower
            if section.cost <= floor:
                continue
            search = SectionSearch(section.part, self._is_peak, section.cuts.least, memory)
            found = search.run(section.cost, floor, width, self._budget.is_spent)
            if found is None:
                # Improvements of other sections in this round still count.
                break
            changed = True
            # A cost equal to the floor may come from another section.
            if found.lower > (floor if self._is_peak else section.lower):
                section.lower, section.proof = found.lower, found
            if found.places is not None and found.cost is not None:
                self._take(number, found.cost, found.places)
        if changed:
            self._best.solution(ExecutionOrder(frozen(self._plan.order)))
            self._report_bound()
        return changed

    def _take(self, number: int, cost: int, places: list[int]) -> None:
        """Reorder a section, and its operators' bounds with it."""
        section = self._sections[number]
        self._plan.reorder(number, places)
        section.part = self._plan.section_at(number)
        section.cost = cost
        least, prices = section.cuts
        section.cuts = Cuts([least[at] for at in places], prices)

    def _cut(self) -> None:
        """Compute lower bounds on the operators' memory by minimum cuts."""
        is_spent = self._budget.part(FOR_CUTS).is_spent
        taken = self._taken()
        for begin, section in zip(self._plan.ends, self._sections, strict=False):
            if section.cost == section.lower:
                continue
            if self._is_peak:
                known = taken[begin : begin + len(section.part.operators)]
                section.learn(largest_least_memory(section.part, known, self.lower, is_spent))
            else:
                section.learn(least_memory(section.part, is_spent))

    def _report_bound(self) -> None:
        """Report the bound, with a certificate if the checker can repeat the searches."""
        prices: dict[int, Rows] = {}
        searches = []
        steps_left = limits.MOST_SEARCH_STEPS
        bounds = []
        for number, section in enumerate(self._sections):
            prices.update(section.cuts.prices)
            bound = section.proven_by_cuts
            if section.lower > bound and section.proof is not None:
                steps = check_steps(section.part, section.proof.steps)
                if steps <= steps_left and fits_in_memory(section.part, section.proof.largest):
                    steps_left -= steps
                    bound = section.lower
                    searches.append([number, bound])
            bounds.append(bound)
        certified = max(bounds) if self._is_peak else sum(bounds)
        payload = {
            "order": self._plan.order,
            "stops": self._plan.breakpoints,
            "cuts": [[operator, rows] for operator, rows in prices.items()],
            "searches": searches,
        }
        self._best.bound(Certificate.of(self._instance, KIND, certified, payload, "downset-dp"))
        if self.lower > certified:
            self._best.bound(Claim(KIND, self.lower))


def run(
    instance: OrderingInstance,
    budget: Budget,
    seed: int,
    progress: Progress,
    *,
    width: int,
) -> None:
    """Report ever better orders and bounds, up to the optimum if the sections are narrow enough.

    Parameters
    ----------
    width
        The number of down-sets of one size up to which to go.
    """
    DownsetSearch(instance, budget, Best.before(instance, progress)).run(width)


class SectionSearch:
    """Dynamic programming over the down-sets of one section, with a limited width.

    An order is a chain of down-sets, and what an operator takes after a down-set does not depend on
    how that was reached; so of all orders of a down-set only the cheapest counts. With a limited
    width, the cheapest down-sets of each size are kept. What the cheapest one costs that was not
    kept is still a lower bound, and if all were kept, the search is exact.

    Parameters
    ----------
    least
        The least memory while each operator runs.
    memory_bytes
        What the next level may take while it is filled; beyond that, its width is reduced.
    """

    def __init__(self, part: Section, is_peak: bool, least: list[int], memory_bytes: int) -> None:
        self._part, self._is_peak = part, is_peak
        self._steps = steps_of(part, least)
        self._sum = sum(least)
        # Words of a state in the next level: two sets, four numbers, and up to four table entries.
        self._most_room = memory_bytes // (8 * (2 * self._steps.needs.shape[1] + 4 + 4))

    def run(self, limit: int, floor: int, width: int, is_spent: Callable[[], bool]) -> Found | None:
        """Search for orders that cost less than a limit; return None if the time is up first."""
        start = floor if self._is_peak else self._sum
        if start >= limit:
            return Found(None, None, limit, 0, 0)
        level = first_level(self._part, self._steps, start)
        counts = np.zeros(1, np.int64)
        lower, largest = limit, 0
        trail: list[tuple[IntArray, IntArray]] = []
        for _ in self._part.operators:
            if is_spent():
                return None
            room = count_members(level.ready)
            following = self._next(level, room, limit, counts)
            largest = max(largest, len(level.cost) + len(following.cost))
            ready = count_members(following.ready)
            fits = len(following.cost) * self._most_room // max(1, ready)
            level, dropped = _cheapest(following, max(1, min(width, fits)))
            lower = min(lower, dropped)
            trail.append((level.before, level.operator))
            if not len(level.cost):
                return Found(None, None, lower, int(counts[0]), largest)
        places, at = [], 0
        for before, operator in reversed(trail):
            places.append(int(operator[at]))
            at = int(before[at])
        cost = int(level.cost[0])
        return Found(cost, places[::-1], min(lower, cost), int(counts[0]), largest)

    def _next(self, level: Level, room: int, limit: int, counts: IntArray) -> Level:
        words = level.done.shape[1]
        following = Level(
            np.empty((room, words), np.int64),
            np.empty((room, words), np.int64),
            *(np.empty(room, np.int64) for _ in range(4)),
        )
        table = np.full(1 << (2 * room + 2).bit_length(), -1)
        size = expand(int(self._is_peak), limit, level, following, table, self._steps, counts)
        return Level(*(np.ascontiguousarray(field[:size]) for field in following))


def _cheapest(level: Level, width: int) -> tuple[Level, int]:
    """Keep the cheapest down-sets; return them and the least cost of the others."""
    if len(level.cost) <= width:
        return level, _NO_LIMIT
    by_cost = np.lexsort((level.live, level.cost))
    kept = np.sort(by_cost[:width])
    return Level(*(field[kept] for field in level)), int(level.cost[by_cost[width]])


def check_steps(part: Section, steps: int) -> int:
    """Return the most that the checker spends to repeat a section's search."""
    reads = max(map(len, part.reads))
    feeds = max(sum(len(part.tensors[t].readers) for t in written) for written in part.writes)
    return steps * (5 + reads + feeds + limits.set_steps(len(part.operators)))


def fits_in_memory(part: Section, largest: int) -> bool:
    """Whether the down-sets of two consecutive sizes fit into the checker's memory."""
    return largest * limits.state_bytes(len(part.operators)) <= limits.MOST_LEVEL_BYTES
