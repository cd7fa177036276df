"""`interval-load`: least times between operators that all paths pass, by paths and by loads.

For the definitions, and why this is a proof, see `boundmark.bounds.checker.placement`. What paths
prove is computed by the checker's own `Network`; here the thresholds and weights are found. The
operators come from immediate dominators ([COOPER01]).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from boundmark.bounds import checker
from boundmark.bounds.checker.placement.paths import NEVER, OUTSIDE, Jump, Network
from boundmark.bounds.placement.assignment_load import AssignmentProgram
from boundmark.problems.arrays import IntArray
from boundmark.problems.certificate import Certificate
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import Budget, Progress
from boundmark.problems.placement import PlacementGraph, PlacementInstance

KIND = "interval-load/1"

# Of the time, for intervals inside; the rest is for the whole.
INSIDE = 0.7

# Linear programs for each pair of devices, and the precision of thresholds at which they stop.
MOST_PROGRAMS = 12
PRECISION = 2000

# Steps of the checker for all intervals; it allows for four times as many.
MOST_STEPS = 2**24


@dataclass
class Interval:
    """An interval, what is proven of it, and the rows of its certificate.

    Attributes
    ----------
    steps
        What the checker takes for it, about.
    """

    jump: Jump
    rows: list[list[int]] = field(default_factory=list)
    steps: int = 0

    def to_json(self) -> dict[str, Any]:
        """Return the interval as certificates have it."""
        return {"first": self.jump.first, "last": self.jump.last, "rows": self.rows}


def intervals_inside(graph: PlacementGraph) -> list[tuple[int, int]]:
    """Return pairs (first, last): where paths meet, and the last operator that they all passed."""
    dag = graph.dag
    order = dag.topological_order.tolist()
    producers = [dag.producers_of(v).tolist() for v in range(graph.nodes)]
    sinks = [v for v in range(graph.nodes) if not len(dag.consumers_of(v))]
    dominator = immediate_dominators(order, [*producers, sinks])
    pairs = [(dominator[v], v) for v in order if len(producers[v]) > 1]
    if len(sinks) > 1:
        pairs.append((dominator[graph.nodes], OUTSIDE))
    return [pair for pair in pairs if pair[0] != OUTSIDE]


def run(
    instance: PlacementInstance, budget: Budget, seed: int, progress: Progress, **params: Any
) -> None:
    """Report the longest path, the bound of the whole schedule's load, then with intervals inside.

    Raises
    ------
    UnsupportedError
        If the checker would take too long.
    """
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
    """Return the intervals of which loads prove more than paths, and add them to the network."""
    intervals: list[Interval] = []
    steps = MOST_STEPS
    for first, last in intervals_inside(graph):
        if budget.is_spent():
            break
        interval = bound_interval(network, first, last, budget, steps)
        if interval is not None and interval.rows:
            network.add(interval.jump)
            intervals.append(interval)
            steps -= interval.steps
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
    """Return what paths prove of an interval, then loads while the budget lasts.

    Parameters
    ----------
    most_steps
        Of the checker; None is returned for an interval that takes more.
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
        tail = np.array([tails[v] for v in body], dtype=np.int64)
        for source in range(sources):
            if budget.is_spent():
                return interval
            head = np.array([found[source][0][v] for v in body], dtype=np.int64)
            least = interval.jump.least[source][target]
            threshold, weights = best_threshold(program, head, duration, tail, least, budget)
            if threshold >= least:
                interval.jump.least[source][target] = threshold + 1
                interval.rows.append([source, target, threshold, *weights])
    return interval


def _steps(network: Network, body: list[int], sources: int, targets: int) -> int:
    """Return how many steps the checker takes for an interval, at most about."""
    reads = sum(len(network.inputs[v]) + len(network.jumps_to.get(v, ())) for v in body)
    writes = sum(len(network.outputs[v]) + len(network.jumps_from.get(v, ())) for v in body)
    rows = 2 * sources * targets * len(body) * network.devices
    return (sources * reads + targets * writes) * network.devices**2 + rows


def best_threshold(
    program: AssignmentProgram,
    head: IntArray,
    duration: IntArray,
    tail: IntArray,
    least: int,
    budget: Budget,
) -> tuple[int, list[int]]:
    """Return the largest threshold found that loads refute, and the weights.

    Parameters
    ----------
    head, duration, tail
        Ticks of each operator on each device, shape (b, D).
    least
        What is proven already; if no threshold from there up is refuted, one below is returned.
    """
    total = head + duration + tail
    best: tuple[int, list[int]] = (least - 1, [])
    # Where operators may be anywhere, loads mostly come close already.
    anywhere, _ = _refuted_from(program, head, duration, tail, total, NEVER - 1, budget)
    low, high, at = least, None, max(least, anywhere if anywhere < NEVER - 2 else least)
    for _ in range(MOST_PROGRAMS):
        if budget.is_spent():
            return best
        reached, weights = _refuted_from(program, head, duration, tail, total, at, budget)
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
    program: AssignmentProgram,
    head: IntArray,
    duration: IntArray,
    tail: IntArray,
    total: IntArray,
    threshold: int,
    budget: Budget,
) -> tuple[int, list[int]]:
    """Return the largest threshold that is refuted as the given one is, or one below that."""
    allowed = total <= threshold
    beyond = total[~allowed]
    # From here on, an operator can be where it could not.
    change = int(beyond.min()) if beyond.size else None
    if not allowed.any(axis=1).all():
        return (threshold if change is None else change - 1), [0] * duration.shape[1]
    far = np.int64(2**62)
    before = np.where(allowed, head, far).min(axis=0)
    behind = np.where(allowed, tail, far).min(axis=0)
    used = np.asarray(allowed.any(axis=0))
    lost = np.where(used, before + np.where(used, behind, 0), 0)
    found = program.weights(allowed, lost, budget.remaining())
    if found is None:
        return threshold - 1, []
    weights = [weight if u else 0 for weight, u in zip(found.work, used.tolist(), strict=True)]
    if not any(weights):
        # Without work, the row of a device that nothing can be on may be as good as any.
        return threshold - 1, []
    demand = sum(
        min(weight * ticks for weight, ticks, can in zip(weights, row, cans, strict=True) if can)
        for row, cans in zip(duration.tolist(), allowed.tolist(), strict=True)
    )
    demand += sum(weight * ticks for weight, ticks in zip(weights, lost.tolist(), strict=True))
    # The largest t with demand > t sum(weights).
    reached = -(-demand // sum(weights)) - 1
    return (reached if change is None else min(reached, change - 1)), weights


def immediate_dominators(order: Sequence[int], producers: Sequence[Sequence[int]]) -> list[int]:
    """Return, for each operator and the end, the last operator that all paths to it pass.

    Parameters
    ----------
    order
        The n operators in topological order.
    producers
        What each operator reads, and at the end what the end waits for: n + 1 entries.

    Returns
    -------
    list
        Entry n belongs to the end; `OUTSIDE` where there is no such operator.
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
