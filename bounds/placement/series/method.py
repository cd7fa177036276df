"""`series`: least times of modules along a chain of operators, found by search and added up.

See `series.chain` for what a module is, and `boundmark.bounds.checker.placement.module_search` for
how one is searched. Each round searches the modules on the shortest way along the chain, with more
steps than the round before.
"""

import itertools
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from boundmark.bounds import checker
from boundmark.bounds.best import Best
from boundmark.bounds.checker.placement.instance import Instance
from boundmark.bounds.checker.placement.limits import MOST_MODULE_OPERATORS
from boundmark.bounds.checker.placement.modules import tensors_written
from boundmark.bounds.checker.placement.paths import NEVER, OUTSIDE, Network
from boundmark.bounds.placement.assignment_load import AssignmentProgram, EqualOperators
from boundmark.bounds.placement.interval_load import IntervalTicks, best_threshold
from boundmark.bounds.placement.series.certificate import (
    Durations,
    least_ends,
    least_rests,
    payload,
    shortest_way,
    total,
)
from boundmark.bounds.placement.series.chain import WELL_SEARCHED, best_chain
from boundmark.bounds.placement.series.parts import Pair, Part, Proof, Shared
from boundmark.problems.arrays import IntArray
from boundmark.problems.certificate import Certificate
from boundmark.problems.method import Budget, Progress
from boundmark.problems.placement import PlacementInstance, PlacementSchedule
from boundmark.problems.placement.feasibility import Work, has_room_while_running, memory_held
from boundmark.problems.ticks import LARGEST_TOTAL

KIND = "series/1"


# Part of the time for searches; the rest is for making the last certificate short enough to check.
SEARCHING = 0.85

# Thresholds are halved while more than this part of them is open, and then asked for one by one.
HALVED = 1 / 8

# Lower thresholds tried once a search is cut off, each in the middle of what is open.
TRIED_BELOW = 1

# What a step takes the checker, in seconds of processor time.
SECONDS_PER_STEP = 0.6e-6

# Ticks of a pair of devices without a known schedule.
UNKNOWN = 2**55


@dataclass(frozen=True)
class SeriesSettings:
    """Settings of `series`: how far and in which order modules are searched."""

    # Steps of a search, round after round.
    limits: tuple[int, ...] = (2**14, 2**17, 2**20, 2**24)
    # Certificates of so few steps are worth a check even if the time is up.
    least_steps: int = 2**20
    # Operators of a module that a search mostly masters.
    well_searched: int = WELL_SEARCHED
    # The same for further chains, where the first one leaves something out and time is left. What
    # lies beside short modules may be inside of longer ones.
    larger: tuple[int, ...] = (126,)


def parts_along_chain(
    instance: PlacementInstance,
    read: Instance,
    network: Network,
    settings: SeriesSettings = SeriesSettings(),
) -> list[Part]:
    """Choose the chain; return its parts with the bounds by paths."""
    graph, written = instance.graph, tensors_written(read)
    chain = best_chain(graph, MOST_MODULE_OPERATORS - 2, settings.well_searched).operators
    if graph.nodes <= settings.well_searched and graph.memory.sum() > graph.capacity.min():
        # One module of all operators takes all the memory into account.
        chain = ()
    places = [OUTSIDE, *chain, OUTSIDE]
    shared: Shared = {}
    return [Part.of(read, network, written, ends, shared) for ends in itertools.pairwise(places)]


