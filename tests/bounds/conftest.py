from collections.abc import Callable

import numpy as np
import pytest

from boundmark.problems.arrays import frozen
from boundmark.problems.dag import Dag
from boundmark.problems.pipeline.graph import PipelineGraph


@pytest.fixture(scope="session")
def random_graph() -> Callable[..., PipelineGraph]:
    """Return a maker of graphs, four edges per operator, tensor costs N(50, 10) times a unit."""

    def make(nodes: int, seed: int, unit: int = 1) -> PipelineGraph:
        rng = np.random.default_rng(seed)
        ends = rng.integers(0, nodes, (2 * nodes, 2))
        edges = [(int(min(pair)), int(max(pair))) for pair in ends if pair[0] != pair[1]]
        costs = [frozen(np.maximum(0, np.rint(rng.normal(50, 10, nodes) * unit))) for _ in range(3)]
        cache = int(costs[2].sum()) // 3
        names = tuple(str(v) for v in range(nodes))
        return PipelineGraph(Dag.from_edges(nodes, edges), *costs, cache, names)

    return make
