"""The arcs that paths of a schedule follow: tensors between operators, and proven intervals."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from boundmark.bounds.checker.placement.paths import NEVER, OUTSIDE, Jump
from boundmark.problems.arrays import IntArray
from boundmark.problems.placement import PlacementGraph


@dataclass(frozen=True)
class Arcs:
    """Pairs of operators, and the least ticks between them.

    Attributes
    ----------
    first, last
        The operators of each arc, shape (m,).
    lag
        From the end of the first to the start of the last, by their devices, shape (m, D, D);
        `NEVER` where they cannot be.
    to_end
        Ticks from the end of each operator to the end of the schedule, shape (n, D).
    from_begin
        Ticks from the begin of the schedule to the start of each operator, shape (n, D).
    """

    first: IntArray
    last: IntArray
    lag: IntArray
    to_end: IntArray
    from_begin: IntArray


def arcs_of(graph: PlacementGraph, jumps: Sequence[Jump]) -> Arcs:
    """Return the arcs of a graph and of what is proven of it, one per pair of operators."""
    span = graph.devices
    lags: dict[tuple[int, int], IntArray] = {}

    def add(pair: tuple[int, int], lag: IntArray) -> None:
        lags[pair] = np.maximum(lags[pair], lag) if pair in lags else lag

    for tensor, readers in enumerate(graph.consumers):
        for reader in readers:
            add((int(graph.producer[tensor]), reader), graph.times[graph.size[tensor]])
    to_end, from_begin = np.zeros((2, graph.nodes, span), dtype=np.int64)
    for jump in jumps:
        least = np.minimum(np.array(jump.least, dtype=object), NEVER).astype(np.int64)
        if OUTSIDE not in (jump.first, jump.last):
            add((jump.first, jump.last), least)
        elif jump.first != OUTSIDE:
            to_end[jump.first] = np.maximum(to_end[jump.first], least[:, 0])
        elif jump.last != OUTSIDE:
            from_begin[jump.last] = np.maximum(from_begin[jump.last], least[0])
    pairs = sorted(lags)
    ends = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    lag = np.array([lags[pair] for pair in pairs], dtype=np.int64).reshape(-1, span, span)
    return Arcs(ends[:, 0], ends[:, 1], lag, to_end, from_begin)
