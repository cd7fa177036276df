"""Time the slow parts of problems other than `pipeline`: readers, searches, bounds and checks."""

from typing import Any

import numpy as np

from boundmark.benchmarks.solving.model import named_instance
from boundmark.bounds import checker
from boundmark.bounds.checker.slicing.ticks import operators as read_operators
from boundmark.bounds.layers import layer_reach
from boundmark.bounds.ordering import downset_dp
from boundmark.bounds.slicing.slice_potentials import Passing, class_begins
from boundmark.datasets.layers.language_models import load
from boundmark.datasets.microbatch import shapes
from boundmark.heuristics.microbatch.repetend import RepetendSearch
from boundmark.heuristics.ordering.search import peak_and_sum, tensors_of
from boundmark.heuristics.placement.greedy_kernels import earliest_start
from boundmark.heuristics.slicing.plan_kernels import all_ticks, anneal, slicing_arrays
from boundmark.heuristics.slicing.simple_plans import divided, patterns, shares_pattern
from boundmark.problems.layers import PROBLEM
from boundmark.problems.method import Budget
from boundmark.problems.placement.compiled import Simulator
from boundmark.problems.placement.fusion import RULE_SETS, coarsen

FLEET = {
    "devices": "2xA100-80GB,2xH100,2xV100,2xA10", "phase": "decode", "batch": 24, "context": 4096,
}  # fmt: skip


class Kept:
    """Keeps the last solution and bound of a method."""

    def solution(self, solution: Any) -> None:
        """Keep a solution."""
        self.last_solution = solution

    def bound(self, bound: Any) -> None:
        """Keep a bound."""
        self.last_bound = bound


class MixedDevices:
    """Llama 3 70B on eight devices of four kinds; with 24 sequences, memory binds."""

    def setup(self) -> None:
        self.instance, kept = PROBLEM.maker(load("llama-3-70b"))(FLEET), Kept()
        layer_reach.run(self.instance, Budget(60, 1), 1, kept)
        self.document, self.certificate = self.instance.to_json(), kept.last_bound.to_json()

    def time_read(self) -> None:
        PROBLEM.maker(load("llama-3-70b"))(FLEET)

    def time_search(self) -> None:
        layer_reach.run(self.instance, Budget(60, 1), 1, Kept())

    def time_check(self) -> None:
        checker.check_certificate(self.document, self.certificate)


class ZeroBubble:
    """The repetend of NN without a bubble on four devices, and that there is none of five."""

    def setup(self) -> None:
        self.search = RepetendSearch(shapes.load("nn-4-train"), (6,) * 4)

    def time_found(self) -> None:
        assert self.search.find(6, 8, 10**6)[0] == "found"

    def time_refuted(self) -> None:
        assert self.search.find(5, 8, 10**6)[0] == "refuted"


class Orders:
    """Execution orders of a model with wide modules."""

    params = ("peak", "sum")
    param_names = ("metric",)

    def setup(self, metric: str) -> None:
        given = {"metric": metric}
        self.instance = named_instance("onnx-light/inception-v2", given, "ordering").instance
        self.tensors = tensors_of(self.instance)
        self.order = np.ascontiguousarray(self.instance.graph.dag.topological_order)

    def time_downset_dp(self, metric: str) -> None:
        downset_dp.run(self.instance, Budget(60), 1, Kept(), width=1_000_000)

    def time_memory_of_an_order(self, metric: str) -> None:
        peak_and_sum(self.order, self.tensors)


class Placements:
    """A small model, and a training step of 13,568 operators."""

    params = ("onnx-light/inception-v1", "zoo/mt5-1.8b-training")
    param_names = ("model",)
    timeout = 300

    def setup(self, model: str) -> None:
        given = {"features": "operators"}
        self.instance = named_instance(model, given, "placement").instance
        self.simulator = Simulator(self.instance)
        nodes, devices = self.instance.nodes, self.instance.graph.devices
        self.devices = np.random.default_rng(2).integers(0, devices, nodes)
        self.favourite = np.full(nodes, -1)

    def time_simulation(self, model: str) -> None:
        self.simulator.makespan(self.devices)

    def time_earliest_start(self, model: str) -> None:
        earliest_start(self.simulator.arrays, self.favourite)

    def time_coarsen(self, model: str) -> None:
        coarsen(self.instance.graph, RULE_SETS["backends"], "per-tensor")


class EdgePlans:
    """ResNet-50 on four edge devices."""

    def setup(self) -> None:
        given = {"edge_devices": "4"}
        instance = named_instance("onnx-light/resnet50", given, "slicing").instance
        self.arrays, self.patterns = slicing_arrays(instance), patterns(instance)
        self.vectors = divided(instance, shares_pattern(np.ones(4)))
        self.ticks = np.empty(instance.nodes, dtype=np.int64)
        classes = []
        for length in instance.graph.length.tolist():
            begins = class_begins(length, 4, 14)
            ends = [*(begin - 1 for begin in begins[1:]), length]
            classes.append(list(zip(begins, ends, strict=True)))
        self.read = read_operators(checker.check_instance(instance.to_json()), classes)

    def time_latency(self) -> None:
        all_ticks(self.arrays, self.vectors, self.ticks)

    def time_search(self) -> None:
        anneal(self.arrays, self.patterns, self.vectors.copy(), 10_000, 1e5, 1e2, 0, 1)

    def time_tables_and_a_pass(self) -> None:
        Passing(self.read).forward()
