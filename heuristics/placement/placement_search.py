"""`placement-search`: simulated annealing over devices ([KIRKPATRICK83]).

A step moves a run of operators, next to each other in topological order, to another device or to
that of the operator before or behind it, or an operator to the device of one that it shares a
tensor with. Half of the runs are short, the others of any order of magnitude: long ones move layers
as a whole, which single moves cannot where transfers are expensive. Where the device has no room,
some of its operators come back in exchange. A step is accepted if the makespan grows by no more
than the temperature times a logarithm of a random number. Placements are scheduled with the
priorities with which the best one was.

Models repeat layers: operators a period apart in topological order are twins. A placement of one
layer is one of all its copies, so a step that is good in one of them is tried in all at once, or
gives all copies the devices of one of them.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from boundmark.heuristics.effort import Effort
from boundmark.heuristics.placement.incumbent import PlacementIncumbent
from boundmark.heuristics.placement.room import has_room, leaving_room
from boundmark.heuristics.placement.starts import constructed
from boundmark.problems.arrays import IntArray
from boundmark.problems.method import Budget, Progress
from boundmark.problems.placement import PlacementGraph, PlacementInstance
from boundmark.problems.placement.feasibility import memory_held


class Repeats:
    """Twins of operators, by their places in topological order.

    Attributes
    ----------
    period
        Period at each place, 0 if nothing is repeated there, shape (n,).
    """

    def __init__(self, graph: PlacementGraph) -> None:
        order = graph.dag.topological_order
        self.order = order
        self.place = np.empty(graph.nodes, dtype=np.int64)
        self.place[order] = np.arange(graph.nodes)
        self.kind = kinds(graph)[order]
        self.period = periods(self.kind)

    @property
    def are_most(self) -> bool:
        """Whether more than half of all operators are in layers; else, they are chance finds."""
        return 2 * int(np.count_nonzero(self.period)) > len(self.period)

    def twins(self, at: int, length: int) -> IntArray:
        """Return the places of a run and of those like it, whole periods away, shape (m, length).

        The run itself is the first row.
        """
        run = np.arange(at, at + length)
        period = int(self.period[at])
        if not period:
            return run[None, :]
        begins = np.arange(at % period, len(self.kind) - length + 1, period)
        places = begins[begins != at, None] + np.arange(length)
        same = (self.kind[places] == self.kind[run]).all(axis=1)
        return np.vstack([run[None, :], places[same]])


def kinds(graph: PlacementGraph) -> IntArray:
    """Return a number for each operator, equal for those with equal costs, shape (n,)."""
    reads = np.zeros(graph.nodes, dtype=np.int64)
    writes = np.zeros(graph.nodes, dtype=np.int64)
    for tensor, readers in enumerate(graph.consumers):
        reads[list(readers)] += 1 + int(graph.size[tensor])
        writes[graph.producer[tensor]] += 1 + int(graph.size[tensor])
    rows = np.column_stack([graph.duration, graph.memory, reads, writes])
    return np.unique(rows, axis=0, return_inverse=True)[1].ravel().astype(np.int64)


def periods(kind: IntArray) -> IntArray:
    """Return the period of each place, 0 for none, shape (n,).

    A period is the distance at which most operators meet one of their own kind. Of layers in a row,
    that is the length of one.
    """
    # Part of all operators that have a twin one period on, for a period to count.
    least = 0.2
    # To look for all periods takes time with the square of the operators.
    longest = 2000
    # Periods that are looked for, each among the operators for which none before has counted.
    most_periods = 3
    n = len(kind)
    found = np.zeros(n, dtype=np.int64)
    for _ in range(most_periods):
        is_open = found == 0
        best, most = 0, max(1, int(least * n))
        for period in range(2, min(longest, n // 2) + 1):
            is_met = (kind[period:] == kind[:-period]) & is_open[period:] & is_open[:-period]
            count = int(np.count_nonzero(is_met))
            if count > most:
                best, most = period, count
        if not best:
            break
        is_met = (kind[best:] == kind[:-best]) & is_open[best:] & is_open[:-best]
        found[:-best][is_met] = best
        found[best:][is_met] = best
    return found


@dataclass(frozen=True)
class PlacementSearchSettings:
    """Settings of `placement-search`."""

    # Probability that a step moves one operator to the device of one that it shares a tensor with,
    # instead of a run of operators.
    to_neighbour: float = 0.4
    # Probability that a step is made in all layers like its own.
    repeated: float = 0.5
    # Probability that a step gives all layers the devices that a run of operators has in one.
    copied: float = 0.1


DEFAULTS = PlacementSearchSettings()


def moved(
    instance: PlacementInstance,
    devices: IntArray,
    generator: np.random.Generator,
    settings: PlacementSearchSettings = DEFAULTS,
    repeats: Repeats | None = None,
) -> IntArray | None:
    """Return the placement after a random step, None if a device lacks support or room.

    Steps are made in all layers like their own only where `repeats` says where these are.
    """
    graph = instance.graph
    changed = devices.copy()
    if repeats is not None and generator.random() < settings.copied:
        return _copied(instance, devices, generator, repeats)
    if graph.dag.edges and generator.random() < settings.to_neighbour:
        edge = int(generator.integers(graph.dag.edges))
        ends = int(graph.dag.sources[edge]), int(graph.dag.targets[edge])
        first, second = ends if generator.random() < 0.5 else ends[::-1]
        changed[first] = changed[second]
        run = np.array([first])
    else:
        at, length = int(generator.integers(graph.nodes)), _length(graph.nodes, generator)
        order = graph.dag.topological_order
        run = order[at : at + length]
        # Half of the runs move to the device of the operator before or behind them.
        if generator.random() < 0.5:
            beside = at - 1 if generator.random() < 0.5 else min(graph.nodes - 1, at + length)
            changed[run] = devices[order[beside]]
        else:
            changed[run] = int(generator.integers(graph.devices))
    if repeats is not None and generator.random() < settings.repeated:
        twins = repeats.order[repeats.twins(int(repeats.place[run[0]]), len(run))]
        changed[twins] = changed[run]
        run = twins.ravel()
    if (changed == devices).all() or not graph.is_supported[run, changed[run]].all():
        return None
    if (memory_held(graph, changed) <= graph.capacity).all():
        return changed
    # The target device has no room: exchange the run for operators on the target device.
    target = changed[run[0]]
    others = np.flatnonzero(devices == target)
    if not len(others):
        return None
    others = np.roll(others, int(generator.integers(len(others))))
    excess = memory_held(graph, changed)[target] - graph.capacity[target]
    enough = 1 + int(np.searchsorted(np.cumsum(graph.memory[others]), excess))
    changed[others[:enough]] = devices[run[0]]
    return changed if has_room(instance, changed) else None


def _copied(
    instance: PlacementInstance, devices: IntArray, generator: np.random.Generator, repeats: Repeats
) -> IntArray | None:
    """Return the placement after a run's devices are those of all runs like it."""
    at = int(generator.integers(instance.nodes))
    longest = max(1, min(int(repeats.period[at]), instance.nodes - at))
    length = int(math.exp(generator.uniform(0.0, math.log(longest)))) if longest > 1 else 1
    # Whole layers are most of what is worth copying.
    length = longest if generator.random() < 0.5 else length
    changed = devices.copy()
    twins = repeats.order[repeats.twins(at, length)]
    changed[twins] = devices[twins[0]]
    is_same = (changed == devices).all()
    return None if is_same or not has_room(instance, changed) else changed


