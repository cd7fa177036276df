"""`interval-load`: least times between operators that all paths pass, by paths and by loads.

For the definitions, and why this is a proof, see `boundmark.bounds.checker.placement`. What paths
prove is computed by the checker's own `Network`; here the thresholds and weights are found. The
operators come from immediate dominators ([COOPER01]).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from boundmark.bounds import checker
from boundmark.bounds.checker.placement.paths import NEVER, OUTSIDE, Jump, Network
from boundmark.bounds.placement.assignment_load import AssignmentProgram, BoolArray, EqualOperators
from boundmark.problems.arrays import IntArray
from boundmark.problems.certificate import Certificate
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import Budget, Progress
from boundmark.problems.placement import PlacementGraph, PlacementInstance

KIND = "interval-load/1"


# Part of the time for intervals inside; the rest is for the whole schedule.
INSIDE = 0.7

# Linear programs for each pair of devices, at most.
MOST_PROGRAMS = 12

# Thresholds are bisected until they differ by less than one part in so many.
PRECISION = 2000

# Steps of the checker for all intervals; it allows for four times as many.
MOST_STEPS = 2**24


@dataclass(frozen=True, eq=False)
class IntervalTicks:
    """Ticks of an interval's operators on each device, three of shape (b, D)."""

    # The least from the interval's beginning to the operator, and from there to its end.
    head: IntArray
    duration: IntArray
    tail: IntArray

    @classmethod
    def of(
        cls,
        network: Network,
        body: Sequence[int],
        heads: Mapping[int, Sequence[int]],
        tails: Mapping[int, Sequence[int]],
    ) -> "IntervalTicks":
        """Return the ticks of the operators of an interval's body."""
        head, duration, tail = (
            np.array([row[v] for v in body], dtype=np.int64)
            for row in (heads, network.duration, tails)
        )
        return cls(head, duration, tail)

    @cached_property
    def total(self) -> IntArray:
        """The least that the interval takes with an operator on a device."""
        return self.head + self.duration + self.tail

    def lost(self, allowed: BoolArray) -> tuple[IntArray, BoolArray]:
        """Return what each device cannot use of an interval, and whether it is used at all.

        Operators may be where `allowed`, shape (b, D), says.
        """
        far = np.int64(2**62)
        used = np.asarray(allowed.any(axis=0))
        before = np.where(allowed, self.head, far).min(axis=0)
        behind = np.where(allowed, self.tail, far).min(axis=0)
        return np.where(used, before, 0) + np.where(used, behind, 0), used


@dataclass
class Interval:
    """An interval: its proven least ticks, and the rows of its certificate."""

    jump: Jump
    rows: list[list[int]] = field(default_factory=list)
    # What the checker takes for it, about.
    steps: int = 0

    def to_json(self) -> dict[str, Any]:
        """Return the interval as certificates have it."""
        return {"first": self.jump.first, "last": self.jump.last, "rows": self.rows}


def intervals_inside(graph: PlacementGraph) -> list[tuple[int, int]]:
    """Return the intervals: operators where paths meet, with their immediate dominators."""
    dag = graph.dag
    order = dag.topological_order.tolist()
    producers = [dag.producers_of(v).tolist() for v in range(graph.nodes)]
    sinks = [v for v in range(graph.nodes) if not len(dag.consumers_of(v))]
    dominator = immediate_dominators(order, [*producers, sinks])
    pairs = [(dominator[v], v) for v in order if len(producers[v]) > 1]
    if len(sinks) > 1:
        pairs.append((dominator[graph.nodes], OUTSIDE))
    return [pair for pair in pairs if pair[0] != OUTSIDE]


def least_whole(network: Network) -> int:
    """Return what paths prove of the whole schedule."""
    return network.heads(OUTSIDE, 0, network.inside(OUTSIDE, OUTSIDE), OUTSIDE)[1][0]


def run(
    instance: PlacementInstance,
    budget: Budget,
    seed: int,
    progress: Progress,
    **params: Any,
) -> None:
    """Report the longest path, then bounds by loads: of the whole, then with intervals inside."""
    read = checker.check_instance(instance.to_json())
    network = Network(read)
    best = -1
    for part in (budget.part(0.0), budget.part(1 - INSIDE)):
        whole = bound_interval(network, OUTSIDE, OUTSIDE, part)
        if whole is None:
            raise UnsupportedError("the graph is too large for the checker.")
        best = _report(instance, [whole], progress, best)
    intervals = proven_inside(instance.graph, network, budget.part(INSIDE))
    if intervals:
        again = bound_interval(network, OUTSIDE, OUTSIDE, budget)
        if again is not None:
            _report(instance, [*intervals, again], progress, best)


def proven_inside(graph: PlacementGraph, network: Network, budget: Budget) -> list[Interval]:
    """Return the intervals where loads prove more than paths; add them to the network."""
    intervals: list[Interval] = []
    left = MOST_STEPS
    for first, last in intervals_inside(graph):
        if budget.is_spent():
            break
        interval = bound_interval(network, first, last, budget, left)
        if interval is not None and interval.rows:
            network.add(interval.jump)
            intervals.append(interval)
            left -= interval.steps
    return intervals


def _report(
    instance: PlacementInstance, intervals: list[Interval], progress: Progress, best: int
) -> int:
    bound = intervals[-1].jump.least[0][0]
    if bound > best:
        payload = {"intervals": [interval.to_json() for interval in intervals]}
        progress.bound(Certificate.of(instance, KIND, bound, payload, "interval-load"))
    return max(best, bound)


