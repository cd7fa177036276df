"""The optimum of tiny instances of `slicing`: all partition vectors of all operators."""

import itertools
import math
from collections.abc import Sequence
from functools import cache

import numpy as np

from boundmark.problems.errors import InvalidInputError
from boundmark.problems.slicing import Edge, SlicingGraph, SlicingInstance, SlicingPlan
from boundmark.problems.slicing.graph import whole

# Windows without stride: only the same index, and one neighbour on each side as well.
SAME, HALO = (1, 0, 1, 1, 1), (1, -1, 3, 1, 1)


def needs_all(producer: int, consumer: int, extent: int, unit: int = 1) -> Edge:
    """Return an edge of which every part needs the whole tensor."""
    return whole(producer, consumer, unit, extent)


def needs(
    producer: int, consumer: int, extent: int, window: Sequence[int] = SAME, unit: int = 1
) -> Edge:
    """Return an edge with a window: multiply, add, size, divide and scale."""
    return Edge(producer, consumer, unit, extent, *window)


def instance(
    length: Sequence[int],
    work: Sequence[Sequence[int]],
    edges: Sequence[Edge] = (),
    *,
    axis: Sequence[int] | None = None,
    launch: Sequence[int] | None = None,
    weights: Sequence[int] | None = None,
    output: Sequence[int] | None = None,
    capacity: Sequence[int] | None = None,
    point_to_point: tuple[int, int] = (1, 1),
    broadcast: tuple[int, int] = (1, 1),
    delay: int = 0,
) -> SlicingInstance:
    """Return an instance; without further costs, a byte takes a tick and memory is plentiful."""
    nodes, devices = len(length), len(work[0])
    return SlicingInstance(
        SlicingGraph(
            length=list(length),  # type: ignore[arg-type]
            axis=list(axis or [1] * nodes),  # type: ignore[arg-type]
            work=[list(row) for row in work],  # type: ignore[arg-type]
            launch=list(launch or [0] * devices),  # type: ignore[arg-type]
            weights=list(weights or [0] * nodes),  # type: ignore[arg-type]
            output=list(output or [0] * nodes),  # type: ignore[arg-type]
            edges=tuple(edges),
            capacity=list(capacity or [1000] * devices),  # type: ignore[arg-type]
            point_to_point=point_to_point,
            broadcast=broadcast,
            delay=delay,
            names=tuple(f"v{v}" for v in range(nodes)),
            device_names=tuple(f"d{d}" for d in range(devices)),
        )
    )


@cache
def vectors(length: int, devices: int) -> list[tuple[int, ...]]:
    """Return all partition vectors of an operator."""
    inner = itertools.combinations_with_replacement(range(length + 1), devices - 1)
    return [(0, *cuts, length) for cuts in inner]


def plans(sample: SlicingInstance) -> int:
    """Return how many plans there are."""
    devices = sample.graph.devices
    return math.prod(
        math.comb(length + devices - 1, devices - 1) for length in sample.graph.length.tolist()
    )


def orders(sample: SlicingInstance) -> list[list[int]]:
    """Return all orders in which the operators can run, that of their numbers first."""
    edges = sample.graph.edges
    found = map(list, itertools.permutations(range(sample.nodes)))
    return [
        row for row in found if all(row.index(e.producer) < row.index(e.consumer) for e in edges)
    ]


def optimum(sample: SlicingInstance) -> float:
    """Return the least latency, in whatever order; infinite if no plan fits into memory."""
    best = math.inf
    devices, every = sample.graph.devices, orders(sample)
    for rows in itertools.product(*(vectors(n, devices) for n in sample.graph.length.tolist())):
        for order in every:
            try:
                best = min(best, sample.objective(SlicingPlan(np.array(rows), np.array(order))))
            except InvalidInputError:
                # Too little memory.
                continue
            break
    return best
