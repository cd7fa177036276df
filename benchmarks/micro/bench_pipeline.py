"""`pipeline`: orders, moves and lower bounds, on random graphs and on models; and the checker."""

import json

import numpy as np

from boundmark.benchmarks.solving.model import named_instance
from boundmark.bounds import checker
from boundmark.bounds.checker.pipeline.two_branch_dp import PairSearch, sides
from boundmark.bounds.pipeline.downsets.two_branch_dp import TowerSearch, towers
from boundmark.bounds.pipeline.flows.fractional_load import share_table
from boundmark.bounds.pipeline.flows.minimum_cuts import MinimumCuts, largest_node_cut
from boundmark.bounds.pipeline.prefixes.attempt import Attempt, Context
from boundmark.bounds.pipeline.weights import cut_search as search
from boundmark.bounds.pipeline.weights.cut_tree import WHOLE
from boundmark.bounds.pipeline.weights.cut_trees import HeavySets, TreeSettings, start_search
from boundmark.bounds.pipeline.weights.set_weights import SetWeights
from boundmark.bounds.pipeline.weights.tensors import Tensors
from boundmark.datasets.pipeline.cells import load as load_cells
from boundmark.datasets.pipeline.regal_style import load
from boundmark.heuristics.pipeline.annealing import walk_from
from boundmark.heuristics.pipeline.kernel_graph import kernel_graph
from boundmark.heuristics.pipeline.node_move_kernels import anneal, new_state
from boundmark.heuristics.pipeline.slicegraph import has_segmentation, segment_order
from boundmark.heuristics.priority_order import topological_order
from boundmark.problems.arrays import frozen
from boundmark.problems.dag import Dag
from boundmark.problems.method import Budget
from boundmark.problems.pipeline import Partition, PipelineInstance
from boundmark.problems.pipeline.graph import PipelineGraph
from boundmark.problems.problem import solution_document


def random_graph(nodes: int) -> PipelineGraph:
    """Return a graph of four edges per operator whose work and tensors cost N(50, 10)."""
    rng = np.random.default_rng(1)
    ends = np.sort(rng.integers(0, nodes, (2 * nodes, 2)), axis=1)
    dag = Dag.from_edges(nodes, ends[ends[:, 0] < ends[:, 1]].tolist())
    work, transfer = (frozen(np.maximum(0, np.rint(rng.normal(50, 10, nodes)))) for _ in range(2))
    return PipelineGraph.without_parameters(dag, work, transfer, tuple(map(str, range(nodes))))


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


class Graphs:
    """Bounds of random graphs, by fractional loads for all k from 2 to 64 at once; and checks.

    Certificates of fractional loads are the largest.
    """

    param_names = ("nodes",)
    params = (200, 1500)

    def setup(self, nodes: int) -> None:
        self.graph = random_graph(nodes)
        sample = PipelineInstance(self.graph, 8)
        self.instance = sample.to_json()
        certificate = share_table(sample.graph).certificate(sample, "fractional-load")
        self.certificate = json.loads(json.dumps(certificate.to_json()))
        partition = Partition(frozen(np.arange(nodes) * 8 // nodes))
        self.solution = solution_document(sample, partition, sample.objective(partition))

    def time_node_cut(self, nodes: int) -> None:
        largest_node_cut(self.graph, MinimumCuts(self.graph))

    def time_share(self, nodes: int) -> None:
        table = share_table(self.graph)
        for k in range(2, 65):
            table.bound(k)

    def time_certificate(self, nodes: int) -> None:
        checker.check_certificate(self.instance, self.certificate)

    def time_solution(self, nodes: int) -> None:
        checker.check_solution(self.instance, self.solution)


class TwoBranchDp:
    """Pairs of down-sets of FLAVA's image and text encoders, in 16 stages; 1,106,130 is optimal."""

    timeout = 300

    def setup(self) -> None:
        instance = named_instance("zoo/flava-base", {"k": "16"}, "pipeline").instance
        assert isinstance(instance, PipelineInstance)
        graph = checker.check_instance(instance.to_json())
        _, tower = next(towers(instance.graph.dag))
        inner, outer = sides(graph, set(tower))
        lists = PairSearch(inner, outer, 1_106_129)
        self.search = TowerSearch(instance.k, inner, outer, lists, 0)

    def time_threshold(self) -> None:
        assert self.search.stages(1_106_129, Budget(60)) is None


class CutTree:
    """Weights for sets, and a tree of minimum cuts that refutes 1.08 of the mean work."""

    def setup(self) -> None:
        graph, self.k = load("stochastic-block-1"), 8
        self.tensors, self.mean = Tensors.of(graph), graph.work.sum() / self.k
        self.equal = graph.work / graph.work.sum() * self.k
        whole = np.floor(self.equal / self.k * WHOLE).astype(np.int64)
        limit = int(1.08 * self.mean)
        self.sets = HeavySets(frozen(whole), -(-int(whole.sum()) // self.k), limit)

    def time_weights(self) -> None:
        SetWeights(self.tensors, self.k, 1).at(int(1.2 * self.mean), self.equal, Budget(600))

    def time_tree(self) -> None:
        self._branches()

    def track_branches(self) -> int:
        return self._branches()

    def _branches(self) -> int:
        rule, state = start_search(self.tensors, self.sets, TreeSettings())
        assert search.proceed(rule, state, 10**6) == search.REFUTED
        return int(state.counts[search.BRANCHES])


class Prefixes:
    """An attempt of `prefix-bound` at 1.05 of the mean work, on a NASNet-A of 575 operators."""

    timeout = 300

    def setup(self) -> None:
        sample = PipelineInstance(load_cells("nasnet-small-1"), 4)
        self.context = Context.of(sample, Budget(1e6))
        self.threshold = int(1.05 * int(sample.graph.work.sum()) / 4)

    def time_attempt(self) -> None:
        Attempt(self.context, self.threshold).forward(10)
