"""`peft`: each operator where its end and the least that follows from there are first ([PEFT14]).

What follows an operator is the longest way to the end with the best devices for it, as in the
paper's optimistic cost table. Three things are ours: transfers cost what they do between two
devices, not the mean; operators are also taken in topological order; and where memory is short, it
has prices, of which some are tried.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boundmark.heuristics.incumbent import NO_COST
from boundmark.heuristics.placement.arrays import PlacementArrays
from boundmark.heuristics.placement.earliest_kernels import earliest_finish, least_rests
from boundmark.heuristics.placement.heft import by_rank, mean_ranks
from boundmark.heuristics.placement.incumbent import PlacementIncumbent
from boundmark.heuristics.placement.room import with_all_placed
from boundmark.problems.arrays import IntArray
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import Budget, Progress
from boundmark.problems.placement import PlacementInstance


def run(
    instance: PlacementInstance,
    budget: Budget,
    seed: int,
    progress: Progress,
    *,
    trials: int,
    **params: Any,
) -> None:
    """Report each placement that is better than those before.

    Raises
    ------
    UnsupportedError
        If no placement is found for which the devices have room.
    """
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


# Prices of memory, in units of the mean work per memory, and how often a device has one at all.
CHEAPEST, DEAREST = 0.05, 5.0
PRICED = 0.7
# How often equal devices have equal prices.
ALIKE = 0.5


def looking_ahead(
    instance: PlacementInstance,
    network: PlacementArrays,
    trials: int,
    generator: np.random.Generator,
) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield devices of operators, and an order of urgency in which they were found, both (n,).

    Each operator goes to the device where its end, and the least that follows it from there, add
    up to the least. Operators are taken in topological order and by ranks in turn. If not all
    devices have room for all of them, memory has prices, drawn for each device: what holds much and
    gains little goes to slow devices, and the fast ones keep their room for the rest.

    Where there is no room in the end, the first two have -1 left, and others are left out.

    Parameters
    ----------
    trials
        Number of drawings.
    """
    graph = instance.graph
    sequences = (graph.dag.topological_order.copy(), by_rank(instance, mean_ranks(instance)))
    is_short = graph.memory.sum() > graph.capacity.min()
    for trial in range(-len(sequences), trials if is_short else 0):
        prices = _drawn(instance, generator) if trial >= 0 else np.zeros(graph.devices)
        charge = np.rint(graph.memory[:, None] * prices).astype(np.int64)
        handicap = charge + least_rests(network, charge)
        devices, starts = np.full((2, graph.nodes), -1, dtype=np.int64)
        found = earliest_finish(
            network, sequences[trial % len(sequences)], handicap, devices, starts
        )
        if trial < 0 or found == graph.nodes:
            yield devices, -starts


def _drawn(instance: PlacementInstance, generator: np.random.Generator) -> NDArray[np.float64]:
    """Return ticks per unit of memory of each device; half of the time the same for equal ones."""
    graph = instance.graph
    work = np.where(graph.is_supported, graph.duration, graph.duration.max()).min(axis=1).sum()
    group = np.arange(graph.devices)
    if generator.random() < ALIKE:
        rows = np.stack([graph.capacity, graph.duration.sum(axis=0)], axis=1)
        group = np.unique(rows, axis=0, return_inverse=True)[1].ravel()
    exponents = generator.uniform(np.log(CHEAPEST), np.log(DEAREST), graph.devices)
    prices = np.exp(exponents) * (generator.random(graph.devices) < PRICED)
    return np.asarray(work / max(1, graph.memory.sum()) * prices[group])
