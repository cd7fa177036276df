"""Segmentation of a topological order, and the paper's algorithm beside it."""


class _Segmented:
    param_names = ("nodes", "k")

    def setup(self, nodes: int, k: int) -> None:
        from boundmark.heuristics.pipeline import slicegraph
        from boundmark.problems.pipeline import PipelineInstance

        from . import reference_segmentation

        graph = reference_segmentation.random_graph("regal-style", nodes, seed=1)
        self.instance = PipelineInstance(graph, k)
        self.order = graph.dag.topological_order
        self.segment_order = slicegraph.segment_order
        self.has_segmentation = slicegraph.has_segmentation
        self.reference_cost = reference_segmentation.reference_cost
        self.cost, _ = self.segment_order(self.instance, self.order)


class Segmentation(_Segmented):
    """The best segmentation, and the decision that refuses an order as good as the incumbent."""

    params = ((200, 1000, 5000), (2, 16, 64))

    def time_segment_order(self, nodes: int, k: int) -> None:
        self.segment_order(self.instance, self.order)

    def time_has_segmentation(self, nodes: int, k: int) -> None:
        self.has_segmentation(self.instance, self.order, self.cost - 1)


class LargeSegmentation(_Segmented):
    """A size that the paper's n x n table rules out."""

    params = ((100_000,), (64,))
    timeout = 120

    def time_segment_order(self, nodes: int, k: int) -> None:
        self.segment_order(self.instance, self.order)

    def peakmem_segment_order(self, nodes: int, k: int) -> None:
        self.segment_order(self.instance, self.order)


class Reference(_Segmented):
    """Fenwick table and O(n^2 k) dynamic program."""

    params = ((200, 1000, 5000), (2, 16, 64))

    def time_reference(self, nodes: int, k: int) -> None:
        self.reference_cost(self.instance, self.order)
