"""`separation`: tensors that must be transferred below a threshold count as work.

Suppose that every stage costs at most t. Stages are convex: one with two nodes in it holds all
that is on paths between them. If that costs more than t, the two are in different stages, and so
are all that the first depends on and all that depends on the second. A tensor from one of those
to the other leaves a stage and enters a stage, so its transfer counts as work at both ends. With
more work, more nodes are too far from each other, and so on. If the work of all nodes then exceeds
what k stages of cost t can do, OPT > t.

This is strong where tensors wait for long: in training graphs, backward operators read what
forward ones wrote at the other end of the graph. Elsewhere it is the mean work.
"""

from typing import Any, NamedTuple

import numpy as np

from boundmark.bounds.checker.pipeline import limits
from boundmark.bounds.pipeline.kernels import separation as kernel
from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.certificate import Certificate
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import Budget, Progress
from boundmark.problems.pipeline import PipelineInstance

KIND = "separation/1"


class Refutation(NamedTuple):
    """Pairs of nodes that are in different stages, and the threshold that they refute."""

    threshold: int
    first: IntArray
    last: IntArray


class Separations:
    """Refutes thresholds of an instance."""

    def __init__(self, instance: PipelineInstance) -> None:
        graph, dag = instance.graph, instance.graph.dag
        self._graph = graph
        self._k = instance.k
        order = dag.topological_order
        self._before = kernel.reached(order, dag.producer_start, dag.producers)
        self._after = kernel.reached(frozen(order[::-1]), dag.consumer_start, dag.targets)
        between = kernel.nodes_between(self._before, self._after, dag.sources, dag.targets)
        self._nearest = frozen(np.argsort(between, kind="stable"))

    def without_pairs(self) -> Refutation:
        """Return what the work of the nodes refutes by itself."""
        none = np.empty(0, dtype=np.int64)
        return Refutation(self._least_cost(self._graph.work) - 1, none, none)

    def refute(self, threshold: int) -> Refutation | None:
        """Return a refutation of a threshold, or of a larger one; None if this does not refute it.

        Parameters
        ----------
        threshold
            What all stages would have to cost at most.
        """
        graph = self._graph
        work = np.array(graph.work, dtype=np.int64)
        first, last, holds_up_to = kernel.separate(
            threshold,
            self._before,
            self._after,
            graph.dag.sources,
            graph.dag.targets,
            self._nearest,
            work,
            graph.transfer,
            graph.param_load,
            graph.cache,
        )
        refuted = min(self._least_cost(work) - 1, holds_up_to)
        return Refutation(refuted, first, last) if refuted >= threshold else None

    def _least_cost(self, work: IntArray) -> int:
        """Return what the bottleneck stage costs at least, if each node has so much work."""
        loaded = work + self._graph.param_load
        return max(
            int(work.max()),
            int(loaded.max()) - self._graph.cache,
            -(-int(work.sum()) // self._k),
            -(-int(loaded.sum()) // self._k) - self._graph.cache,
        )


def run(
    instance: PipelineInstance, budget: Budget, seed: int, progress: Progress, **params: Any
) -> None:
    """Report the bound without pairs, then that of the largest threshold found to be refuted.

    Raises
    ------
    UnsupportedError
        If the graph has more nodes than the checker takes.
    """
    graph = instance.graph
    if instance.nodes > limits.LARGEST_SEPARATION_GRAPH:
        raise UnsupportedError(
            f"the graph has {instance.nodes:,} nodes; "
            f"expected at most {limits.LARGEST_SEPARATION_GRAPH:,}"
        )
    separations = Separations(instance)
    low = separations.without_pairs()
    high = int(graph.work.sum() + 2 * graph.transfer.sum() + graph.param_load.sum())
    progress.bound(_certificate(instance, low))
    while high - low.threshold > 1 and not budget.is_spent():
        middle = (low.threshold + high) // 2
        found = separations.refute(middle)
        if found is None:
            high = middle
        else:
            low = found
            progress.bound(_certificate(instance, low))


def _certificate(instance: PipelineInstance, found: Refutation) -> Certificate:
    payload = {
        "threshold": found.threshold,
        "first": found.first.tolist(),
        "last": found.last.tolist(),
    }
    return Certificate.of(instance, KIND, found.threshold + 1, payload, "separation")
