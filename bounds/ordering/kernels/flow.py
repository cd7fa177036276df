"""Maximum flow by blocking flows ([DINIC70]), on a network that is used again and again."""

import numpy as np
from numba import njit, types

from boundmark.problems.arrays import IntArray

_INT = types.int64
_INPUT = types.Array(types.int64, 1, "C", readonly=True)
_VECTOR = types.Array(types.int64, 1, "C")


@njit([_INT(*(_INPUT,) * 3, _VECTOR, _INT, _INT)], cache=True, nogil=True)
def maximum_flow(
    start: IntArray, head: IntArray, back: IntArray, residual: IntArray, source: int, sink: int
) -> int:
    """Send as much as possible from the source to the sink; return how much.

    Parameters
    ----------
    start
        Vertex u has the arcs ``start[u] .. start[u + 1] - 1``, shape (vertices + 1,).
    head, back
        Where each arc leads, and the number of the arc in the other direction, shape (arcs,).
    residual
        Capacity of each arc; on return what is left of it, shape (arcs,).
    """
    vertices = len(start) - 1
    level = np.empty(vertices, np.int64)
    arc = np.empty(vertices, np.int64)
    queue = np.empty(vertices, np.int64)
    path = np.empty(vertices, np.int64)
    total = 0
    while True:
        level[:] = -1
        level[source] = 0
        queue[0] = source
        first, last = 0, 1
        while first < last and level[sink] < 0:
            u = queue[first]
            first += 1
            for e in range(start[u], start[u + 1]):
                if residual[e] > 0 and level[head[e]] < 0:
                    level[head[e]] = level[u] + 1
                    queue[last] = head[e]
                    last += 1
        if level[sink] < 0:
            return total
        for u in range(vertices):
            arc[u] = start[u]
        u, depth = source, 0
        while True:
            if u == sink:
                amount = residual[path[0]]
                for at in range(1, depth):
                    amount = min(amount, residual[path[at]])
                blocked = depth
                for at in range(depth - 1, -1, -1):
                    e = path[at]
                    residual[e] -= amount
                    residual[back[e]] += amount
                    if residual[e] == 0:
                        blocked = at
                total += amount
                depth = blocked
                u = head[back[path[blocked]]]
                continue
            e = arc[u]
            while e < start[u + 1] and not (residual[e] > 0 and level[head[e]] == level[u] + 1):
                e += 1
            arc[u] = e
            if e < start[u + 1]:
                path[depth] = e
                depth += 1
                u = head[e]
            elif depth == 0:
                break
            else:
                level[u] = -1
                depth -= 1
                u = head[back[path[depth]]]
