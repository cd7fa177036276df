"""Plans for edge devices: their latency, steps of the search, and the bound's tables."""

import numpy as np

from boundmark.benchmarks.solving.model import named_instance
from boundmark.bounds import checker
from boundmark.bounds.checker.slicing.ticks import operators as read_operators
from boundmark.bounds.slicing.slice_potentials import Passing, class_begins
from boundmark.heuristics.slicing.plan_kernels import all_ticks, anneal, slicing_arrays
from boundmark.heuristics.slicing.simple_plans import divided, patterns, shares_pattern


class EdgePlans:
    """ResNet-50 on four devices."""

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
