"""Topological orders near a partition.

An order in which the nodes of each stage come before those of later stages can be cut into the same
stages again, so its best slicing is at least as good ([MTPP24], Theorem 4.3). Kahn's algorithm
with priorities ``-stage`` gives such orders. Random numbers added to the priorities decide how the
nodes of one stage follow one another and, where they span more than one stage, let nodes of
neighbouring stages change places.
"""

import numpy as np

from boundmark.heuristics.pipeline.orders.priorities import topological_order
from boundmark.problems.arrays import IntArray
from boundmark.problems.pipeline import PipelineInstance


def noisy_order(
    instance: PipelineInstance, stages: IntArray, noise: float, generator: np.random.Generator
) -> IntArray:
    """Return a topological order of the nodes by stage plus noise from U(0, noise).

    Up to a noise of 1 it can be cut into the same stages again.
    """
    return topological_order(instance.graph.dag, noise * generator.random(instance.nodes) - stages)
