"""Genetic search over topological orders."""


class _Ignored:
    def solution(self, solution: object) -> None:
        """Drop it."""

    def bound(self, bound: object) -> None:
        """Drop it."""


class Brkga:
    """A whole run on a random graph of average degree 4, k = 8."""

    params = ((100, 200), ("brkga-100", "brkga-10000"))
    param_names = ("nodes", "method")
    timeout = 120

    def setup(self, nodes: int, method: str) -> None:
        from boundmark.heuristics.pipeline import METHODS
        from boundmark.problems.pipeline import PipelineInstance

        from .reference_segmentation import random_graph

        self.instance = PipelineInstance(random_graph("regal-style", nodes, seed=1), 8)
        self.method = {known.name: known for known in METHODS}[method]

    def time_run(self, nodes: int, method: str) -> None:
        from boundmark.problems.method import Budget

        self.method.run(self.instance, Budget(100), 1, _Ignored(), **self.method.params)
