"""Chooses the node to branch on, and the superblock."""

import numpy as np

from boundmark.bounds.pipeline.shares.windows import Windows
from boundmark.bounds.pipeline.tree.linear_program import Point
from boundmark.bounds.pipeline.tree.relaxation import FloatArray, Relaxation
from boundmark.bounds.pipeline.tree.superblocks import MIDDLE, Superblocks
from boundmark.problems.arrays import IntArray
from boundmark.problems.pipeline.graph import PipelineGraph

# A column within this of 0 or 1 is as good as fixed.
FRACTIONAL = 1e-4


def choice(
    graph: PipelineGraph,
    superblocks: Superblocks,
    amounts: IntArray,
    windows: Windows,
    relaxation: Relaxation,
    point: Point,
) -> tuple[int, int] | None:
    """Return the node and superblock to branch on; None if everything is decided.

    The exact program branches on a large share whose superblock is far from decided. If a
    superblock is singled out, who is in it matters more than what is before it, and a node among
    expensive tensors matters most: its neighbours must follow it, or the superblock is expensive.
    """
    y = prefix_values(windows, relaxation, point)
    undecided = np.minimum(y, 1 - y)
    if undecided.max() < FRACTIONAL:
        return None
    if superblocks.demand is not None:
        inside = y[:, MIDDLE] - y[:, MIDDLE - 1]
        membership = np.minimum(inside, 1 - inside)
        if membership.max() >= FRACTIONAL:
            node = _heaviest(membership, _tensors_around(graph))
            return node, int(undecided[node].argmax())
    node, superblock = divmod(
        _heaviest(undecided.ravel(), amounts.repeat(len(superblocks.merged))),
        len(superblocks.merged),
    )
    return node, superblock


def prefix_values(windows: Windows, relaxation: Relaxation, point: Point) -> FloatArray:
    """Return y(v, b) of a point, with those that windows fix, shape (n, K)."""
    is_open = relaxation.y >= 0
    y = (np.arange(relaxation.y.shape[1]) >= windows.last[:, None]).astype(np.float64)
    y[is_open] = point.columns[relaxation.y[is_open]]
    return y


def _heaviest(undecided: FloatArray, weights: IntArray) -> int:
    best = int(np.argmax(undecided * weights))
    return best if undecided[best] >= FRACTIONAL else int(undecided.argmax())


def _tensors_around(graph: PipelineGraph) -> IntArray:
    """Return what the tensors of each node alone in a stage cost, shape (n,)."""
    dag = graph.dag
    around = np.zeros(dag.nodes, dtype=np.int64)
    np.add.at(around, dag.targets, graph.transfer[dag.sources])
    producers = np.unique(dag.sources)
    around[producers] += graph.transfer[producers]
    return around
