"""Kahn's algorithm with node priorities."""

import numpy as np


class Kahn:
    """One random order of a random graph of average degree 4."""

    params = (200, 1000, 5000)
    param_names = ("nodes",)

    def setup(self, nodes: int) -> None:
        from boundmark.heuristics.priority_order import topological_order

        from .reference_segmentation import random_graph

        self.sort = topological_order
        self.dag = random_graph("plain", nodes, seed=1).dag
        self.priorities = np.random.default_rng(1).random(nodes)
        self.sort(self.dag, self.priorities)

    def time_order(self, nodes: int) -> None:
        self.sort(self.dag, self.priorities)
