"""Placements: list scheduling, operators placed one by one, and fusion."""

import numpy as np

from boundmark.benchmarks.solving.model import named_instance
from boundmark.heuristics.placement.greedy_kernels import earliest_start
from boundmark.problems.placement.compiled import Simulator
from boundmark.problems.placement.fusion import RULE_SETS, coarsen


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
