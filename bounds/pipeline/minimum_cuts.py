"""Cheapest sets around a node, ``min of a io(S) + work(S), v in S``, and flows that prove them.

io(S) is what the tensors that enter and leave S cost. Both terms are submodular, so this is a
minimum cut. Its dual is one signed amount x_e per edge e = (u, w): x_e > 0 flows from producer u
to consumer w, x_e < 0 from w to u. If for every producer the positive and the negative amounts on
its out-edges each add up to at most ``a transfer[u]``, and no node but v keeps more than its work,
then every S that contains v satisfies

    a io(S) + work(S) >= work[v] + net outflow of v,

because what leaves S crosses tensors that io(S) counts, and what stays is kept by nodes of S.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from boundmark.bounds.pipeline import local_cut
from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.pipeline.graph import PipelineGraph


class MinimumCuts:
    """Minimum cuts of one graph; not for use by several threads at once.

    Parameters
    ----------
    most_kept
        Number of amounts in flows that are kept, at 12 bytes each. Proofs of one graph have most
        flows in common, whatever their kind and threshold, and all together take seconds on a
        thousand nodes.
    """

    def __init__(self, graph: PipelineGraph, most_kept: int = 2**22) -> None:
        dag = graph.dag
        self._network = local_cut.Network(
            work=graph.work,
            transfer=graph.transfer,
            io=frozen(transfers_around(graph)),
            sources=dag.sources,
            targets=dag.targets,
            out_start=dag.consumer_start,
            in_start=dag.producer_start,
            in_edges=frozen(np.argsort(dag.targets, kind="stable")),
        )
        state = [np.zeros(dag.edges, dtype=np.int64) for _ in range(2)]
        state += [np.zeros(3 * dag.nodes, dtype=np.int64) for _ in range(9)]
        self._state = local_cut.State(*state)
        self._state.level[:] = -1
        self._most_kept, self._kept = most_kept, 0
        self._flows: dict[tuple[int, int], tuple[npt.NDArray[np.int32], IntArray]] = {}

    def largest(self, extra: IntArray) -> tuple[int, int]:
        """Return the node v that maximises ``extra[v] + min of io(S) + work(S)``, and the maximum.

        Parameters
        ----------
        extra
            Constants, one per node, shape (n,).
        """
        alone = extra + self._network.io + self._network.work
        order = frozen(np.argsort(-alone, kind="stable"))
        node, value = local_cut.largest_cut(order, extra, self._network, self._state)
        return int(node), int(value)

    def table(self, nodes: IntArray, io_weights: Sequence[int] | IntArray) -> IntArray:
        """Return the minima for each node and each weight a, shape (nodes, weights).

        Parameters
        ----------
        io_weights
            Ascending, each a divisor of the last one.
        """
        weights = frozen(io_weights)
        return frozen(local_cut.cut_table(nodes, weights, self._network, self._state))

    def keeps(self, node: int, io_weight: int) -> bool:
        """Whether a flow has been computed and kept."""
        return (node, io_weight) in self._flows

    def flow(self, node: int, io_weight: int) -> dict[str, Any]:
        """Return the flow that proves one minimum, as certificates store it."""
        edges, amounts = self._flows.get((node, io_weight)) or self._flow(node, io_weight)
        return {
            "node": node,
            "io_weight": io_weight,
            "edges": edges.tolist(),
            "amounts": amounts.tolist(),
        }

    def _flow(self, node: int, io_weight: int) -> tuple[npt.NDArray[np.int32], IntArray]:
        """Compute the edges and amounts of a flow, by edge, and keep them if there is room."""
        edges, amounts = local_cut.cut_flow(node, io_weight, self._network, self._state)
        by_edge = np.argsort(edges)
        flow = edges[by_edge].astype(np.int32), amounts[by_edge]
        if self._kept + len(edges) <= self._most_kept:
            self._flows[node, io_weight] = flow
            self._kept += len(edges)
        return flow


def transfers_around(graph: PipelineGraph) -> IntArray:
    """Return the transfers into and out of each node alone, shape (n,)."""
    dag = graph.dag
    around = np.where(np.diff(dag.consumer_start) > 0, graph.transfer, 0)
    np.add.at(around, dag.targets, graph.transfer[dag.sources])
    return around


def largest_node_cut(graph: PipelineGraph, cuts: MinimumCuts) -> tuple[int, int]:
    """Return the node with the largest `node-cut` bound, and that bound."""
    return cuts.largest(frozen(np.maximum(graph.param_load - graph.cache, 0)))
