"""Makes a payload of prices: integers, as many paths to as from each operator."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from boundmark.bounds.checker.placement.paths import OUTSIDE
from boundmark.bounds.placement.prices.arcs import Arcs
from boundmark.bounds.placement.prices.program import FloatArray, Prices
from boundmark.problems.placement import PlacementGraph

# All prices together.
UNITS = 2**24


def rounded(graph: PlacementGraph, arcs: Arcs, prices: Prices) -> dict[str, Any]:
    """Return arcs, work and memory of a payload."""
    work = [round(float(value) * UNITS) for value in prices.work]
    amounts = _whole_paths(graph, arcs, prices.paths, max(0, UNITS - sum(work)))
    rows = []
    near, far = (np.rint(values * UNITS) for values in (prices.near, prices.far))
    for at, (first, last) in enumerate(zip(arcs.first.tolist(), arcs.last.tolist(), strict=True)):
        amount = amounts[first, last]
        if amount:
            rows.append([first, last, amount, *map(int, near[at]), *map(int, far[at])])
    none = [0] * graph.devices
    for (first, last), amount in amounts.items():
        if amount and OUTSIDE in (first, last):
            rows.append([first, last, amount, *([0] if first == OUTSIDE else none),
                         *([0] if last == OUTSIDE else none)])  # fmt: skip
    memory = [round(float(value) * UNITS) for value in prices.memory]
    return {"arcs": rows, "work": work, "memory": memory}


def _whole_paths(
    graph: PlacementGraph, arcs: Arcs, paths: FloatArray, total: int
) -> dict[tuple[int, int], int]:
    """Return numbers of paths about as given, by arc, as many to as from each operator.

    Whatever arrives at an operator is divided among what leaves it, from the begin on.
    """
    n = graph.nodes
    leaving: list[list[tuple[int, float]]] = [[] for _ in range(n)]
    to, out = np.zeros(n), np.zeros(n)
    for first, last, amount in zip(
        arcs.first.tolist(), arcs.last.tolist(), paths.tolist(), strict=True
    ):
        leaving[first].append((last, amount))
        out[first] += amount
        to[last] += amount
    from_outside = [(v, float(max(0.0, out[v] - to[v]))) for v in range(n)]
    for v in range(n):
        ending = float(max(0.0, to[v] - out[v]))
        if ending > 0 or not leaving[v]:
            leaving[v].append((OUTSIDE, ending))
    found: dict[tuple[int, int], int] = {}
    arrived = [0] * n
    for v, ways in ((OUTSIDE, from_outside), *((v, leaving[v]) for v in _order(graph))):
        amount = total if v == OUTSIDE else arrived[v]
        for (last, _), part in zip(ways, _divided(amount, [w for _, w in ways]), strict=True):
            found[v, last] = part
            if last != OUTSIDE:
                arrived[last] += part
    return found


def _order(graph: PlacementGraph) -> list[int]:
    order: list[int] = graph.dag.topological_order.tolist()
    return order


def _divided(amount: int, weights: Sequence[float]) -> list[int]:
    """Return integers that add up to an amount, about in proportion to weights."""
    sum_of_weights = sum(weights)
    if not amount or sum_of_weights <= 0:
        # No matter where: there is next to nothing.
        return [amount, *[0] * (len(weights) - 1)]
    parts = [int(amount * (weight / sum_of_weights)) for weight in weights]
    parts[max(range(len(weights)), key=weights.__getitem__)] += amount - sum(parts)
    return parts
