"""Partition of a graph into groups by scores of its edges ([HSDAG24], Equations 9-11).

Every node keeps the edge to the neighbour with the highest score, whichever way the edge points,
and the components of these edges are the groups. Stages 1 and 2 of Algorithm 2 find the same: from
the best edge that is left, a group grows along kept edges until nothing is added. Nodes
without edges are groups of their own (stage 3).
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from boundmark.problems.arrays import IntArray

Scores = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Parse:
    """A partition of the N nodes of a graph.

    Attributes
    ----------
    group_of
        The group of each node, shape (N,): the assignment matrix of Equation 10, a number per row.
        Groups are numbered as Algorithm 2 finds them, those with the highest score first.
    kept
        The edge that each node keeps, shape (N,); -1 for nodes without any.
    """

    group_of: IntArray
    kept: IntArray

    @property
    def groups(self) -> int:
        """Number of groups."""
        return int(self.group_of.max()) + 1


def parse(nodes: int, edges: IntArray, scores: Scores) -> Parse:
    """Return the groups that follow from the scores of edges.

    Parameters
    ----------
    edges
        Rows (source, target), shape (m, 2); those that were dropped are left out.
    scores
        Of each edge, in [0, 1], shape (m,). Of equal ones the first counts.
    """
    best = np.full(nodes, -1, dtype=np.int64)
    # The last one to be written stays, so the best one comes last.
    for edge in np.argsort(-scores, kind="stable")[::-1].tolist():
        best[edges[edge]] = edge
    return _grouped(nodes, edges, scores, best)


def _grouped(nodes: int, edges: IntArray, scores: Scores, kept: IntArray) -> Parse:
    used = np.unique(kept[kept >= 0])
    ends = edges[used].reshape(-1, 2)
    graph = csr_array((np.ones(len(used)), (ends[:, 0], ends[:, 1])), shape=(nodes, nodes))
    count, label = connected_components(graph, directed=False)
    # Of a group without edges, below all scores.
    highest = np.full(count, -1.0)
    np.maximum.at(highest, label[ends[:, 0]], scores[used])
    rank = np.empty(count, dtype=np.int64)
    rank[np.argsort(-highest, kind="stable")] = np.arange(count)
    return Parse(rank[label].astype(np.int64), kept)
