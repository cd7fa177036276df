"""Placements from which searches start."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TypeAlias

import numpy as np

from boundmark.heuristics.placement.arrays import PlacementArrays
from boundmark.heuristics.placement.baechi import favourite_children, filled
from boundmark.heuristics.placement.earliest_kernels import (
    earliest_finish,
    earliest_start,
    favourites_first,
)
from boundmark.heuristics.placement.fill_devices import dealt_in_turn, filled_in_turn
from boundmark.heuristics.placement.heft import by_rank, mean_ranks
from boundmark.heuristics.placement.incumbent import PlacementIncumbent
from boundmark.heuristics.placement.peft import looking_ahead
from boundmark.heuristics.placement.room import has_room, packed, with_room
from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.certificate import Certificate, Claim
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import Budget
from boundmark.problems.placement import UNSUPPORTED, PlacementGraph, PlacementInstance
from boundmark.problems.problem import Solution

# A placement, and the priorities in whose order it was found, or None; both shape (n,).
Start: TypeAlias = tuple[IntArray, IntArray | None]


def constructed(
    instance: PlacementInstance, arrays: PlacementArrays, *, price_trials: int = 50
) -> Iterator[Start]:
    """Yield placements of simple methods: each device, devices in turn, and list schedules.

    If none of them has room, yield the one that an integer program finds, if it finds one.

    Parameters
    ----------
    price_trials
        How many prices of memory are tried where it is short, see `looking_ahead`.
    """
    graph = instance.graph
    found = False
    for device in range(graph.devices):
        placed = with_room(instance, np.full(graph.nodes, device, dtype=np.int64))
        if placed is not None:
            found = True
            yield placed, None
    placed = with_room(instance, filled(instance))
    if placed is not None:
        found = True
        yield placed, None
    for several in (filled_in_turn(instance), dealt_in_turn(instance)):
        best = min(several, key=_makespan_in(instance), default=None)
        if best is not None:
            found = True
            yield best, None
    for start in (*_earliest_starts(graph, arrays), *_waiting(graph, arrays)):
        found = True
        yield start
    devices, starts = np.empty((2, graph.nodes), dtype=np.int64)
    sequence, handicap = by_rank(instance, mean_ranks(instance)), np.zeros_like(graph.duration)
    if earliest_finish(arrays, sequence, handicap, devices, starts) == graph.nodes:
        found = True
        yield devices.copy(), -starts
    ahead = looking_ahead(instance, arrays, price_trials, np.random.default_rng(0))
    placements = (placed for placed, _ in ahead if placed.min() >= 0)
    best = min(placements, key=_makespan_in(instance), default=None)
    if best is not None:
        found = True
        yield best, None
    if not found:
        placed = packed(instance, filled(instance))
        if placed is not None and has_room(instance, placed):
            yield placed, None


def _earliest_starts(graph: PlacementGraph, arrays: PlacementArrays) -> Iterator[Start]:
    """Yield the placements of m-etf on all devices and on the fastest ones, if they have room."""
    total = np.where(graph.is_supported, graph.duration, graph.duration.max()).sum(axis=0)
    fastest_first = np.argsort(total, kind="stable")
    for count in range(graph.devices, 1, -1):
        duration = graph.duration.copy()
        duration[:, fastest_first[count:]] = UNSUPPORTED
        devices, starts = np.empty((2, graph.nodes), dtype=np.int64)
        few = arrays._replace(duration=frozen(duration))
        if earliest_start(few, devices, starts) == graph.nodes:
            yield devices, -starts


def _waiting(graph: PlacementGraph, arrays: PlacementArrays) -> Iterator[Start]:
    """Yield the placement of m-sct, if it has room and its linear program takes at most 5 s.

    Models of 8,000 operators take 0.5 s.
    """
    with suppress(UnsupportedError):
        favourite = favourite_children(graph, Budget(5.0))
        devices, starts = np.empty((2, graph.nodes), dtype=np.int64)
        if favourites_first(arrays, favourite, devices, starts) == graph.nodes:
            yield devices, -starts


class _Silent:
    """Ignore all reports."""

    def solution(self, solution: Solution) -> None:
        pass

    def bound(self, bound: Certificate | Claim) -> None:
        pass


def _makespan_in(instance: PlacementInstance) -> Callable[[IntArray], int]:
    """Return a function that simulates a placement."""
    return PlacementIncumbent(instance, _Silent()).simulate
