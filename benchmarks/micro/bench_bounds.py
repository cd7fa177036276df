"""Lower bounds for `pipeline` on random graphs with four edges an operator."""

import numpy as np

from boundmark.bounds.pipeline.cuts.minimum_cuts import MinimumCuts, largest_node_cut
from boundmark.bounds.pipeline.shares.table import FEW_IO_WEIGHTS, share_table
from boundmark.problems.arrays import frozen
from boundmark.problems.dag import Dag
from boundmark.problems.pipeline.graph import PipelineGraph


def random_graph(nodes: int) -> PipelineGraph:
    """Return a graph whose work and tensors cost N(50, 10)."""
    rng = np.random.default_rng(1)
    ends = np.sort(rng.integers(0, nodes, (2 * nodes, 2)), axis=1)
    dag = Dag.from_edges(nodes, ends[ends[:, 0] < ends[:, 1]].tolist())
    work, transfer = (frozen(np.maximum(0, np.rint(rng.normal(50, 10, nodes)))) for _ in range(2))
    return PipelineGraph.without_parameters(dag, work, transfer, tuple(map(str, range(nodes))))


class NodeCut:
    """The node-cut bound."""

    param_names = ("nodes",)
    params = (200, 1500, 20000)

    def setup(self, nodes: int) -> None:
        self.graph = random_graph(nodes)

    def time_node_cut(self, nodes: int) -> None:
        largest_node_cut(self.graph, MinimumCuts(self.graph))


class Share:
    """The share bounds of all k from 2 to 64 at once."""

    param_names = ("nodes",)
    params = (200, 1500)

    def setup(self, nodes: int) -> None:
        self.graph = random_graph(nodes)

    def time_few_weights(self, nodes: int) -> None:
        table = share_table(self.graph, FEW_IO_WEIGHTS)
        for k in range(2, 65):
            table.bound(k)

    def time_all_weights(self, nodes: int) -> None:
        table = share_table(self.graph)
        for k in range(2, 65):
            table.bound(k)

    # asv takes upward steps for regressions, so it tracks the shortfall and not the bound.
    def track_shortfall_to_all_work(self, nodes: int) -> float:
        return 1.0 - share_table(self.graph).bound(8) / int(self.graph.work.sum())
