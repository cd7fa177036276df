"""Maximum flows in networks with given arcs, compiled.

It is Dinic's algorithm [DINIC70] with one change. A phase's levels do not end with the nearest
vertex that the sink can be reached from: they go on until the arcs into the sink have room for all
that is still wanted, and all of them are used. The blocking flow still lengthens the shortest
augmenting path, so the bound on the number of phases stays; and a phase explores a ball around the
source that is just large enough.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from numba import types

from boundmark.problems.arrays import IntArray
from boundmark.problems.compiling import compiled

# The first two vertices of every network.
SOURCE, SINK = 0, 1

# Room of an arc that no minimum cut contains; all other rooms together are less.
UNLIMITED = 2**61

_VECTOR = types.Array(types.int64, 1, "C")
_OPEN = types.Array(types.int64, 1, "A")
_INT = types.int64


@dataclass(frozen=True, eq=False)
class Network:
    """Arcs from tails to heads; arc i is 2 i, and 2 i + 1 leads back."""

    # Arcs that begin at vertex v are ``leaving[first[v] : first[v + 1]]``.
    first: IntArray
    leaving: IntArray
    # Where each of them ends, shape (2 m,).
    heads: IntArray

    @classmethod
    def of(cls, vertices: int, tails: IntArray, heads: IntArray) -> "Network":
        """Build the network of m arcs, given by two of shape (m,)."""
        starts = np.stack([tails, heads], axis=1).ravel()
        leaving = np.argsort(starts, kind="stable")
        first = np.searchsorted(starts[leaving], np.arange(vertices + 1))
        return cls(first, leaving, np.stack([heads, tails], axis=1).ravel())

    def cut(self, rooms: IntArray) -> tuple[IntArray, npt.NDArray[np.bool_]]:
        """Return a maximum flow on each arc, and whether each vertex is on the source's side."""
        # `rooms`: Of each arc, shape (m,); together less than `UNLIMITED`, but for arcs that have
        # it.
        left = np.zeros(2 * len(rooms), dtype=np.int64)
        left[::2] = rooms
        level = np.empty(len(self.first) - 1, dtype=np.int64)
        augment(SINK, SOURCE, 1, UNLIMITED, self.first, self.leaving, self.heads, left, level)
        return rooms - left[::2], level < 0


@compiled([_INT(*(_INT,) * 4, *(_VECTOR,) * 5)])
def augment(
    source: int,
    sink: int,
    back: int,
    wanted: int,
    first: IntArray,
    leaving: IntArray,
    heads: IntArray,
    room: IntArray,
    level: IntArray,
) -> int:
    """Augment a flow until it is maximal or has grown by what is wanted; return how much it has.

    If it is maximal, a level >= 0 is that of vertices on the source's side, as few as possible.
    """
    # `back`: 1 if the flow goes from `sink` to `source`, so that levels are those of vertices which
    # reach the end of the flow; 0 otherwise. `first`, `leaving`, `heads`: As in `Network`. `room`:
    # What each arc has room for, of those back what flows at the beginning; updated.
    vertices = len(level)
    queue = np.empty(vertices, np.int64)
    path = np.empty(vertices, np.int64)
    following = np.empty(vertices, np.int64)
    total = 0
    while total < wanted:
        level[:] = -1
        level[source] = 0
        following[source] = first[source]
        queue[0] = source
        taken, put, end, drain = 0, 1, 1, 0
        while taken < put:
            if taken == end:
                if drain >= wanted - total:
                    break
                end = put
            vertex = queue[taken]
            taken += 1
            for i in range(first[vertex], first[vertex + 1]):
                arc = leaving[i]
                other = heads[arc]
                if level[other] < 0 and room[arc ^ back] > 0:
                    if other == sink:
                        drain = min(wanted, drain + room[arc ^ back])
                        continue
                    level[other] = level[vertex] + 1
                    following[other] = first[other]
                    queue[put] = other
                    put += 1
        if drain == 0:
            break
        length, vertex = 0, source
        while True:
            if vertex == sink:
                amount = wanted - total
                for i in range(length):
                    amount = min(amount, room[path[i] ^ back])
                total += amount
                full = 0
                for i in range(length - 1, -1, -1):
                    room[path[i] ^ back] -= amount
                    room[path[i] ^ back ^ 1] += amount
                    if room[path[i] ^ back] == 0:
                        full = i
                if total == wanted:
                    break
                length = full
                vertex = heads[path[full] ^ 1]
                continue
            i, end, below = following[vertex], first[vertex + 1], level[vertex] + 1
            while i < end:
                arc = leaving[i]
                if room[arc ^ back] > 0 and (heads[arc] == sink or level[heads[arc]] == below):
                    break
                i += 1
            following[vertex] = i
            if i < end:
                path[length] = leaving[i]
                length += 1
                vertex = heads[leaving[i]]
            elif vertex == source:
                break
            else:
                # Nothing gets from here to the sink in this phase.
                level[vertex] = -2
                length -= 1
                vertex = heads[path[length] ^ 1]
    return total
