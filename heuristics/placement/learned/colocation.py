"""Co-location: chains of operators that are placed together ([HSDAG24], Appendix G)."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.dag import Dag


@dataclass(frozen=True, eq=False)
class ColocatedGraph:
    """A graph whose nodes are sets of operators that are placed together.

    Attributes
    ----------
    set_of
        The set of each of the n operators, shape (n,). Sets are numbered in topological order.
    dag
        Edges between the N sets.
    """

    set_of: IntArray
    dag: Dag

    @property
    def nodes(self) -> int:
        """Number of sets, N."""
        return self.dag.nodes

    @cached_property
    def last(self) -> IntArray:
        """The operator of each set whose output leaves it, shape (N,)."""
        last = np.empty(self.nodes, dtype=np.int64)
        last[self.set_of[self._order]] = self._order
        return frozen(last)

    @cached_property
    def sizes(self) -> IntArray:
        """Number of operators of each set, shape (N,)."""
        return frozen(np.bincount(self.set_of, minlength=self.nodes))

    # The operators in topological order, shape (n,).
    _order: IntArray


def colocated(dag: Dag) -> ColocatedGraph:
    """Return the graph of co-location sets.

    An operator and its consumer are in one set if it has no other consumer and the consumer reads
    nothing else.
    """
    set_of = np.full(dag.nodes, -1, dtype=np.int64)
    sets = 0
    for node in dag.topological_order.tolist():
        producers = dag.producers_of(node)
        if len(producers) == 1 and len(dag.consumers_of(int(producers[0]))) == 1:
            set_of[node] = set_of[producers[0]]
        else:
            set_of[node] = sets
            sets += 1
    ends = np.stack([set_of[dag.sources], set_of[dag.targets]], axis=1)
    between = ends[ends[:, 0] != ends[:, 1]]
    return ColocatedGraph(frozen(set_of), Dag.from_edges(sets, between), dag.topological_order)
