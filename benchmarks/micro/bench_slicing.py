"""Slicing of a topological order, and the paper's algorithm beside it."""


class _Sliced:
    param_names = ("nodes", "k")

    def setup(self, nodes: int, k: int) -> None:
        from boundmark.heuristics.pipeline.slicing import best_slicing, compare
        from boundmark.problems.pipeline import PipelineInstance

        graph = compare.random_graph("regal-style", nodes, seed=1)
        self.instance = PipelineInstance(graph, k)
        self.order = graph.dag.topological_order
        self.slice_order, self.beats = best_slicing.slice_order, best_slicing.beats
        self.reference_cost = compare.reference_cost
        self.cost, _ = self.slice_order(self.instance, self.order)


class Slicing(_Sliced):
    """The best slicing, and the decision that refuses an order as good as the incumbent."""

    params = ((200, 1000, 5000), (2, 16, 64))

    def time_slice_order(self, nodes: int, k: int) -> None:
        self.slice_order(self.instance, self.order)

    def time_beats(self, nodes: int, k: int) -> None:
        self.beats(self.instance, self.order, self.cost - 1)


class LargeSlicing(_Sliced):
    """A size that the paper's n x n table rules out."""

    params = ((100_000,), (64,))
    timeout = 120

    def time_slice_order(self, nodes: int, k: int) -> None:
        self.slice_order(self.instance, self.order)

    def peakmem_slice_order(self, nodes: int, k: int) -> None:
        self.slice_order(self.instance, self.order)


class Reference(_Sliced):
    """Fenwick table and O(n^2 k) dynamic program."""

    params = ((200, 1000, 5000), (2, 16, 64))

    def time_reference(self, nodes: int, k: int) -> None:
        self.reference_cost(self.instance, self.order)
