"""Windows: the stages that a node can be in if all stages cost at most a threshold.

A stage holds at most one whole share (see `shares`), so a node and all it depends on fill at least
as many stages as their shares add up to; and likewise what depends on it. Branching narrows a
node's window, and with it those of the nodes before or after it.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from boundmark.bounds.pipeline.flows.fractional_load import ShareTable
from boundmark.problems.arrays import IntArray
from boundmark.problems.dag import Dag
from boundmark.problems.method import Budget

# Shares are integers, in units of 1 / SHARE_UNITS of a stage, rounded down: small enough for a
# linear program in floating point.
SHARE_UNITS = 2**30


@dataclass(frozen=True, eq=False)
class Windows:
    """First and last possible stage of each node, counted from 0, two of shape (n,)."""

    first: IntArray
    last: IntArray

    @property
    def are_possible(self) -> bool:
        """Whether every node has a stage left."""
        return bool((self.first <= self.last).all())


def shares(table: ShareTable, threshold: int) -> IntArray | None:
    """Return each node's share of a stage; None if a node does not fit into any."""
    work = table.graph.work
    room = threshold - table.io(threshold)
    if bool((work > room).any()):
        return None
    return scaled(work, room)


def scaled(ticks: IntArray, rooms: int | IntArray) -> IntArray:
    """Return ticks as parts of a stage's room, in units of 1 / SHARE_UNITS, rounded down."""
    # Python's integers: the products may be beyond 64 bits.
    parts = ticks.astype(object) * SHARE_UNITS // np.maximum(rooms, 1).astype(object)
    return np.asarray(parts, dtype=np.int64)


class OutOfTimeError(Exception):
    """The time is up before the end of a program, or of sums over the graph."""


@dataclass(frozen=True, eq=False)
class Closure:
    """The reflexive and transitive closure of a graph: part of a second for large ones."""

    # Whether the row's node is the column's, or depends on it, shape (n, n).
    before: npt.NDArray[np.bool_]
    # Rows taken together in products, which convert them to eight times their size.
    rows_at_a_time: int = 1024
    # The clock that is looked at between such rows; none if it is None.
    budget: Budget | None = None

    @classmethod
    def of(cls, dag: Dag, budget: Budget | None = None, rows_at_a_time: int = 1024) -> "Closure":
        """Return the closure of a graph.

        Raises `OutOfTimeError` if the budget ends first.
        """
        before = np.eye(dag.nodes, dtype=np.bool_)
        closure = cls(before, rows_at_a_time, budget)
        order = dag.topological_order
        for rows in closure._rows():
            for node in order[rows].tolist():
                before[node] |= before[dag.producers_of(node)].any(axis=0)
        return closure

    def share_windows(self, amounts: IntArray, k: int) -> Windows:
        """Return the windows that shares leave: a stage holds one whole share at most."""
        # What a node depends on has no more shares than with the node: these respect the edges.
        before, after = self.weights_before(amounts), self.weights_after(amounts)
        first = np.maximum(-(-before // SHARE_UNITS) - 1, 0)
        return Windows(first, np.minimum(k + (-after // SHARE_UNITS), k - 1))

    def weights_before(self, weights: IntArray) -> IntArray:
        """Return the weight of each node with all that it depends on, shape (n,)."""
        return np.concatenate([self.before[rows] @ weights for rows in self._rows()])

    def weights_after(self, weights: IntArray) -> IntArray:
        """Return the weight of each node with all that depends on it, shape (n,)."""
        total = np.zeros(len(weights), dtype=np.int64)
        for rows in self._rows():
            total += weights[rows] @ self.before[rows]
        return total

    def _rows(self) -> Iterator[slice]:
        """Yield slices of all rows, as long as there is time."""
        for first in range(0, len(self.before), self.rows_at_a_time):
            if self.budget is not None and self.budget.is_spent():
                raise OutOfTimeError
            yield slice(first, first + self.rows_at_a_time)

    def branch(self, windows: Windows, node: int, stage: int) -> tuple[Windows, Windows]:
        """Return the windows if the node is in `stage` or earlier, and if it is later.

        The windows given respect the edges already, so only what the node depends on, or what
        depends on it, can change.
        """
        last, first = windows.last.copy(), windows.first.copy()
        earlier, later = self.before[node], self.before[:, node]
        last[earlier] = np.minimum(last[earlier], stage)
        first[later] = np.maximum(first[later], stage + 1)
        return Windows(windows.first, last), Windows(first, windows.last)
