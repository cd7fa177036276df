"""Cost of the stages of a partition ([MTPP24], Equations 1 to 3).

The overflow term differs from the paper's Equation 2 in that the room left for parameters is a
constant of the instance (`cache`) instead of M - peak(S); the paper makes the same simplification
for its MIPs ("reserving a buffer for activations", Section 3). It also counts parameters in ticks.
"""

import numpy as np

from boundmark.problems.arrays import IntArray
from boundmark.problems.noise import FloatArray, Noise
from boundmark.problems.pipeline.graph import PipelineGraph


def _sums(stages: IntArray, weights: IntArray, k: int) -> IntArray:
    # bincount would add in floating point.
    sums = np.zeros(k, dtype=np.int64)
    np.add.at(sums, stages, weights)
    return sums


def stage_work(graph: PipelineGraph, stages: IntArray, k: int) -> IntArray:
    """Return the work of each stage, shape (k,)."""
    return _sums(stages, graph.work, k)


def stage_transfer(graph: PipelineGraph, stages: IntArray, k: int) -> tuple[IntArray, IntArray]:
    """Return ticks for the tensors that enter, and that leave, each stage; two of shape (k,).

    A tensor counts once for each stage that it enters, however many consumers it has there, and
    once for the stage that it leaves.
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


def stage_overflow(graph: PipelineGraph, stages: IntArray, k: int) -> IntArray:
    """Return ticks to stream the parameters that do not fit, shape (k,)."""
    return np.maximum(_sums(stages, graph.param_load, k) - graph.cache, 0)


def stage_costs(graph: PipelineGraph, stages: IntArray, k: int) -> IntArray:
    """Return f(S) of each stage S, shape (k,)."""
    incoming, outgoing = stage_transfer(graph, stages, k)
    return stage_work(graph, stages, k) + incoming + outgoing + stage_overflow(graph, stages, k)


def noisy_costs(graph: PipelineGraph, stages: IntArray, k: int, noise: Noise) -> FloatArray:
    """Return the cost of the slowest stage in each draw of work and transfers, shape (draws,).

    A tensor has one factor for all stages; what is streamed of parameters takes as long as it does.
    """
    random = noise.generator()
    work = graph.work * noise.factors(random, graph.dag.nodes)
    transfer = graph.transfer * noise.factors(random, graph.dag.nodes)
    members = np.zeros((graph.dag.nodes, k))
    members[np.arange(graph.dag.nodes), stages] = 1.0
    sources, targets = graph.dag.sources, graph.dag.targets
    crossing = stages[sources] != stages[targets]
    moved = np.zeros_like(members)
    moved[sources[crossing], stages[targets[crossing]]] = 1.0
    moved[sources[crossing], stages[sources[crossing]]] = 1.0
    costs = work @ members + transfer @ moved + stage_overflow(graph, stages, k)
    return np.asarray(costs.max(axis=1))
