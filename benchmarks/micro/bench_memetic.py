"""Moves of nodes, and what `memetic` makes of them."""

import numpy as np

from boundmark.datasets.pipeline.regal_style import load
from boundmark.heuristics.pipeline.annealing import walk_from
from boundmark.heuristics.pipeline.kernel_graph import kernel_graph
from boundmark.heuristics.pipeline.node_move_kernels import anneal, new_state
from boundmark.heuristics.pipeline.slicegraph import segment_order
from boundmark.problems.catalog import methods
from boundmark.problems.method import Budget
from boundmark.problems.pipeline import Partition, PipelineInstance

MEMETIC = methods("pipeline")["memetic"]

MEMBERS = ("erdos-renyi-1", "barabasi-albert-1", "watts-strogatz-1", "stochastic-block-1")
SEEDS = (1, 2, 3, 4)
MOVES = 100_000


class Best:
    """Keeps the best solution."""

    def __init__(self, instance: PipelineInstance) -> None:
        self.instance = instance
        self.cost = 2**60

    def solution(self, solution: Partition) -> None:
        self.cost = min(self.cost, self.instance.objective(solution))

    def bound(self, bound: object) -> None:
        raise AssertionError(bound)


class Moves:
    """So many moves from the best segmentation of the graph's own order, at 1 % of its cost."""

    param_names = ("k",)
    params = (4, 32)

    def setup(self, k: int) -> None:
        instance = PipelineInstance(load("watts-strogatz-1"), k)
        order = instance.graph.dag.topological_order
        self.cost, ends = segment_order(instance, order)
        self.stages = np.array(Partition.from_segments(order, ends).stages)
        self.graph, self.walk = kernel_graph(instance.graph), walk_from(instance, self.stages)
        self.state = new_state(np.random.default_rng(1))

    def time_moves(self, k: int) -> None:
        anneal(self.graph, self.walk, self.state, MOVES, 0.01, 0.02, self.cost, self.stages)


class Costs:
    """`memetic` with 5,000 evaluations, as in the suite `nightly`: the code alone decides."""

    param_names = ("k",)
    params = (4, 8, 16, 32)
    timeout = 300

    def track_excess(self, k: int) -> float:
        """Return by how much costs exceed the mean work of a stage, over graphs and seeds, in %."""
        ratios = []
        for member in MEMBERS:
            instance = PipelineInstance(load(member), k)
            mean = instance.graph.work.sum() / k
            for seed in SEEDS:
                best = Best(instance)
                MEMETIC.run(instance, Budget(1e6), seed, best, evaluations=5000)
                ratios.append(best.cost / mean)
        return float(100 * (np.exp(np.mean(np.log(ratios))) - 1))

    track_excess.unit = "%"  # type: ignore[attr-defined]
