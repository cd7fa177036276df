"""`heft` and `peft`: each operator on the device where it ends first, or the whole model should.

`heft`: operators by longest path, each on the device where it ends first ([HEFT02]). `peft`: an
operator goes to the device where its end plus the longest path from there to the end, with the best
devices for it, is shortest ([PEFT14]), by an optimistic cost table. Three things differ from the
paper: a transfer between two devices has its own cost, not the mean; operators are also taken in
topological order; and where memory is short, it has prices; several are tried.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boundmark.heuristics.incumbent import NO_COST
from boundmark.heuristics.placement.greedy_kernels import earliest_finish, least_rests
from boundmark.heuristics.placement.incumbent import PlacementIncumbent
from boundmark.heuristics.placement.room import leaving_room, with_all_placed
from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import Budget, Progress
from boundmark.problems.placement import PlacementGraph, PlacementInstance
from boundmark.problems.placement.compiled import PlacementArrays, time_to_end


def mean_ranks(graph: PlacementGraph, arrays: PlacementArrays) -> IntArray:
    """Return the longest path from each operator to the end, shape (n,), rounded down.

    It consists of mean durations, over the devices that support the operator, and of mean times of
    transfers, over all pairs of different devices ([HEFT02], Equation 8): as if there was one
    device, from which tensors take so long to itself.
    """
    mean = arrays._replace(
        duration=frozen(mean_durations(graph)[:, None]),
        times=frozen(_mean_times(graph)[:, None, None]),
    )
    return time_to_end(mean, np.zeros(graph.nodes, dtype=np.int64))


def by_rank(instance: PlacementInstance, ranks: IntArray) -> IntArray:
    """Return the operators in topological order, those of the largest rank first, shape (n,)."""
    order = instance.graph.dag.topological_order
    return np.asarray(order[np.argsort(-ranks[order], kind="stable")])


@leaving_room
def run_heft(
    instance: PlacementInstance, budget: Budget, seed: int, progress: Progress, **params: Any
) -> None:
    """Report the placement, scheduled by longest paths, by ranks and in the order found."""
    best = PlacementIncumbent(instance, progress)
    ranks = mean_ranks(instance.graph, best.arrays)
    sequence = by_rank(instance, ranks)
    handicap = np.zeros_like(instance.graph.duration)
    devices, starts = earliest_finish(best.arrays, sequence, handicap)
    best.evaluate_list_schedule(devices, ranks, -starts)


def mean_durations(graph: PlacementGraph) -> IntArray:
    """Return the mean duration of each operator, over devices that support it, shape (n,)."""
    supported = graph.is_supported
    total = np.where(supported, graph.duration, 0).sum(axis=1)
    return np.asarray(total // supported.sum(axis=1))


def mean_transfers(graph: PlacementGraph) -> IntArray:
    """Return the mean time of each tensor, over pairs of different devices, shape (T,)."""
    return _mean_times(graph)[graph.size]


def _mean_times(graph: PlacementGraph) -> IntArray:
    pairs = max(1, graph.devices * (graph.devices - 1))
    return np.asarray(graph.times.sum(axis=(1, 2)) // pairs)


@leaving_room
def run_peft(
    instance: PlacementInstance,
    budget: Budget,
    seed: int,
    progress: Progress,
    *,
    trials: int,
    **params: Any,
) -> None:
    """Report each better placement."""
    best = PlacementIncumbent(instance, progress)
    generator = np.random.default_rng(seed)
    left_over = None
    for devices, urgency in looking_ahead(instance, best.arrays, trials, generator):
        if devices.min() < 0:
            left_over = devices
        else:
            best.evaluate(devices)
            best.evaluate(devices, urgency)
        if budget.is_spent():
            break
    if best.cost == NO_COST:
        if left_over is None:
            raise UnsupportedError("the time was too short for a placement.")
        best.evaluate(with_all_placed(instance, left_over))


def looking_ahead(
    instance: PlacementInstance,
    arrays: PlacementArrays,
    trials: int,
    generator: np.random.Generator,
) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield placements and the priorities in whose order they were found, both shape (n,).

    Each operator goes to the device with the smallest sum of its end there and of the shortest
    remaining time from there on. Operators are taken in topological order and by ranks in turn. If
    not all devices have room for all of them, memory has prices, drawn for each device: operators
    that need much memory and gain little go to slow devices, and the fast ones keep their room for
    the rest.

    The first two placements have -1 where an operator has found no room; later ones without room
    for all operators are left out. Prices are drawn `trials` times.
    """
    graph = instance.graph
    sequences = (graph.dag.topological_order.copy(), by_rank(instance, mean_ranks(graph, arrays)))
    is_short = graph.memory.sum() > graph.capacity.min()
    for trial in range(-len(sequences), trials if is_short else 0):
        prices = _draw_prices(instance, generator) if trial >= 0 else np.zeros(graph.devices)
        charge = np.rint(graph.memory[:, None] * prices).astype(np.int64)
        handicap = charge + least_rests(arrays, charge)
        devices, starts = earliest_finish(arrays, sequences[trial % len(sequences)], handicap)
        if trial < 0 or devices.min() >= 0:
            yield devices, -starts


def _draw_prices(
    instance: PlacementInstance, generator: np.random.Generator
) -> NDArray[np.float64]:
    """Draw the ticks per byte of each device, shape (D,)."""
    # Range of prices, in units of the mean work per byte; their logarithms are uniform.
    lowest, highest = np.log(0.05), np.log(5.0)
    # Probabilities that a device has a price at all, and that equal devices have equal prices.
    priced, alike = 0.7, 0.5
    graph = instance.graph
    work = np.where(graph.is_supported, graph.duration, graph.duration.max()).min(axis=1).sum()
    group = np.arange(graph.devices)
    if generator.random() < alike:
        rows = np.stack([graph.capacity, graph.duration.sum(axis=0)], axis=1)
        group = np.unique(rows, axis=0, return_inverse=True)[1].ravel()
    exponents = generator.uniform(lowest, highest, graph.devices)
    prices = np.exp(exponents) * (generator.random(graph.devices) < priced)
    return np.asarray(work / max(1, graph.memory.sum()) * prices[group])
