"""Directed acyclic graphs as immutable adjacency arrays (CSR in both directions)."""

import graphlib
import heapq
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.errors import InvalidInputError, shortened


@dataclass(frozen=True, eq=False)
class Dag:
    """A directed acyclic graph over nodes ``0 .. nodes - 1``, edges from producer to consumer.

    Attributes
    ----------
    nodes
        Number of nodes, n.
    sources, targets
        The m edges, sorted by (source, target), without repetition.
    """

    nodes: int
    sources: IntArray
    targets: IntArray

    @classmethod
    def from_edges(
        cls,
        nodes: int,
        edges: Iterable[tuple[int, int]] | IntArray,
        names: tuple[str, ...] | None = None,
    ) -> "Dag":
        """Build the graph; repeated edges count once.

        Examples
        --------
        >>> diamond = Dag.from_edges(4, [(0, 1), (0, 2), (1, 3), (2, 3)])
        >>> diamond.consumers_of(0).tolist()
        [1, 2]
        >>> diamond.topological_order.tolist()
        [0, 1, 2, 3]
        """
        pairs = frozen(edges if isinstance(edges, np.ndarray) else list(edges), "edges")
        if pairs.size == 0:
            pairs = pairs.reshape(0, 2)
        if pairs.ndim != 2 or pairs.shape[1] != 2:
            raise InvalidInputError(
                f"edges has the shape {pairs.shape}; expected pairs (source, target)."
            )
        outside = (pairs < 0) | (pairs >= nodes)
        if outside.any():
            edge = pairs[outside.any(axis=1)][0].tolist()
            raise InvalidInputError(
                f"edge {edge} names an unknown node; expected node numbers from 0 to {nodes - 1}."
            )
        pairs = np.unique(pairs, axis=0)
        dag = cls(nodes, frozen(pairs[:, 0]), frozen(pairs[:, 1]))
        if len(dag.topological_order) < nodes:
            cycle = dag._cycle()
            label = [names[v] if names else str(v) for v in cycle]
            shown = shortened(" -> ".join(label), 400)
            raise InvalidInputError(f"the edges form a cycle, {shown}; expected an acyclic graph.")
        return dag

    @property
    def edges(self) -> int:
        """Number of edges, m."""
        return len(self.sources)

    def edge_pairs(self) -> IntArray:
        """Return the edges as rows (source, target), sorted, shape (m, 2)."""
        return np.stack([self.sources, self.targets], axis=1)

    @cached_property
    def consumer_start(self) -> IntArray:
        """Offsets into `targets`: node v's consumers are ``targets[start[v]:start[v + 1]]``."""
        return frozen(np.searchsorted(self.sources, np.arange(self.nodes + 1)))

    @cached_property
    def producer_start(self) -> IntArray:
        """Offsets into `producers`, one more than there are nodes."""
        return frozen(np.searchsorted(np.sort(self.targets), np.arange(self.nodes + 1)))

    @cached_property
    def producers(self) -> IntArray:
        """All nodes' producers: v has ``producers[producer_start[v]:producer_start[v + 1]]``."""
        return frozen(self.sources[np.argsort(self.targets, kind="stable")])

    def consumers_of(self, node: int) -> IntArray:
        """Return the nodes that read the node's output, ascending."""
        return self.targets[self.consumer_start[node] : self.consumer_start[node + 1]]

    def producers_of(self, node: int) -> IntArray:
        """Return the nodes whose output the node reads, ascending."""
        return self.producers[self.producer_start[node] : self.producer_start[node + 1]]

    @cached_property
    def topological_order(self) -> IntArray:
        """The topological order that comes first lexicographically: 0 .. n - 1 if that is one."""
        missing = np.bincount(self.targets, minlength=self.nodes).tolist()
        start, targets = self.consumer_start.tolist(), self.targets.tolist()
        ready = [v for v in range(self.nodes) if missing[v] == 0]
        order = []
        while ready:
            node = heapq.heappop(ready)
            order.append(node)
            for consumer in targets[start[node] : start[node + 1]]:
                missing[consumer] -= 1
                if missing[consumer] == 0:
                    heapq.heappush(ready, consumer)
        return frozen(order)

    def _cycle(self) -> list[int]:
        sorter = graphlib.TopologicalSorter(
            {v: self.producers_of(v).tolist() for v in range(self.nodes)}
        )
        try:
            sorter.prepare()
        except graphlib.CycleError as error:
            return [int(v) for v in error.args[1]]
        raise AssertionError("no cycle in an acyclic graph")
