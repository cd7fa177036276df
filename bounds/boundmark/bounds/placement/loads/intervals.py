"""Least times between two operators: by paths, and by the work of what lies between.

For the definitions, and why this is a proof, see `boundmark.bounds.checker.placement`. What paths
prove is computed by the checker's own `Network`; here the thresholds and weights are found.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from boundmark.bounds.checker.placement.paths import OUTSIDE, Jump, Network
from boundmark.bounds.placement.loads.weights import assignment_weights
from boundmark.problems.arrays import IntArray
from boundmark.problems.method import Budget

# Linear programs for each pair of devices, and the precision of thresholds at which they stop.
MOST_PROGRAMS = 12
PRECISION = 2000


@dataclass
class Interval:
    """An interval, what is proven of it, and the rows of its certificate."""

    jump: Jump
    rows: list[list[int]] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """Return the interval as certificates have it."""
        return {"first": self.jump.first, "last": self.jump.last, "rows": self.rows}


def bound_interval(network: Network, first: int, last: int, budget: Budget) -> Interval:
    """Return what paths prove of an interval, then loads while the budget lasts."""
    body = network.between(first, last)
    sources, targets = (1 if v == OUTSIDE else network.devices for v in (first, last))
    found = [network.heads(first, device, body, last) for device in range(sources)]
    interval = Interval(Jump(first, last, [list(to_last) for _, to_last in found]))
    if not body:
        return interval
    duration = np.array([network.duration[v] for v in body], dtype=np.int64)
    for target in range(targets):
        tails = network.tails(body, last, target)
        tail = np.array([tails[v] for v in body], dtype=np.int64)
        for source in range(sources):
            if budget.is_spent():
                return interval
            head = np.array([found[source][0][v] for v in body], dtype=np.int64)
            least = interval.jump.least[source][target]
            threshold, weights = best_threshold(head, duration, tail, least)
            if threshold >= least:
                interval.jump.least[source][target] = threshold + 1
                interval.rows.append([source, target, threshold, *weights])
    return interval


def best_threshold(
    head: IntArray, duration: IntArray, tail: IntArray, least: int
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
    low, high, at = least, None, least
    for _ in range(MOST_PROGRAMS):
        reached, weights = _refuted_from(head, duration, tail, total, at)
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
    head: IntArray, duration: IntArray, tail: IntArray, total: IntArray, threshold: int
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
    found = assignment_weights(duration, allowed, lost)
    if found is None:
        return threshold - 1, []
    weights = [weight if u else 0 for weight, u in zip(found.weights, used.tolist(), strict=True)]
    demand = sum(
        min(weight * ticks for weight, ticks, can in zip(weights, row, cans, strict=True) if can)
        for row, cans in zip(duration.tolist(), allowed.tolist(), strict=True)
    )
    demand += sum(weight * ticks for weight, ticks in zip(weights, lost.tolist(), strict=True))
    # The largest t with demand > t sum(weights).
    reached = -(-demand // sum(weights)) - 1
    return (reached if change is None else min(reached, change - 1)), weights