@dataclass
class ClosingIn:
    """Search along the chain of an instance, and the bounds proven so far.

    A pair of devices of a module counts only while some way along the chain over it is short. So
    the modules on the shortest way are searched, for the devices that it has there, and then those
    on what is the shortest way by then. Few of all pairs are ever searched, and mostly the short
    ones, on which searches are fastest.
    """

    instance: PlacementInstance
    budget: Budget
    best: Best
    read: Instance
    network: Network
    parts: list[Part]
    # Until when certificates should be checked, if their checks begin as they are reported.
    checked_by: Budget
    settings: SeriesSettings = SeriesSettings()
    # Modules, by the identity of what is known of them, and pairs of devices of which all is known,
    # or nothing more in this round.
    settled: set[tuple[int, Pair]] = field(default_factory=set)
    # Processor time when all this began.
    processor_started: float = field(default_factory=time.process_time)

    @classmethod
    def of(
        cls,
        instance: PlacementInstance,
        budget: Budget,
        best: Best,
        settings: SeriesSettings = SeriesSettings(),
    ) -> "ClosingIn":
        """Return the chain before any search."""
        read = checker.check_instance(instance.to_json())
        network = Network(read)
        parts = parts_along_chain(instance, read, network, settings)
        return cls(instance, budget, best, read, network, parts, budget, settings)

    @property
    def sees_all(self) -> bool:
        """Whether the chain and its modules contain all operators, and memory limits nothing.

        If so, no other bound says more than what modules can prove.
        """
        graph = self.instance.graph
        place: dict[int, int] = {}
        for at, part in enumerate(self.parts):
            place.update(dict.fromkeys(part.body, 2 * at))
            place[part.last] = 2 * at + 1
        reach = [place.get(v, NEVER) + 1 + place.get(v, 0) % 2 for v in range(graph.nodes)]
        return (
            len(place) == graph.nodes + 1
            and all(place[w] <= reach[u] for u, w in graph.dag.edge_pairs().tolist())
            and bool(graph.memory.sum() <= graph.capacity.max())
        )

    @property
    def bound(self) -> int:
        """The bound proven along the chain, in ticks."""
        return total(self.parts, self.network.duration)

    def run(self) -> None:
        """Search with more and more steps, and report after each round."""
        self._report()
        for limit in self.settings.limits:
            self.settled = {
                (id(part.known), pair)
                for part in self.parts
                for pair, found in part.known.best.items()
                if found.ticks == part.least[pair]
            }
            self._close(limit)
            self._report()
            if self.best.is_proven or self.budget.is_spent():
                return

    def _close(self, limit: int) -> None:
        """Search the pairs on the shortest way, with limited steps, until it is long enough."""
        duration = self.network.duration
        while not self.budget.is_spent() and self.bound < self.best.objective:
            is_open = False
            ends, rests = least_ends(self.parts, duration), least_rests(self.parts, duration)
            for at, pair in enumerate(shortest_way(self.parts, duration)):
                part = self.parts[at]
                name = id(part.known), part.first_like(pair)
                if name not in self.settled and not self.budget.is_spent():
                    is_open = True
                    # Bounds raised in this loop make these longer: a little too much is asked.
                    others = ends[at][pair[0]] + rests[at][pair[1]]
                    self._prove(part, pair, self.best.objective - others, limit)
                    self.settled.add(name)
            if not is_open:
                return

    def _prove(self, part: Part, pair: Pair, needed: float, limit: int) -> None:
        """Raise a pair's bound by searches, as far as the best solution makes that useful."""
        if part.module is None:
            self._prove_by_loads(part, pair)
            return
        if part.best_ticks(pair) is None:
            part.attempt(pair, LARGEST_TOTAL, limit)
        high = min(needed, _or_never(part.best_ticks(pair)))
        if high == math.inf:
            self._prove_by_loads(part, pair)
            return
        cut_off = 0
        while part.least[pair] < high and cut_off <= TRIED_BELOW and not self.budget.is_spent():
            is_halved = cut_off or high - part.least[pair] > HALVED * high
            # Just below what is known, the first refutation is the last one that is needed.
            threshold = (part.least[pair] + int(high)) // 2 if is_halved else int(high) - 1
            if part.refute(pair, threshold, limit):
                continue
            known = _or_never(part.best_ticks(pair))
            cut_off += known > threshold
            high = min(threshold, known)
        if cut_off:
            self._prove_by_loads(part, pair)

    def _prove_by_loads(self, part: Part, pair: Pair) -> None:
        """Raise a pair's bound by the load of the work in between, if that is more."""
        if not part.body or self.budget.is_spent():
            return
        head = self.network.heads(part.first, pair[0], part.body, part.last)[0]
        tail = self.network.tails(part.body, part.last, pair[1])
        ticks = IntervalTicks.of(self.network, part.body, head, tail)
        # A large part has few sorts of operators, and a small one a program that is solved again.
        program = (
            EqualOperators(ticks.duration)
            if part.module is None
            else AssignmentProgram(ticks.duration, ticks.duration < NEVER)
        )
        threshold, weights = best_threshold(program, ticks, part.least[pair], self.budget)
        if threshold >= part.least[pair]:
            part.record(pair, Proof(threshold, weights=tuple(weights)))

    def _report(self) -> None:
        """Report the joined schedule, and a certificate."""
        duration = self.network.duration
        schedule = put_together(self.instance, self.parts, duration)
        transfers = self.instance.transfers
        if schedule and has_room_while_running(self.instance.graph, schedule, transfers):
            self.best.solution(schedule)
        bound = min(self.bound, self.best.objective)
        if bound > self.best.certified:
            proven, found = payload(self.read, self.parts, duration, int(bound), self._most_steps())
            self.best.bound(Certificate.of(self.instance, KIND, proven, found, "series"))

    def _most_steps(self) -> int:
        """Estimate the steps that the checker has time for."""
        wall = self.checked_by.spent()
        processor = time.process_time() - self.processor_started
        crowded = max(1.0, wall / max(processor, 0.001)) if wall > 1.0 else 1.0
        seconds = self.checked_by.remaining() / crowded
        return max(self.settings.least_steps, int(seconds / SECONDS_PER_STEP))


