"""Lower bounds for `pipeline`, on random graphs of four edges per operator and on models."""

import numpy as np

from boundmark.benchmarks.model import named_instance
from boundmark.bounds import checker
from boundmark.bounds.checker.pipeline.towers import PairSearch, sides
from boundmark.bounds.pipeline.downsets.two_branch_dp import TowerSearch, towers
from boundmark.bounds.pipeline.flows.fractional_load import FEW_IO_WEIGHTS, share_table
from boundmark.bounds.pipeline.flows.minimum_cuts import MinimumCuts, largest_node_cut
from boundmark.bounds.pipeline.weights import cut_search as search
from boundmark.bounds.pipeline.weights.cut_tree import WHOLE
from boundmark.bounds.pipeline.weights.cut_trees import (
    HeavySets,
    TreeSettings,
    bounded_ends,
    start_search,
)
from boundmark.bounds.pipeline.weights.known_sets import KnownSets
from boundmark.bounds.pipeline.weights.set_weights import SetWeights
from boundmark.bounds.pipeline.weights.tensors import ANY, Tensors
from boundmark.datasets.pipeline.regal_style import load
from boundmark.problems.arrays import frozen
from boundmark.problems.dag import Dag
from boundmark.problems.method import Budget
from boundmark.problems.pipeline import PipelineInstance
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


class ShareProofs:
    """Flows of a certificate on NASNet-A with 905 operators."""

    timeout = 300

    def setup(self) -> None:
        instance = named_instance("cells/nasnet-mobile-101", {"k": "8"}, "pipeline").instance
        assert isinstance(instance, PipelineInstance)
        self.table = share_table(instance.graph)

    def time_flows(self) -> None:
        self.table.flows_in_time(self.table.bound(8), Budget(1e6))


class TwoBranchDp:
    """Pairs of down-sets of FLAVA's image and text encoders, in 16 stages; 1,178,005 is optimal."""

    timeout = 300

    def setup(self) -> None:
        instance = named_instance("zoo/flava-base", {"k": "16"}, "pipeline").instance
        assert isinstance(instance, PipelineInstance)
        graph = checker.check_instance(instance.to_json())
        _, tower = next(towers(instance.graph.dag))
        inner, outer = sides(graph, set(tower))
        self.lists = lambda: PairSearch(inner, outer, 1_178_004)
        self.search = TowerSearch(instance.k, inner, outer, self.lists(), 0)

    def time_lists(self) -> None:
        self.lists()

    def time_threshold(self) -> None:
        if self.search.stages(1_178_004, Budget(60)) is not None:
            raise AssertionError("the threshold is not refuted")

    def track_steps(self) -> int:
        """Return the steps that a check of the optimum takes."""
        self.search.stages(1_178_004, Budget(60))
        return self.search.steps


class Walks:
    """Walks among sets of up to 2,000 ticks, by the best node in each step, or by annealing."""

    timeout = 300
    params = (0.0, 1.0)
    param_names = ("annealed",)

    def setup(self, annealed: float) -> None:
        graph = load("erdos-renyi-107-plain")
        self.tensors, self.annealed = Tensors.of(graph), annealed
        self.weights = np.full(graph.dag.nodes, 16 / graph.dag.nodes)

    def _heaviest(self, rounds: int) -> float:
        known = KnownSets(self.tensors, 1, self.annealed)
        for _ in range(rounds):
            known.walk(self.weights, 2000, ANY, Budget(600))
        return known.heaviest(self.weights, 2000)

    def time_round(self, annealed: float) -> None:
        self._heaviest(1)

    def track_heaviest(self, annealed: float) -> float:
        """Return what the heaviest set weighs after ten rounds."""
        return self._heaviest(10)


class StageWeights:
    """Node weights for sets that cost at most 3,500 ticks; a partition costs 3,684."""

    timeout = 300

    def setup(self) -> None:
        self.graph, self.k = load("stochastic-block-101-plain"), 4
        self.equal = self.graph.work / self.graph.work.sum() * self.k

    def _needed(self) -> float:
        search_for = SetWeights(Tensors.of(self.graph), self.k, 1, has_ends=True)
        return search_for.at(3500, self.equal, Budget(600)).lower

    def time_weights(self) -> None:
        self._needed()

    def track_stages(self) -> float:
        """Return how many stages they call for, if walks have found all sets that count."""
        return self._needed()


class CutTree:
    """A tree of minimum cuts at 3,100 ticks, by weights for 3,500; a partition costs 3,684."""

    timeout = 300

    def setup(self) -> None:
        graph, k = load("stochastic-block-101-plain"), 4
        self.tensors, self.settings = Tensors.of(graph), TreeSettings()
        equal = graph.work / graph.work.sum() * k
        search_for = SetWeights(self.tensors, k, 1)
        found = search_for.at(3500, equal, Budget(600)).weights
        whole = np.floor(found / found.sum() * WHOLE).astype(np.int64)
        sets = HeavySets(frozen(whole), -(-int(whole.sum()) // k), 3100)
        self.start = lambda: start_search(self.tensors, sets, self.settings)

        self.weights, self.others = frozen(whole), k - 2
        self.heaviest = -(-int(whole.sum()) // k)

    def time_ends(self) -> None:
        """Take the time for what the first and the last stage weigh at most."""
        known = (self.heaviest, 0, 0)
        ends = bounded_ends(
            self.tensors, self.weights, 3100, known, self.others, self.settings, Budget(600)
        )
        if not ends.is_bounded:
            raise AssertionError("the ends are not bounded")

    def _branches(self) -> int:
        rule, state = self.start()
        if search.proceed(rule, state, 10**6) != search.REFUTED:
            raise AssertionError("the threshold is not refuted")
        return int(state.counts[search.BRANCHES])

    def time_tree(self) -> None:
        self._branches()

    def track_branches(self) -> int:
        """Return the size of the tree, which depends on weights, prices and branchings."""
        return self._branches()
