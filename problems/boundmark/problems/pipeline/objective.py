"""Cost of the blocks of a partition (papers/mtpp, Equations 1 to 3).

The overflow term differs from the paper's Equation 2 in that the room left for parameters is a
constant of the instance (`cache`) instead of M - peak(S); the paper makes the same simplification
for its MIPs ("reserving a buffer for activations", Section 3). It also counts parameters in ticks.
"""

import numpy as np

from boundmark.problems.arrays import IntArray
from boundmark.problems.costed_graph import CostedGraph


def _sums(stages: IntArray, weights: IntArray, k: int) -> IntArray:
    # bincount would add in floating point.
    sums = np.zeros(k, dtype=np.int64)
    np.add.at(sums, stages, weights)
    return sums


def block_work(graph: CostedGraph, stages: IntArray, k: int) -> IntArray:
    """Return the work of each block, shape (k,)."""
    return _sums(stages, graph.work, k)


def block_transfer(graph: CostedGraph, stages: IntArray, k: int) -> tuple[IntArray, IntArray]:
    """Return ticks for the tensors that enter, and that leave, each block; two of shape (k,).

    A tensor counts once for each block that it enters, however many consumers it has there, and
    once for the block that it leaves.
    """
    sources, targets = graph.dag.sources, graph.dag.targets
    crossing = stages[sources] != stages[targets]
    producers, receivers = sources[crossing], stages[targets[crossing]]
    entering = np.unique(producers * k + receivers)
    leaving = np.unique(producers)
    return (
        _sums(entering % k, graph.transfer[entering // k], k),
        _sums(stages[leaving], graph.transfer[leaving], k),
    )


def block_overflow(graph: CostedGraph, stages: IntArray, k: int) -> IntArray:
    """Return ticks to stream the parameters that do not fit, shape (k,)."""
    return np.maximum(_sums(stages, graph.param_load, k) - graph.cache, 0)


def block_costs(graph: CostedGraph, stages: IntArray, k: int) -> IntArray:
    """Return f(S) of each block S, shape (k,)."""
    incoming, outgoing = block_transfer(graph, stages, k)
    return block_work(graph, stages, k) + incoming + outgoing + block_overflow(graph, stages, k)
