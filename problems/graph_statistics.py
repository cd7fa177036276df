"""Statistics of a graph: its depth, its width, and how many down-sets it has."""

from dataclasses import dataclass

import numpy as np

from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.dag import Dag

# Down-sets are listed one by one; beyond this, their number is only bounded from below.
MOST_DOWN_SETS = 50_000


@dataclass(frozen=True)
class DownSets:
    """The number of down-sets, the empty one and the whole graph included.

    Attributes
    ----------
    number
        How many there are, or a lower bound on that.
    is_exact
        Whether it is not just a bound.
    """

    number: int
    is_exact: bool


def levels(dag: Dag) -> IntArray:
    """Return the number of edges of the longest path to each node, shape (n,)."""
    level = [0] * dag.nodes
    start, targets = dag.consumer_start.tolist(), dag.targets.tolist()
    for node in dag.topological_order.tolist():
        for consumer in targets[start[node] : start[node + 1]]:
            level[consumer] = max(level[consumer], level[node] + 1)
    return frozen(level)


def depth(dag: Dag) -> int:
    """Return the number of nodes on the longest path."""
    return int(levels(dag).max()) + 1


def width(dag: Dag) -> int:
    """Return the width: the size of a largest antichain.

    By Dilworth's theorem it is n less a largest matching of nodes to later ones. That is a flow: a
    node's unit passes along edges, through any number of nodes, to the one that it is matched to.
    """
    # Slow to import, and needed by few of those who import this module.
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_flow

    n = dag.nodes
    source, sink = 2 * n, 2 * n + 1
    nodes = np.arange(n)
    # Node v sends as v and receives as n + v; what it receives, it may hand on.
    tails = np.concatenate([np.full(n, source), n + nodes, n + nodes, dag.sources])
    heads = np.concatenate([nodes, np.full(n, sink), nodes, n + dag.targets])
    room = np.concatenate([np.ones(2 * n), np.full(n + dag.edges, n)]).astype(np.int32)
    # Older releases of scipy take no 64-bit indices.
    ends = tails.astype(np.int32), heads.astype(np.int32)
    network = csr_array((room, ends), shape=(2 * n + 2, 2 * n + 2))
    return n - int(maximum_flow(network, source, sink).flow_value)


def down_sets(dag: Dag, most: int = MOST_DOWN_SETS) -> DownSets:
    """Return how many sets of nodes there are that contain every producer of their nodes.

    They are listed by size. Beyond `most` of them, the number is at least what was listed, and
    at least the subsets of the widest antichain.
    """
    producers = [0] * dag.nodes
    for tail, head in dag.edge_pairs().tolist():
        producers[head] |= 1 << tail
    consumers = [dag.consumers_of(node).tolist() for node in range(dag.nodes)]
    ready = frozenset(node for node in range(dag.nodes) if not producers[node])
    layer: dict[int, frozenset[int]] = {0: ready}
    number = 0
    while layer:
        number += len(layer)
        if number > most:
            return DownSets(max(number, 2 ** width(dag)), is_exact=False)
        following: dict[int, frozenset[int]] = {}
        for members, free in layer.items():
            for node in free:
                larger = members | 1 << node
                if larger not in following:
                    freed = {x for x in consumers[node] if not producers[x] & ~larger}
                    following[larger] = (free - {node}) | freed
                if number + len(following) > most:
                    break
        layer = following
    return DownSets(number, is_exact=True)
