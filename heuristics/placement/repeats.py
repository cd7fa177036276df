"""Layers that a model repeats: operators a period apart in topological order are twins.

A placement of one layer is one of all its copies, so a step that is good in one of them is tried in
all at once.
"""

from dataclasses import dataclass

import numpy as np

from boundmark.problems.arrays import IntArray
from boundmark.problems.placement import PlacementGraph


@dataclass(frozen=True)
class RepeatSettings:
    """Settings of the search for periods.

    Attributes
    ----------
    least
        Part of all operators that have a twin one period on, for a period to count.
    longest
        Longest period; to look for all takes time with the square of the operators.
    most_periods
        Periods that are looked for, each among the operators for which none before has counted.
    """

    least: float = 0.2
    longest: int = 2000
    most_periods: int = 3


class Repeats:
    """Twins of operators, by their places in topological order.

    Attributes
    ----------
    period
        Of each place, 0 if nothing is repeated there, shape (n,).
    """

    def __init__(self, graph: PlacementGraph, settings: RepeatSettings = RepeatSettings()) -> None:
        order = graph.dag.topological_order
        self.order = order
        self.place = np.empty(graph.nodes, dtype=np.int64)
        self.place[order] = np.arange(graph.nodes)
        self.kind = kinds(graph)[order]
        self.period = periods(self.kind, settings)

    @property
    def are_most(self) -> bool:
        """Whether more than half of all operators are in layers; else, they are chance finds."""
        return 2 * int(np.count_nonzero(self.period)) > len(self.period)

    def twins(self, at: int, length: int) -> IntArray:
        """Return the places of a run and of those like it, whole periods away, shape (m, length).

        The run itself is the first row.
        """
        run = np.arange(at, at + length)
        period = int(self.period[at])
        if not period:
            return run[None, :]
        begins = np.arange(at % period, len(self.kind) - length + 1, period)
        places = begins[begins != at, None] + np.arange(length)
        same = (self.kind[places] == self.kind[run]).all(axis=1)
        return np.vstack([run[None, :], places[same]])


def kinds(graph: PlacementGraph) -> IntArray:
    """Return a number for each operator, equal for those with equal costs, shape (n,)."""
    reads = np.zeros(graph.nodes, dtype=np.int64)
    writes = np.zeros(graph.nodes, dtype=np.int64)
    for tensor, readers in enumerate(graph.consumers):
        reads[list(readers)] += 1 + int(graph.size[tensor])
        writes[graph.producer[tensor]] += 1 + int(graph.size[tensor])
    rows = np.column_stack([graph.duration, graph.memory, reads, writes])
    return np.unique(rows, axis=0, return_inverse=True)[1].ravel().astype(np.int64)


def periods(kind: IntArray, settings: RepeatSettings = RepeatSettings()) -> IntArray:
    """Return the period of each place, 0 for none, shape (n,).

    A period is the distance at which most operators meet one of their own kind. Of layers in a row,
    that is the length of one.
    """
    n = len(kind)
    found = np.zeros(n, dtype=np.int64)
    for _ in range(settings.most_periods):
        is_open = found == 0
        best, most = 0, max(1, int(settings.least * n))
        for period in range(2, min(settings.longest, n // 2) + 1):
            is_met = (kind[period:] == kind[:-period]) & is_open[period:] & is_open[:-period]
            count = int(np.count_nonzero(is_met))
            if count > most:
                best, most = period, count
        if not best:
            break
        is_met = (kind[best:] == kind[:-best]) & is_open[best:] & is_open[:-best]
        found[:-best][is_met] = best
        found[best:][is_met] = best
    return found
