"""Tiny instances, and a recorder of what methods report."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pytest
from brute_force import numbered_instances
from hypothesis import strategies as st

from boundmark.problems.arrays import IntArray
from boundmark.problems.certificate import Certificate, Claim
from boundmark.problems.dag import Dag
from boundmark.problems.method import Budget, Method
from boundmark.problems.pipeline import Partition, PipelineInstance
from boundmark.problems.pipeline.graph import PipelineGraph


@dataclass
class Recorder:
    """Evaluates what a method reports, as the runner does."""

    instance: PipelineInstance
    partitions: list[Partition] = field(default_factory=list)
    objectives: list[int] = field(default_factory=list)

    def solution(self, solution: Partition) -> None:
        """Keep a partition and its cost."""
        self.partitions.append(solution)
        self.objectives.append(self.instance.objective(solution))

    def bound(self, bound: Certificate | Claim) -> None:
        """Reject it."""
        raise AssertionError("a heuristic reports no bounds")


@pytest.fixture(scope="session")
def instances() -> Callable[..., st.SearchStrategy[PipelineInstance]]:
    """Return a maker of strategies: any DAG, any numbering, overflow, k from 1 to beyond n."""

    def make(max_nodes: int = 9, max_cost: int = 9) -> st.SearchStrategy[PipelineInstance]:
        return numbered_instances(max_nodes, max_cost)

    return make


@pytest.fixture(scope="session")
def random_instance() -> Callable[..., PipelineInstance]:
    """Return a maker of larger instances with overflow."""

    def make(nodes: int, k: int, seed: int, degree: int = 4) -> PipelineInstance:
        generator = np.random.default_rng(seed)
        pairs = np.sort(generator.integers(nodes, size=(nodes * degree // 2, 2)), axis=1)
        dag = Dag.from_edges(nodes, pairs[pairs[:, 0] < pairs[:, 1]].tolist())
        work, transfer, load = generator.integers(0, 1000, size=(3, nodes))
        names = tuple(str(node) for node in range(nodes))
        cache = int(load.sum()) // (2 * k)
        return PipelineInstance(PipelineGraph(dag, work, transfer, load, cache, names), k)

    return make


@pytest.fixture(scope="session")
def all_segmentations() -> Callable[[int, int], list[IntArray]]:
    """Return a function that lists every way to cut n positions into 1 .. k non-empty stages."""

    def segmentations(nodes: int, k: int) -> list[IntArray]:
        return [
            np.array([*inner, nodes])
            for cuts in range(min(k, nodes))
            for inner in itertools.combinations(range(1, nodes), cuts)
        ]

    return segmentations


@pytest.fixture(scope="session")
def run() -> Callable[..., Recorder]:
    """Return a function that runs a method and hands back what it reported.

    It skips the test if a module that the method requires is not installed.
    """

    def run_method(
        method: Method,
        instance: PipelineInstance,
        seed: int = 1,
        seconds: float = 60,
        **params: int,
    ) -> Recorder:
        for module in method.requires:
            pytest.importorskip(module)
        recorder = Recorder(instance)
        method.run(instance, Budget(seconds), seed, recorder, **{**method.params, **params})
        return recorder

    return run_method
