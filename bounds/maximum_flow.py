"""Maximum flows in networks with given arcs, by Dinic's algorithm [DINIC70], compiled.

Two other kernels find flows in less time than this one could: `minimum_cuts` in time that does not
depend on the graph's size, and `cut_search` for one branch from the flow of another and only until
a bound is reached.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from numba import njit, types

from boundmark.problems.arrays import IntArray

# The first two vertices of every network.
SOURCE, SINK = 0, 1

# Room of an arc that no minimum cut contains; all other rooms together are less.
UNLIMITED = 2**61

_VECTOR = types.Array(types.int64, 1, "C")
_INT = types.int64


@dataclass(frozen=True, eq=False)
class Network:
    """Arcs from tails to heads; arc i is 2 i, and 2 i + 1 leads back.

    Attributes
    ----------
    first
        Arcs that begin at vertex v are ``leaving[first[v] : first[v + 1]]``.
    heads
        Where each of them ends, shape (2 m,).
    """

    first: IntArray
    leaving: IntArray
    heads: IntArray

    @classmethod
    def of(cls, vertices: int, tails: IntArray, heads: IntArray) -> "Network":
        """Build the network of m arcs, given by two of shape (m,)."""
        starts = np.stack([tails, heads], axis=1).ravel()
        leaving = np.argsort(starts, kind="stable")
        first = np.searchsorted(starts[leaving], np.arange(vertices + 1))
        return cls(first, leaving, np.stack([heads, tails], axis=1).ravel())

    def cut(self, rooms: IntArray) -> tuple[IntArray, npt.NDArray[np.bool_]]:
        """Return a maximum flow on each arc, and whether each vertex is on the source's side.

        Parameters
        ----------
        rooms
            Of each arc, shape (m,); together less than `UNLIMITED`, but for arcs that have it.
        """
        left = np.zeros(2 * len(rooms), dtype=np.int64)
        left[::2] = rooms
        level = np.empty(len(self.first) - 1, dtype=np.int64)
        augment(self.first, self.leaving, self.heads, left, level)
        return rooms - left[::2], level < 0


@njit([types.void(_VECTOR, _VECTOR, _VECTOR, _VECTOR, _VECTOR)], cache=True, nogil=True)
def augment(
    first: IntArray, leaving: IntArray, heads: IntArray, room: IntArray, level: IntArray
) -> None:
    """Augment until no path is left; then vertices that reach the sink have a level >= 0.

    Parameters
    ----------
    first, leaving, heads
        As in `Network`.
    room
        What each arc has room for, of those back what flows at the beginning; updated.
    """
    vertices = len(level)
    queue = np.empty(vertices, np.int64)
    path = np.empty(vertices, np.int64)
    following = np.empty(vertices, np.int64)
    while True:
        level[:] = -1
        level[SINK] = 0
        queue[0] = SINK
        taken, put = 0, 1
        while taken < put and level[SOURCE] < 0:
            vertex = queue[taken]
            taken += 1
            for i in range(first[vertex], first[vertex + 1]):
                arc = leaving[i]
                other = heads[arc]
                if level[other] < 0 and room[arc ^ 1] > 0:
                    level[other] = level[vertex] + 1
                    queue[put] = other
                    put += 1
        if level[SOURCE] < 0:
            return
        following[:] = first[:-1]
        length, vertex = 0, SOURCE
        while True:
            if vertex == SINK:
                amount = room[path[0]]
                for i in range(1, length):
                    amount = min(amount, room[path[i]])
                full = -1
                for i in range(length):
                    room[path[i]] -= amount
                    room[path[i] ^ 1] += amount
                    if full < 0 and room[path[i]] == 0:
                        full = i
                length = full
                vertex = heads[path[full] ^ 1]
                continue
            i, end, below = following[vertex], first[vertex + 1], level[vertex] - 1
            while i < end and (room[leaving[i]] == 0 or level[heads[leaving[i]]] != below):
                i += 1
            following[vertex] = i
            if i < end:
                path[length] = leaving[i]
                length += 1
                vertex = heads[leaving[i]]
            elif vertex == SOURCE:
                break
            else:
                # Nothing gets from here to the sink in this phase.
                level[vertex] = vertices
                length -= 1
                vertex = heads[path[length] ^ 1]