def _or_never(ticks: int | None) -> float:
    return math.inf if ticks is None else ticks


def run(
    instance: PlacementInstance,
    budget: Budget,
    seed: int,
    progress: Progress,
    known_cost: int = 0,
    settings: SeriesSettings = SeriesSettings(),
) -> None:
    """Report certificates, and schedules joined from those of the modules."""
    best = Best.before(instance, progress)
    if known_cost:
        best.objective = min(best.objective, known_cost)
    closing = ClosingIn.of(instance, budget.part(SEARCHING), best, settings)
    closing.checked_by = budget
    closing.run()
    for size in settings.larger:
        if closing.sees_all or best.is_proven or closing.budget.is_spent():
            break
        longer = replace(settings, well_searched=size)
        other = ClosingIn.of(instance, closing.budget, best, longer)
        if [part.last for part in other.parts] != [part.last for part in closing.parts]:
            other.checked_by = budget
            other.run()


def best_known(part: Part, pair: Pair) -> int:
    """Return the ticks of a module's best schedule."""
    found = part.best_ticks(pair)
    return UNKNOWN if found is None else found


def put_together(
    instance: PlacementInstance, parts: Sequence[Part], duration: Durations
) -> PlacementSchedule | None:
    """Join the modules' best schedules, and insert the operators outside the modules.

    It is None if there is a module without schedules, or the devices lack memory.
    """
    way = shortest_way(parts, duration, best_known)
    devices = np.full(instance.nodes, -1, dtype=np.int64)
    starts = [0] * instance.nodes
    moves: dict[tuple[int, int], int] = {}
    now = 0
    for part, pair in zip(parts, way, strict=True):
        schedule = part.best(pair)
        if schedule is None or part.module is None:
            return None
        operators = part.operators
        devices[operators] = schedule.devices
        for operator, start in zip(operators, schedule.starts, strict=True):
            if operator != part.first:
                starts[operator] = now + start
        for arc, device, start in schedule.moves:
            receiver = device if part.module.is_shared else operators[part.module.target[arc]]
            moves[int(part.module.tensor[arc]), receiver] = now + start
        if part.last != OUTSIDE:
            starts[part.last] = now + schedule.ticks
            now = starts[part.last] + duration[part.last][pair[1]]
    _place_others(instance, devices)
    if (memory_held(instance.graph, devices) > instance.graph.capacity).any():
        return None
    # In the order of these times, or when others have ended if that is later.
    work = Work.of(instance.graph, devices, instance.transfers)
    known = [*starts, *(moves.get(move, 0) for move in work.moves)]
    alone = work._replace(uses=[()] * len(known))
    return work.in_order(alone.begins(alone.sequence(known), work.ticks, known))


def _place_others(instance: PlacementInstance, devices: IntArray) -> None:
    """Place operators outside all modules: on a neighbour's device, else on their fastest."""
    graph = instance.graph
    fastest = np.where(graph.is_supported, graph.duration, np.iinfo(np.int64).max).argmin(axis=1)
    order = graph.dag.topological_order.tolist()
    for v in [*reversed(order), *order]:
        if devices[v] < 0:
            near = [*graph.dag.consumers_of(v).tolist(), *graph.dag.producers_of(v).tolist()]
            known = [devices[u] for u in near if devices[u] >= 0]
            if known and graph.is_supported[v, known[0]]:
                devices[v] = known[0]
    devices[devices < 0] = fastest[devices < 0]
