"""Which stages a node can take if no stage may cost more than a threshold.

If every v takes the share pi[v] of its stage, and the shares within a stage add up to at most 1,
then a node and its ancestors, all in the node's stage or before, need ``ceil(sum of pi)`` stages.
The same holds from the end with descendants. Shares: see `boundmark.bounds.pipeline.shares.table`.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.dag import Dag
from boundmark.problems.pipeline.graph import PipelineGraph

# Shares are counted in units of 1 / SHARE_UNITS of a stage, rounded down.
SHARE_UNITS = 2**32


@dataclass(frozen=True, eq=False)
class StageWindows:
    """First and last stage of each node, counted from 1, two of shape (n,)."""

    first: IntArray
    last: IntArray

    def refute(self) -> bool:
        """Whether some node has no stage left, so that the threshold is impossible."""
        return bool((self.first > self.last).any())


def stage_windows(graph: PipelineGraph, k: int, threshold: int, io: IntArray) -> StageWindows:
    """Return the windows of partitions that cost at most `threshold`.

    Parameters
    ----------
    io
        Least cost of the tensors around a stage that contains v and costs at most the threshold,
        shape (n,); zeros will do.
    """
    # As a share, more than all stages hold; no node can be after stage n of a graph with n nodes.
    too_much = (min(k, graph.dag.nodes) + 1) * SHARE_UNITS
    first = np.ones(graph.dag.nodes, dtype=np.int64)
    last = np.full(graph.dag.nodes, k)
    ancestors = _ancestors(graph.dag)
    for demand, room in (
        (graph.work, threshold - io),
        (graph.work + graph.param_load, threshold + graph.cache - io),
    ):
        shares = [
            amount * SHARE_UNITS // space if space > 0 else too_much * (amount > 0)
            for amount, space in zip(demand.tolist(), room.tolist(), strict=True)
        ]
        share = frozen(np.minimum(shares, too_much))
        first = np.maximum(first, -(-(share @ ancestors) // SHARE_UNITS))
        last = np.minimum(last, k + 1 + -(ancestors @ share) // SHARE_UNITS)
    return StageWindows(frozen(first), frozen(last))


def _ancestors(dag: Dag) -> npt.NDArray[np.bool_]:
    """Return whether u is v or before it, at [u, v]."""
    ancestors = np.eye(dag.nodes, dtype=np.bool_)
    for v in dag.topological_order:
        ancestors[:, v] |= ancestors[:, dag.producers_of(int(v))].any(axis=1)
    return ancestors
