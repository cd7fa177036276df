"""Heuristics for `pipeline`: orders of operators, their segmentation, and moves of operators."""

import numpy as np

from boundmark.datasets.pipeline.regal_style import load
from boundmark.heuristics.pipeline.annealing import walk_from
from boundmark.heuristics.pipeline.kernel_graph import kernel_graph
from boundmark.heuristics.pipeline.node_move_kernels import anneal, new_state
from boundmark.heuristics.pipeline.slicegraph import has_segmentation, segment_order
from boundmark.heuristics.priority_order import topological_order
from boundmark.problems.pipeline import Partition, PipelineInstance

from .samples import random_graph


class Orders:
    """A random order of a random graph, and what cuts it into 16 stages or refuses it."""

    param_names = ("nodes",)
    params = (200, 5000, 100_000)
    timeout = 120

    def setup(self, nodes: int) -> None:
        self.instance = PipelineInstance(random_graph(nodes), 16)
        self.dag = self.instance.graph.dag
        self.order = self.dag.topological_order
        self.priorities = np.random.default_rng(1).random(nodes)
        self.cost, _ = segment_order(self.instance, self.order)

    def time_topological_order(self, nodes: int) -> None:
        topological_order(self.dag, self.priorities)

    def time_segment_order(self, nodes: int) -> None:
        segment_order(self.instance, self.order)

    def peakmem_segment_order(self, nodes: int) -> None:
        segment_order(self.instance, self.order)

    def time_has_segmentation(self, nodes: int) -> None:
        has_segmentation(self.instance, self.order, self.cost - 1)


class Moves:
    """100,000 moves from the best segmentation of the graph's own order, at 1 % of its cost."""

    def setup(self) -> None:
        instance = PipelineInstance(load("watts-strogatz-1"), 16)
        order = instance.graph.dag.topological_order
        self.cost, ends = segment_order(instance, order)
        self.stages = np.array(Partition.from_segments(order, ends).stages)
        self.graph, self.walk = kernel_graph(instance.graph), walk_from(instance, self.stages)
        self.state = new_state(np.random.default_rng(1))

    def time_moves(self) -> None:
        anneal(self.graph, self.walk, self.state, 100_000, 0.01, 0.02, self.cost, self.stages)
