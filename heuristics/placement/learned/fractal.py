"""How the number of nodes around a node grows with distance ([HSDAG24], Equation 4)."""

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from boundmark.problems.dag import Dag

# Rows of distances that are held at a time.
ROWS = 512


def fractal_dimensions(dag: Dag) -> npt.NDArray[np.float64]:
    """Return the fractal dimension of each node, shape (n,).

    It is the slope of log N(v, r) over log r, by least squares, for the distances r = 1, 2, ...
    from v to other nodes, where N(v, r) counts the nodes within r, v among them. Distances are
    numbers of edges, whichever way these point. The paper says neither; nor what nodes have for
    which there is no slope, with fewer than two distances: here 0.
    """
    ones = np.ones(dag.edges)
    graph = csr_array((ones, (dag.sources, dag.targets)), shape=(dag.nodes, dag.nodes))
    found = np.zeros(dag.nodes)
    for begin in range(0, dag.nodes, ROWS):
        rows = np.arange(begin, min(begin + ROWS, dag.nodes))
        distance = dijkstra(graph, directed=False, indices=rows, unweighted=True)
        for node, row in zip(rows.tolist(), distance, strict=True):
            reached = row[np.isfinite(row)].astype(np.int64)
            found[node] = _slope(np.cumsum(np.bincount(reached)))
    return found


def _slope(within: npt.NDArray[np.int64]) -> float:
    """Return the slope for the numbers of nodes within distances 0, 1, ..."""
    if len(within) < 3:
        return 0.0
    x = np.log(np.arange(1, len(within)))
    y = np.log(within[1:])
    x -= x.mean()
    return float((x * (y - y.mean())).sum() / (x * x).sum())
