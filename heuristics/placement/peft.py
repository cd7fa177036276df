"""`peft`: list scheduling that looks ahead by an optimistic cost table ([PEFT14]).

An operator goes to the device where its end plus the longest path from there to the end, with the
best devices for it, is shortest. Three things differ from the paper: a transfer between two devices
has its own cost, not the mean; operators are also taken in topological order; and where memory is
short, it has prices; several are tried.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boundmark.heuristics.incumbent import NO_COST
from boundmark.heuristics.placement.arrays import PlacementArrays
from boundmark.heuristics.placement.earliest_kernels import earliest_finish, least_rests
from boundmark.heuristics.placement.heft import by_rank, mean_ranks
from boundmark.heuristics.placement.incumbent import PlacementIncumbent
from boundmark.heuristics.placement.reserve import leaving_room
from boundmark.heuristics.placement.room import with_all_placed
from boundmark.problems.arrays import IntArray
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import Budget, Progress
from boundmark.problems.placement import PlacementInstance


@leaving_room
def run(
    instance: PlacementInstance,
    budget: Budget,
    seed: int,
    progress: Progress,
    *,
    trials: int,
    **params: Any,
) -> None:
    """Report each better placement.

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


@dataclass(frozen=True)
class PriceSettings:
    """Settings of the prices of memory, which are drawn where memory is short.

    Attributes
    ----------
    lowest, highest
        Range of prices, in units of the mean work per byte; their logarithms are uniform.
    priced
        Probability that a device has a price at all.
    alike
        Probability that equal devices have equal prices.
    """

    lowest: float = 0.05
    highest: float = 5.0
    priced: float = 0.7
    alike: float = 0.5


DEFAULTS = PriceSettings()


def looking_ahead(
    instance: PlacementInstance,
    arrays: PlacementArrays,
    trials: int,
    generator: np.random.Generator,
    settings: PriceSettings = DEFAULTS,
) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield placements and the priorities in whose order they were found, both shape (n,).

    Each operator goes to the device with the smallest sum of its end there and of the shortest
    remaining time from there on. Operators are taken in topological order and by ranks in turn. If
    not all devices have room for all of them, memory has prices, drawn for each device: operators
    that need much memory and gain little go to slow devices, and the fast ones keep their room for
    the rest.

    The first two placements have -1 where an operator has found no room; later ones without room
    for all operators are left out.

    Parameters
    ----------
    trials
        How many times prices are drawn.
    """
    graph = instance.graph
    sequences = (graph.dag.topological_order.copy(), by_rank(instance, mean_ranks(instance)))
    is_short = graph.memory.sum() > graph.capacity.min()
    for trial in range(-len(sequences), trials if is_short else 0):
        prices = (
            _draw_prices(instance, generator, settings) if trial >= 0 else np.zeros(graph.devices)
        )
        charge = np.rint(graph.memory[:, None] * prices).astype(np.int64)
        handicap = charge + least_rests(arrays, charge)
        devices, starts = np.full((2, graph.nodes), -1, dtype=np.int64)
        found = earliest_finish(
            arrays, sequences[trial % len(sequences)], handicap, devices, starts
        )
        if trial < 0 or found == graph.nodes:
            yield devices, -starts


def _draw_prices(
    instance: PlacementInstance, generator: np.random.Generator, settings: PriceSettings
) -> NDArray[np.float64]:
    """Draw the ticks per byte of each device, shape (D,)."""
    graph = instance.graph
    work = np.where(graph.is_supported, graph.duration, graph.duration.max()).min(axis=1).sum()
    group = np.arange(graph.devices)
    if generator.random() < settings.alike:
        rows = np.stack([graph.capacity, graph.duration.sum(axis=0)], axis=1)
        group = np.unique(rows, axis=0, return_inverse=True)[1].ravel()
    lowest, highest = np.log(settings.lowest), np.log(settings.highest)
    exponents = generator.uniform(lowest, highest, graph.devices)
    prices = np.exp(exponents) * (generator.random(graph.devices) < settings.priced)
    return np.asarray(work / max(1, graph.memory.sum()) * prices[group])
