"""Placements: list scheduling, operators placed one by one, and bounds by prices of time."""

from typing import Any

import numpy as np


def random_instance(nodes: int, devices: int = 4) -> Any:
    """Return a chain-like graph whose operators read one or two of the twelve before them."""
    from boundmark.problems.placement import PlacementGraph, PlacementInstance

    dice = np.random.default_rng(1)
    readers: list[list[int]] = [[] for _ in range(nodes)]
    for v in range(1, nodes):
        for u in {max(0, v - int(dice.integers(1, 13))) for _ in range(int(dice.integers(1, 3)))}:
            readers[u].append(v)
    producer = [u for u in range(nodes) if readers[u]]
    times = dice.integers(1_000, 90_000, (50, devices, devices))
    times[:, np.arange(devices), np.arange(devices)] = 0
    return PlacementInstance(
        PlacementGraph(
            duration=dice.integers(1_000, 50_000, (nodes, devices)),
            memory=np.ones(nodes, dtype=np.int64),
            capacity=np.full(devices, nodes),
            producer=np.array(producer),
            consumers=tuple(tuple(readers[u]) for u in producer),
            size=dice.integers(0, 50, len(producer)),
            times=times,
            names=tuple(map(str, range(nodes))),
            device_names=tuple(map(str, range(devices))),
        )
    )


class Nobody:
    """Listens to a method."""

    def solution(self, solution: object) -> None:
        """Ignore it."""

    def bound(self, bound: object) -> None:
        """Ignore it."""


class Placements:
    """A random graph on four devices."""

    params = (200, 2000, 20000)
    param_names = ("nodes",)

    def setup(self, nodes: int) -> None:
        from boundmark.heuristics.placement.earliest_kernels import earliest_start
        from boundmark.heuristics.placement.incumbent import PlacementIncumbent

        self.best = PlacementIncumbent(random_instance(nodes), Nobody())
        self.devices = np.random.default_rng(2).integers(0, 4, nodes)
        self.place = earliest_start
        self.room = np.empty((2, nodes), dtype=np.int64)

    def time_simulation(self, nodes: int) -> None:
        self.best.simulate(self.devices)

    def time_earliest_start(self, nodes: int) -> None:
        self.place(self.best.arrays, self.room[0], self.room[1])


class Fusion:
    """Coarsening of the same graphs, with four types of operators in random order."""

    params = (20000, 50000)
    param_names = ("nodes",)

    def setup(self, nodes: int) -> None:
        from dataclasses import replace

        from boundmark.problems.placement.fusion import RULE_SETS, coarsen

        self.coarsen, self.rules = coarsen, RULE_SETS["backends"]
        types = ["Conv", "BatchNormalization", "Relu", "Add"]
        drawn = np.random.default_rng(3).choice(types, nodes)
        self.graph = replace(random_instance(nodes).graph, op_types=tuple(drawn.tolist()))

    def time_coarsen(self, nodes: int) -> None:
        self.coarsen(self.graph, self.rules, "per-tensor")


class PlainPython:
    """The simulator against the same one in Python, in one run: what part of its time it takes."""

    params = (200, 2000)
    param_names = ("nodes",)
    repeat = 1

    def setup(self, nodes: int) -> None:
        from boundmark.heuristics.placement.incumbent import PlacementIncumbent
        from boundmark.heuristics.placement.simulation_kernels import time_to_end

        from .plain_simulation import PlainSimulation

        sample = random_instance(nodes)
        devices = np.random.default_rng(2).integers(0, 4, nodes)
        best = PlacementIncumbent(sample, Nobody())
        priority = time_to_end(best.arrays, devices)
        plain, lists = PlainSimulation(sample), (devices.tolist(), priority.tolist())
        self.compiled = lambda: best.simulate(devices, priority)
        self.plain = lambda: plain.run(*lists)

    def track_part_of_plain_python(self, nodes: int) -> float:
        from timeit import repeat

        plain = min(repeat(self.plain, number=1, repeat=5))
        return 100 * min(repeat(self.compiled, number=20, repeat=5)) / 20 / plain

    track_part_of_plain_python.unit = "%"  # type: ignore[attr-defined]
