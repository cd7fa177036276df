"""Placements to begin a search with."""

from collections.abc import Callable, Iterator

import numpy as np

from boundmark.heuristics.placement.kernels.earliest import earliest_finish, earliest_start
from boundmark.heuristics.placement.kernels.network import Network
from boundmark.heuristics.placement.methods.heft import by_rank, mean_ranks
from boundmark.heuristics.placement.methods.m_topo import filled
from boundmark.heuristics.placement.schedules.filling import filled_in_turn
from boundmark.heuristics.placement.schedules.incumbent import Incumbent
from boundmark.heuristics.placement.schedules.packing import packed
from boundmark.heuristics.placement.schedules.room import has_room, with_room
from boundmark.heuristics.placement.searches.looking_ahead import looking_ahead
from boundmark.problems.arrays import IntArray
from boundmark.problems.certificate import Certificate, Claim
from boundmark.problems.placement import PlacementInstance
from boundmark.problems.problem import Solution

# Of prices of memory, where it is short.
TRIALS = 50


def constructed(instance: PlacementInstance, network: Network) -> Iterator[IntArray]:
    """Yield placements of simple methods: each device, m-topo, fill-devices, m-etf, heft, peft.

    Where none of them finds room, there is one that an integer program finds, if it does.
    """
    graph = instance.graph
    found = False
    for device in range(graph.devices):
        placed = with_room(instance, np.full(graph.nodes, device, dtype=np.int64))
        if placed is not None:
            found = True
            yield placed
    placed = with_room(instance, filled(instance))
    if placed is not None:
        found = True
        yield placed
    filling = min(filled_in_turn(instance), key=_makespan_in(instance), default=None)
    if filling is not None:
        found = True
        yield filling
    devices, starts = np.empty((2, graph.nodes), dtype=np.int64)
    if earliest_start(network, devices, starts) == graph.nodes:
        found = True
        yield devices.copy()
    sequence, handicap = by_rank(instance, mean_ranks(instance)), np.zeros_like(graph.duration)
    if earliest_finish(network, sequence, handicap, devices, starts) == graph.nodes:
        found = True
        yield devices.copy()
    ahead = looking_ahead(instance, network, TRIALS, np.random.default_rng(0))
    placements = (placed for placed, _ in ahead if placed.min() >= 0)
    best = min(placements, key=_makespan_in(instance), default=None)
    if best is not None:
        found = True
        yield best
    if not found:
        placed = packed(instance, filled(instance))
        if placed is not None and has_room(instance, placed):
            yield placed


class _Silent:
    """Takes reports and does nothing with them."""

    def solution(self, solution: Solution) -> None:
        pass

    def bound(self, bound: Certificate | Claim) -> None:
        pass


def _makespan_in(instance: PlacementInstance) -> Callable[[IntArray], int]:
    """Return what simulates a placement."""
    return Incumbent(instance, _Silent()).simulate
