"""Windows: the stages that a node can be in if all stages cost at most a threshold.

A stage holds at most one whole share (see `shares`), so a node and all it depends on fill at least
as many stages as their shares add up to; and likewise what depends on it. Branching narrows a
node's window, and with it those of the nodes before or after it.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from boundmark.bounds.pipeline.flows.fractional_load import ShareTable
from boundmark.problems.arrays import IntArray
from boundmark.problems.dag import Dag

# Shares are integers, in units of 1 / SHARE_UNITS of a stage, rounded down: small enough for a
# linear program in floating point.
SHARE_UNITS = 2**30


@dataclass(frozen=True, eq=False)
class Windows:
    """First and last possible stage of each node, counted from 0, two of shape (n,)."""

    first: IntArray
    last: IntArray

    @property
    def are_possible(self) -> bool:
        """Whether every node has a stage left."""
        return bool((self.first <= self.last).all())


def shares(table: ShareTable, threshold: int) -> IntArray | None:
    """Return each node's share of a stage; None if a node does not fit into any."""
    work = table.graph.work
    room = threshold - table.io(threshold)
    if bool((work > room).any()):
        return None
    scaled = work.astype(object) * SHARE_UNITS // np.maximum(room, 1).astype(object)
    result: IntArray = scaled.astype(np.int64)
    return result


def share_windows(dag: Dag, amounts: IntArray, k: int) -> Windows:
    """Return the windows that the shares leave."""
    reach = _reachable(dag)
    before, after = reach @ amounts, amounts @ reach
    first = np.maximum(-(-(before + amounts) // SHARE_UNITS) - 1, 0)
    last = np.minimum(k + (-(after + amounts) // SHARE_UNITS), k - 1)
    return narrowed(dag, Windows(first, last))


def branch(dag: Dag, windows: Windows, node: int, stage: int) -> tuple[Windows, Windows]:
    """Return the windows if the node is in `stage` or earlier, and if it is later."""
    last, first = windows.last.copy(), windows.first.copy()
    last[node] = min(int(last[node]), stage)
    first[node] = max(int(first[node]), stage + 1)
    return (
        narrowed(dag, Windows(windows.first, last)),
        narrowed(dag, Windows(first, windows.last)),
    )


def narrowed(dag: Dag, windows: Windows) -> Windows:
    """Return windows in which no consumer can be earlier, and no producer later, than the other."""
    first, last = windows.first.tolist(), windows.last.tolist()
    order = dag.topological_order.tolist()
    start, targets = dag.consumer_start.tolist(), dag.targets.tolist()
    for node in order:
        for consumer in targets[start[node] : start[node + 1]]:
            first[consumer] = max(first[consumer], first[node])
    for node in reversed(order):
        for consumer in targets[start[node] : start[node + 1]]:
            last[node] = min(last[node], last[consumer])
    return Windows(np.array(first), np.array(last))


def _reachable(dag: Dag) -> npt.NDArray[np.bool_]:
    """Return whether column reaches row, shape (n, n)."""
    reach = np.zeros((dag.nodes, dag.nodes), dtype=np.bool_)
    for node in dag.topological_order.tolist():
        producers = dag.producers_of(node)
        reach[node] = reach[producers].any(axis=0)
        reach[node, producers] = True
    return reach
