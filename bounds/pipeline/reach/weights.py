"""Weights of nodes: their work, partly moved along the tensors.

A prefix that cuts expensive tensors is worth less than its work says, because the stages to come
have to read them. Weights that are moved from producers to consumers say so: of each edge that a
prefix cuts, they lack what was moved along it. If no tensor takes more than its transfer, a stage
still weighs at most its cost: what has come to its nodes from elsewhere came with tensors that
enter it.
"""

from dataclasses import dataclass

import numpy as np

from boundmark.bounds.pipeline.shares.windows import SHARE_UNITS
from boundmark.problems.arrays import IntArray
from boundmark.problems.pipeline.graph import PipelineGraph

# Of a tensor's transfer, how much is moved along it, if its producer has as much.
MOVED_PART = 0.3


@dataclass(frozen=True, eq=False)
class Weights:
    """Weights, in units of 1 / SHARE_UNITS, of which no stage has more than SHARE_UNITS.

    Attributes
    ----------
    nodes
        Weight of each node, shape (n,).
    moves
        What is moved along each edge, from producer to consumer, shape (m,).
    """

    nodes: IntArray
    moves: IntArray

    @classmethod
    def unmoved(cls, graph: PipelineGraph, shares: IntArray) -> "Weights":
        """Return the shares as they are."""
        return cls(shares, np.zeros(graph.dag.edges, dtype=np.int64))

    @classmethod
    def moved(cls, graph: PipelineGraph, threshold: int) -> "Weights":
        """Return work in parts of a threshold, moved to the consumers."""
        dag = graph.dag
        weights = scaled(graph.work, threshold).tolist()
        most = (scaled(graph.transfer, threshold) * MOVED_PART).astype(np.int64).tolist()
        moves = np.zeros(dag.edges, dtype=np.int64)
        start = dag.consumer_start.tolist()
        for u in dag.topological_order.tolist():
            edges = range(start[u], start[u + 1])
            if not edges:
                continue
            each = min(weights[u], most[u]) // len(edges)
            weights[u] -= each * len(edges)
            for e in edges:
                moves[e] = each
                weights[int(dag.targets[e])] += each
        return cls(np.array(weights), moves)

    def moves_to_json(self) -> list[int]:
        """Return the moves as certificates hold them: an edge's number and its amount."""
        used = np.flatnonzero(self.moves)
        pairs: list[int] = np.stack([used, self.moves[used]], axis=1).ravel().tolist()
        return pairs


def scaled(ticks: IntArray, threshold: int) -> IntArray:
    """Return ticks as parts of a threshold, in units of 1 / SHARE_UNITS, rounded down."""
    result: IntArray = (ticks.astype(object) * SHARE_UNITS // max(threshold, 1)).astype(np.int64)
    return result
