"""Plans for edge devices: their latency, steps of the search, and the bound's tables."""

from typing import Any

import numpy as np


def random_instance(operators: int, devices: int = 4) -> Any:
    """Return a chain with a residual edge at every fourth operator, all sliced by height."""
    from boundmark.problems.slicing import HEIGHT, Edge, SlicingGraph, SlicingInstance

    dice = np.random.default_rng(1)
    edges = [Edge(v - 1, v, 900, 56, 1, -1, 3, 1, 1) for v in range(1, operators)]
    edges += [Edge(v - 3, v, 900, 56, 1, 0, 1, 1, 1) for v in range(3, operators, 4)]
    work = dice.integers(100_000, 5_000_000, operators)
    return SlicingInstance(
        SlicingGraph(
            length=np.full(operators, 56),
            axis=np.full(operators, HEIGHT),
            work=np.repeat(work[:, None], devices, axis=1),
            launch=np.full(devices, 10_000),
            weights=np.full(operators, 50_000),
            output=np.full(operators, 900),
            edges=tuple(sorted(edges, key=lambda edge: edge.consumer)),
            capacity=np.full(devices, 2**32),
            point_to_point=(400, 47),
            broadcast=(400, 47),
            delay=0,
            names=tuple(map(str, range(operators))),
            device_names=tuple(map(str, range(devices))),
        )
    )


class EdgePlans:
    """Four devices."""

    params = (50, 500)
    param_names = ("operators",)

    def setup(self, operators: int) -> None:
        from boundmark.bounds import checker
        from boundmark.bounds.checker.slicing.ticks import operators as read_operators
        from boundmark.bounds.slicing.slice_potentials import Passing, class_begins
        from boundmark.heuristics.slicing.plan_kernels import all_ticks, anneal, slicing_arrays
        from boundmark.heuristics.slicing.simple_plans import divided, patterns, shares_pattern

        instance = random_instance(operators)
        self.arrays, self.patterns = slicing_arrays(instance), patterns(instance)
        self.vectors = divided(instance, shares_pattern(np.ones(4)))
        self.ticks = np.empty(operators, dtype=np.int64)
        self.evaluate, self.anneal = all_ticks, anneal
        begins = class_begins(56, 4, 14)
        classes = [list(zip(begins, [*(b - 1 for b in begins[1:]), 56], strict=True))] * operators
        self.read = read_operators(checker.check_instance(instance.to_json()), classes)
        self.passing = Passing

    def time_latency(self, operators: int) -> None:
        self.evaluate(self.arrays, self.vectors, self.ticks)

    def time_search(self, operators: int) -> None:
        self.anneal(self.arrays, self.patterns, self.vectors.copy(), 10_000, 1e5, 1e2, 0, 1)

    def time_tables_and_a_pass(self, operators: int) -> None:
        self.passing(self.read).forward()
