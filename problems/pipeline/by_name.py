"""Partitions by the names of operators: what a table of stages says, and what `k` it implies."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from boundmark.problems.arrays import frozen
from boundmark.problems.labels import Naming
from boundmark.problems.pipeline.instance import LARGEST_K, PipelineInstance
from boundmark.problems.pipeline.partition import Partition
from boundmark.problems.solution_table import Row, SolutionTable


def _partition(rows: Sequence[Row], instance: PipelineInstance) -> Partition:
    stages = [0] * instance.nodes
    for node, stage in rows:
        stages[node] = stage
    return Partition(frozen(stages, "stages"))


def _with_stages_used(partition: Partition) -> tuple[Partition, Mapping[str, int | str]]:
    """Return the partition with its stages numbered from 0, and how many it uses.

    Stages that are numbered from 1, or with gaps, keep their order.
    """
    used, numbered = np.unique(partition.stages, return_inverse=True)
    return Partition(frozen(numbered.ravel(), "stages")), {"k": max(1, len(used))}


def _renamed(instance: PipelineInstance, names: Sequence[str], tick: str) -> PipelineInstance:
    return PipelineInstance(replace(instance.graph, names=tuple(names), tick=tick), instance.k)


TABLE = SolutionTable(
    columns=("operator", "stage"),
    largest=LARGEST_K - 1,
    solution=_partition,
    rows=lambda partition: enumerate(partition.stages.tolist()),
    implied=_with_stages_used,
)

NAMING = Naming(
    names=lambda instance: instance.graph.names,
    rename=_renamed,
    tick=lambda instance: instance.graph.tick,
)
