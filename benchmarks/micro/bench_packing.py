"""The packing bound: its compiled search and growth of sets, and the gap that it certifies."""

import numpy as np

from boundmark.bounds.pipeline import PACKING
from boundmark.bounds.pipeline.flows.fractional_load import share_table
from boundmark.bounds.pipeline.weights.packing_search import Refuter
from boundmark.bounds.pipeline.weights.pool import Front, unit_of
from boundmark.bounds.pipeline.weights.tensors import Tensors
from boundmark.bounds.pipeline.weights.weighing import Weigher, whole_of
from boundmark.datasets.pipeline.regal_style import load
from boundmark.problems.catalog import methods
from boundmark.problems.certificate import Certificate, Claim
from boundmark.problems.method import Budget
from boundmark.problems.pipeline import Partition, PipelineInstance

MEMETIC = methods("pipeline")["memetic"]

# Orders segmented by the heuristic whose cost the bound is compared with.
EVALUATIONS = 2000


class Best:
    """Keeps the best bound and the best cost."""

    def __init__(self, instance: PipelineInstance) -> None:
        self.instance = instance
        self.bound_found, self.cost = 0, 2**62

    def bound(self, bound: Certificate | Claim) -> None:
        """Keep a bound."""
        self.bound_found = max(self.bound_found, int(bound.bound))

    def solution(self, solution: Partition) -> None:
        """Keep a cost."""
        self.cost = min(self.cost, self.instance.objective(solution))


class Packing:
    """Random graphs of 63 and 93 nodes, 16 stages, a few percent above the share bound."""

    param_names = ("graph",)
    params = ("erdos-renyi-1", "barabasi-albert-1")
    timeout = 120

    def setup(self, graph: str) -> None:
        self.instance = PipelineInstance(load(graph), 16)
        table = share_table(self.instance.graph)
        self.limit = round(1.03 * table.bound(16))
        self.tensors = Tensors.of(self.instance.graph)
        self.weigher = Weigher(self.tensors, 16, whole_of(self.instance.graph, self.limit))
        room = np.maximum(self.limit - table.io(self.limit), 1)
        found = self.weigher.at(self.limit, self.instance.graph.work / room, Budget(60))
        self.weights = found.weights
        whole = self.weigher.integers(self.weights)
        self.refuter = Refuter(self.tensors, self.weigher.pool, 16, most_steps=10**9)
        # What the search meets is known from then on.
        for _ in range(100):
            result = self.refuter.attempt(whole, self.limit, Budget(60))
            if result is None or not result.found:
                break
            for members, cost in result.found:
                self.weigher.pool.add(members, cost)

    def time_search(self, graph: str) -> None:
        whole = self.weigher.integers(self.weights)
        self.refuter.attempt(whole, self.limit, Budget(60))

    def time_grow(self, graph: str) -> None:
        self.weigher.grow(self.weights, self.limit, unit_of(self.limit), Budget(60))

    def time_pack(self, graph: str) -> None:
        whole, unit = self.weigher.integers(self.weights), unit_of(self.limit)
        Front.of(self.weigher.pool, whole, unit, self.limit // unit)

    # asv takes upward steps for regressions, so it tracks the gap and not the bound.
    def track_certified_gap(self, graph: str) -> float:
        best = Best(self.instance)
        PACKING.run(self.instance, Budget(60), 1, best)
        MEMETIC.run(self.instance, Budget(60), 1, best, evaluations=EVALUATIONS)
        return best.cost / best.bound_found - 1.0
