"""The nodes that each node depends on, and those that depend on it."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from boundmark.bounds.pipeline.shares.windows import Windows
from boundmark.problems.arrays import IntArray
from boundmark.problems.dag import Dag

# Rows that are taken at a time, since products convert them to eight times their size.
ROWS = 1024


@dataclass(frozen=True, eq=False)
class Closure:
    """The reflexive and transitive closure of a graph.

    Attributes
    ----------
    before
        Whether the row's node is the column's, or depends on it, shape (n, n).
    """

    before: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, dag: Dag) -> "Closure":
        """Return the closure of a graph."""
        before = np.eye(dag.nodes, dtype=np.bool_)
        for node in dag.topological_order.tolist():
            before[node] |= before[dag.producers_of(node)].any(axis=0)
        return cls(before)

    def weights_before(self, weights: IntArray) -> IntArray:
        """Return what each node and all that it depends on weigh together, shape (n,)."""
        return np.concatenate([self.before[rows] @ weights for rows in self._rows()])

    def weights_after(self, weights: IntArray) -> IntArray:
        """Return what each node and all that depends on it weigh together, shape (n,)."""
        total = np.zeros(len(weights), dtype=np.int64)
        for rows in self._rows():
            total += weights[rows] @ self.before[rows]
        return total

    def _rows(self) -> Iterator[slice]:
        for first in range(0, len(self.before), ROWS):
            yield slice(first, first + ROWS)

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