def bound_interval(
    network: Network, first: int, last: int, budget: Budget, most_steps: int = MOST_STEPS
) -> Interval | None:
    """Bound an interval by paths, and by loads while the budget lasts.

    It is None if that takes the checker more than `most_steps`.
    """
    body = network.between(first, last)
    sources, targets = (1 if v == OUTSIDE else network.devices for v in (first, last))
    steps = _steps(network, body, sources, targets)
    if steps > most_steps:
        return None
    found = [network.heads(first, device, body, last) for device in range(sources)]
    interval = Interval(Jump(first, last, [list(to_last) for _, to_last in found]), steps=steps)
    if not body or budget.is_spent():
        return interval
    duration = np.array([network.duration[v] for v in body], dtype=np.int64)
    program = AssignmentProgram(duration, duration < NEVER)
    for target in range(targets):
        tails = network.tails(body, last, target)
        for source in range(sources):
            if budget.is_spent():
                return interval
            least = interval.jump.least[source][target]
            ticks = IntervalTicks.of(network, body, found[source][0], tails)
            threshold, weights = best_threshold(program, ticks, least, budget)
            if threshold >= least:
                interval.jump.least[source][target] = threshold + 1
                interval.rows.append([source, target, threshold, *weights])
    return interval


def _steps(network: Network, body: list[int], sources: int, targets: int) -> int:
    """Estimate the checker's steps for an interval."""
    reads = sum(len(network.inputs[v]) + len(network.jumps_to.get(v, ())) for v in body)
    writes = sum(len(network.outputs[v]) + len(network.jumps_from.get(v, ())) for v in body)
    rows = 2 * sources * targets * len(body) * network.devices
    return (sources * reads + targets * writes) * network.devices**2 + rows


def best_threshold(
    program: AssignmentProgram | EqualOperators,
    ticks: IntervalTicks,
    least: int,
    budget: Budget,
) -> tuple[int, list[int]]:
    """Search for the largest threshold that loads refute; return it with the weights.

    What is proven already is `least`; if no threshold from there up is refuted, it returns one
    below.
    """
    best: tuple[int, list[int]] = (least - 1, [])
    # Loads without any restriction of devices are mostly close to the best already.
    anywhere, _ = _refuted_from(program, ticks, NEVER - 1, budget)
    low, high, at = least, None, max(least, anywhere if anywhere < NEVER - 2 else least)
    for _ in range(MOST_PROGRAMS):
        if budget.is_spent():
            return best
        reached, weights = _refuted_from(program, ticks, at, budget)
        if reached >= at:
            best = reached, weights
            low = reached + 1
        else:
            high = at
        if high is None:
            at = max(low, low + (low - least))
        elif high - low <= low // PRECISION:
            at = low
            if low >= high:
                return best
        else:
            at = (low + high) // 2
        if high is not None and at >= high:
            return best
    return best


def _refuted_from(
    program: AssignmentProgram | EqualOperators,
    ticks: IntervalTicks,
    threshold: int,
    budget: Budget,
) -> tuple[int, list[int]]:
    """Return the largest threshold that one program refutes; one below the given if none."""
    duration, total = ticks.duration, ticks.total
    allowed = total <= threshold
    beyond = total[~allowed]
    # The least threshold at which another device becomes possible for an operator.
    change = int(beyond.min()) if beyond.size else None
    if not allowed.any(axis=1).all():
        return (threshold if change is None else change - 1), [0] * duration.shape[1]
    lost, used = ticks.lost(allowed)
    found = program.weights(allowed, lost, budget.remaining())
    if found is None:
        return threshold - 1, []
    weights = [weight if u else 0 for weight, u in zip(found.work, used.tolist(), strict=True)]
    if not any(weights):
        # A degenerate dual may put all weight on a device that no operator can use.
        return threshold - 1, []
    demand = sum(
        min(weight * least for weight, least, can in zip(weights, row, cans, strict=True) if can)
        for row, cans in zip(duration.tolist(), allowed.tolist(), strict=True)
    )
    demand += sum(weight * unused for weight, unused in zip(weights, lost.tolist(), strict=True))
    # The largest t with demand > t sum(weights).
    reached = -(-demand // sum(weights)) - 1
    return (reached if change is None else min(reached, change - 1)), weights


def immediate_dominators(order: Sequence[int], producers: Sequence[Sequence[int]]) -> list[int]:
    """Return the immediate dominator of each operator and of the end.

    The n operators are in topological order; `producers` has what each one reads, and at the end
    what the end waits for. Where there is no dominator, it is `OUTSIDE`.
    """
    dominator = [OUTSIDE] * len(producers)
    depth = [0] * len(producers)

    def common(nodes: Iterable[int]) -> int:
        found = None
        for node in nodes:
            a, b = node if found is None else found, node
            while a != b:
                if b == OUTSIDE or (a != OUTSIDE and depth[a] >= depth[b]):
                    a = dominator[a]
                else:
                    b = dominator[b]
            found = a
        return OUTSIDE if found is None else found

    for node in (*order, len(producers) - 1):
        dominator[node] = common(producers[node])
        depth[node] = 1 + (0 if dominator[node] == OUTSIDE else depth[dominator[node]])
    return dominator
