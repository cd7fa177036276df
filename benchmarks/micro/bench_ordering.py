"""Execution orders: cuts and breakpoints, dynamic programming over down-sets, memory."""

from typing import Any


def instance(member: str, metric: str) -> Any:
    """Return an instance of a model of `onnx-light`."""
    from boundmark.datasets.onnx_light import load
    from boundmark.problems.ordering import OrderingInstance
    from boundmark.problems.ordering.graph import ordering_graph

    return OrderingInstance(ordering_graph(load(member)), metric)


class Nobody:
    """Listens to a method."""

    def solution(self, solution: object) -> None:
        """Ignore it."""

    def bound(self, bound: object) -> None:
        """Ignore it."""


class Orders:
    """A model with wide modules, and one with many narrow ones."""

    params = (["inception-v2", "densenet121"], ["peak", "sum"])
    param_names = ("model", "metric")

    def setup(self, model: str, metric: str) -> None:
        import numpy as np

        from boundmark.bounds.ordering import downset_dp, live_cut
        from boundmark.heuristics.ordering.search import peak_and_sum, tensors_of
        from boundmark.problems.method import Budget

        self.instance = instance(model, metric)
        self.budget = Budget(60.0)
        self.exact, self.cut = downset_dp, live_cut
        self.cost, self.tensors = peak_and_sum, tensors_of(self.instance)
        self.order = np.ascontiguousarray(self.instance.graph.dag.topological_order)

    def time_downset_dp(self, model: str, metric: str) -> None:
        self.exact.run(self.instance, self.budget, 1, Nobody(), width=1_000_000)

    def time_live_cut(self, model: str, metric: str) -> None:
        self.cut.run(self.instance, self.budget, 1, Nobody())

    def time_memory_of_an_order(self, model: str, metric: str) -> None:
        self.cost(self.order, self.tensors)
