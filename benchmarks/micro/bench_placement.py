"""Placements: list scheduling, operators placed one by one, and fusion."""

import numpy as np

from boundmark.benchmarks.solving.model import named_instance
from boundmark.heuristics.placement.earliest_kernels import earliest_start
from boundmark.heuristics.placement.incumbent import PlacementIncumbent
from boundmark.problems.placement.fusion import RULE_SETS, coarsen

from .samples import Kept


class Placements:
    """A small model, and a training step of 13,568 operators."""

    params = ("onnx-light/inception-v1", "zoo/mt5-1.8b-training")
    param_names = ("model",)
    timeout = 300

    def setup(self, model: str) -> None:
        given = {"features": "operators"}
        self.instance = named_instance(model, given, "placement").instance
        self.best = PlacementIncumbent(self.instance, Kept())
        nodes, devices = self.instance.nodes, self.instance.graph.devices
        self.devices = np.random.default_rng(2).integers(0, devices, nodes)
        self.room = np.empty((2, nodes), dtype=np.int64)

    def time_simulation(self, model: str) -> None:
        self.best.simulate(self.devices)

    def time_earliest_start(self, model: str) -> None:
        earliest_start(self.best.arrays, self.room[0], self.room[1])

    def time_coarsen(self, model: str) -> None:
        coarsen(self.instance.graph, RULE_SETS["backends"], "per-tensor")
