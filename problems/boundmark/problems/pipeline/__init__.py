"""`pipeline`: max-throughput pipeline partitioning (papers/mtpp, Section 2)."""

from boundmark.problems.pipeline.instance import PipelineInstance
from boundmark.problems.pipeline.partition import Partition
from boundmark.problems.problem import Problem

PROBLEM = Problem(
    name="pipeline",
    description="Partition a graph into at most k stages and minimise the slowest stage's time.",
    instance_from_json=PipelineInstance.from_json,
    solution_from_json=Partition.from_json,
)

__all__ = ["PROBLEM", "Partition", "PipelineInstance"]
