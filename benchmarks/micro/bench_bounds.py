"""Lower bounds for `pipeline`, on random graphs and on models."""

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
from boundmark.problems.arrays import frozen
from boundmark.problems.method import Budget
from boundmark.problems.pipeline import PipelineInstance

from .samples import random_graph


class Graphs:
    """The node-cut bound, and those by fractional loads of all k from 2 to 64 at once."""

    param_names = ("nodes",)
    params = (200, 1500)

    def setup(self, nodes: int) -> None:
        self.graph = random_graph(nodes)

    def time_node_cut(self, nodes: int) -> None:
        largest_node_cut(self.graph, MinimumCuts(self.graph))

    def time_share(self, nodes: int) -> None:
        table = share_table(self.graph)
        for k in range(2, 65):
            table.bound(k)


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