def _length(nodes: int, generator: np.random.Generator) -> int:
    """Draw the number of operators of a run: half are short, the longest a quarter of all."""
    if generator.random() < 0.5:
        return 1 + int(generator.exponential(4.0) * generator.exponential())
    return int(math.exp(generator.uniform(0.0, math.log(max(1.0, 0.25 * nodes)))))


def anneal(
    instance: PlacementInstance,
    best: PlacementIncumbent,
    budget: Budget,
    evaluations: int,
    generator: np.random.Generator,
) -> None:
    """Improve the best placement until the steps are used up or the budget ends.

    There are so many steps as `evaluations` says, 0 for as many as the budget allows; the cooling
    follows them or the clock.
    """
    effort, current_round = Effort(budget, evaluations or None), -1
    layers = Repeats(instance.graph)
    repeats = layers if layers.are_most else None
    current, cost, priority = best.solution.devices, best.cost, best.priority
    while not effort.is_spent() and best.cost > 0:
        # Temperatures are in units of the best makespan; each round begins with the best placement.
        new_round, heat = effort.cooled(rounds=4, hottest=0.005, coldest=0.0002)
        if new_round > current_round:
            current_round = new_round
            current, cost, priority = best.solution.devices, best.cost, best.priority
        effort.take(1)
        changed = moved(instance, current, generator, repeats=repeats)
        if changed is None:
            continue
        temperature = heat * best.cost
        makespan = best.evaluate(changed, priority)
        if makespan <= cost + temperature * generator.exponential():
            current, cost = changed, makespan


@leaving_room
def run(
    instance: PlacementInstance,
    budget: Budget,
    seed: int,
    progress: Progress,
    evaluations: int,
    **params: Any,
) -> None:
    """Report the simple methods' placements, then improve the best one by annealing."""
    best = PlacementIncumbent(instance, progress)
    for devices, urgency in constructed(instance, best.arrays):
        best.evaluate(devices)
        if urgency is not None:
            best.evaluate(devices, urgency)
        if budget.is_spent():
            return
    best.require_solution()
    if instance.graph.devices > 1:
        anneal(instance, best, budget, evaluations, np.random.default_rng(seed))
