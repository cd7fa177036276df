"""A random graph, and a listener to methods, for several benchmarks."""

from typing import Any

import numpy as np

from boundmark.problems.arrays import frozen
from boundmark.problems.dag import Dag
from boundmark.problems.pipeline.graph import PipelineGraph


def random_graph(nodes: int) -> PipelineGraph:
    """Return a graph of four edges per operator whose work and tensors cost N(50, 10)."""
    rng = np.random.default_rng(1)
    ends = np.sort(rng.integers(0, nodes, (2 * nodes, 2)), axis=1)
    dag = Dag.from_edges(nodes, ends[ends[:, 0] < ends[:, 1]].tolist())
    work, transfer = (frozen(np.maximum(0, np.rint(rng.normal(50, 10, nodes)))) for _ in range(2))
    return PipelineGraph.without_parameters(dag, work, transfer, tuple(map(str, range(nodes))))


class Kept:
    """Keeps the last solution and bound of a method."""

    def solution(self, solution: Any) -> None:
        """Keep a solution."""
        self.last_solution = solution

    def bound(self, bound: Any) -> None:
        """Keep a bound."""
        self.last_bound = bound
