"""Execution orders: dynamic programming over down-sets, and the memory of an order."""

import numpy as np

from boundmark.bounds.ordering import downset_dp
from boundmark.datasets.onnx_light import load
from boundmark.heuristics.ordering.search import peak_and_sum, tensors_of
from boundmark.problems.method import Budget
from boundmark.problems.ordering import OrderingInstance
from boundmark.problems.ordering.graph import ordering_graph

from .samples import Kept


class Orders:
    """A model with wide modules."""

    params = ("peak", "sum")
    param_names = ("metric",)

    def setup(self, metric: str) -> None:
        self.instance = OrderingInstance(ordering_graph(load("inception-v2")), metric)
        self.tensors = tensors_of(self.instance)
        self.order = np.ascontiguousarray(self.instance.graph.dag.topological_order)

    def time_downset_dp(self, metric: str) -> None:
        downset_dp.run(self.instance, Budget(60), 1, Kept(), width=1_000_000)

    def time_memory_of_an_order(self, metric: str) -> None:
        peak_and_sum(self.order, self.tensors)
