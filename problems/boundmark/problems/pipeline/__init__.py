"""`pipeline`: max-throughput pipeline partitioning (papers/mtpp, Section 2)."""

from boundmark.problems.computation_graph import ComputationGraph
from boundmark.problems.pipeline.costs import pipeline_graph
from boundmark.problems.pipeline.graph import PipelineGraph
from boundmark.problems.pipeline.instance import PipelineInstance
from boundmark.problems.pipeline.partition import Partition
from boundmark.problems.problem import Parameter, Problem

PROBLEM = Problem(
    name="pipeline",
    description="Partition a graph into at most k stages and minimise the slowest stage's time.",
    sources=(ComputationGraph, PipelineGraph),
    adapt=pipeline_graph,
    parameters=(Parameter("k", "Number of pipeline stages.", least=1, default=None),),
    instance=PipelineInstance,
    instance_from_json=PipelineInstance.from_json,
    solution_from_json=Partition.from_json,
)

__all__ = ["PROBLEM", "Partition", "PipelineInstance"]
