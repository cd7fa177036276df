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


class Placements:
    """A random graph on four devices."""

    params = (200, 2000, 20000)
    param_names = ("nodes",)

    def setup(self, nodes: int) -> None:
        from boundmark.heuristics.placement.greedy_kernels import earliest_start
        from boundmark.problems.placement.compiled import Simulator

        self.simulator = Simulator(random_instance(nodes))
        self.devices = np.random.default_rng(2).integers(0, 4, nodes)
        self.place, self.favourite = earliest_start, np.full(nodes, -1)

    def time_simulation(self, nodes: int) -> None:
        self.simulator.makespan(self.devices)

    def time_earliest_start(self, nodes: int) -> None:
        self.place(self.simulator.arrays, self.favourite)


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
    """The simulator against its definition in Python: what part of its time it takes."""

    params = (200, 2000)
    param_names = ("nodes",)
    repeat = 1

    def setup(self, nodes: int) -> None:
        from boundmark.problems.placement.compiled import Simulator, time_to_end
        from boundmark.problems.placement.simulation import list_schedule

        sample = random_instance(nodes)
        devices = np.random.default_rng(2).integers(0, 4, nodes)
        simulator = Simulator(sample)
        priority = time_to_end(simulator.arrays, devices)
        self.compiled = lambda: simulator.makespan(devices, priority)
        self.plain = lambda: list_schedule(sample, devices, priority.tolist())

    def track_part_of_plain_python(self, nodes: int) -> float:
        from timeit import repeat

        plain = min(repeat(self.plain, number=1, repeat=5))
        return 100 * min(repeat(self.compiled, number=20, repeat=5)) / 20 / plain

    track_part_of_plain_python.unit = "%"  # type: ignore[attr-defined]
