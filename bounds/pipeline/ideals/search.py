"""Decides whether k stages can meet a threshold, by a search over chains of ideals."""

import numpy as np

from boundmark.bounds.pipeline.kernels import ideal_search
from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.method import Budget
from boundmark.problems.pipeline.graph import PipelineGraph

# About half a second of search, after which the clock is looked at.
PAIRS_AT_A_TIME = 10_000_000


class BudgetSpentError(Exception):
    """The time is up in the middle of a search."""


class IdealSearch:
    """Decides which thresholds k stages can meet; not for use by several threads at once."""

    def __init__(self, graph: PipelineGraph, ideals: ideal_search.Lattice, k: int) -> None:
        self._nodes = graph.dag.nodes
        self._ideals = ideals
        self._k = min(k, graph.dag.nodes)
        self._cache = graph.cache
        size = len(ideals.work)
        state = [np.zeros(size, dtype=np.int64) for _ in range(7)]
        state.append(np.zeros(4, dtype=np.int64))
        self._state = ideal_search.State(*state)

    def stages(self, threshold: int, budget: Budget) -> IntArray | None:
        """Return stages of cost up to a threshold, one per node, or None if there are none.

        Raises
        ------
        BudgetSpentError
            If this takes too long.
        """
        state = self._state
        state.stages.fill(-1)
        state.seen.fill(-1)
        state.stages[0] = 0
        state.queue[0] = 0
        state.counts[:] = 0, 1, np.iinfo(np.int64).max, 0
        outcome = ideal_search.PAUSED
        while outcome == ideal_search.PAUSED:
            if budget.is_spent():
                raise BudgetSpentError
            pause = self.pairs + PAIRS_AT_A_TIME
            outcome = ideal_search.search(
                self._k, threshold, self._cache, pause, self._ideals, state
            )
        return None if outcome == ideal_search.REFUTED else self._stages_up_to(outcome)

    @property
    def next_threshold(self) -> int:
        """The least threshold that the last search does not refute as well."""
        return int(self._state.counts[2])

    @property
    def pairs(self) -> int:
        """How many pairs of ideals the last search has looked at."""
        return int(self._state.counts[3])

    def _stages_up_to(self, ideal: int) -> IntArray:
        """Return the number of the stage of each node; those outside the ideal are in the last."""
        stages = np.full(self._nodes, self._state.stages[ideal])
        members = self._ideals.members.reshape(len(self._ideals.work), -1).view(np.uint8)
        while ideal:
            inside = np.unpackbits(members[ideal], count=self._nodes, bitorder="little")
            ideal = int(self._state.before[ideal])
            stages[inside == 1] = self._state.stages[ideal]
        return frozen(stages)
