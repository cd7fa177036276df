"""`pipeline`: max-throughput pipeline partitioning ([MTPP24], Section 2)."""

from boundmark.problems.computation_graph import ComputationGraph
from boundmark.problems.devices import default_device, find_device
from boundmark.problems.measured_graph import MeasuredGraph
from boundmark.problems.parameter import ChoiceParameter, IntegerParameter
from boundmark.problems.pipeline.costs import pipeline_graph, pipeline_graph_of
from boundmark.problems.pipeline.graph import (
    AS_GIVEN,
    INFERENCE,
    NODE_COSTS,
    TRAINING,
    PipelineGraph,
)
from boundmark.problems.pipeline.instance import (
    NAMING,
    TABLE,
    Partition,
    PipelineInstance,
)
from boundmark.problems.problem import CostModel, Problem

PROBLEM = Problem(
    name="pipeline",
    description="Partition a graph into at most k stages and minimise the slowest stage's time.",
    sources=(ComputationGraph, PipelineGraph, MeasuredGraph),
    source_words="a model, a graph with costs, or a profile with measured times",
    adapt=pipeline_graph_of,
    cost_model=CostModel(
        pipeline_graph,
        default_device,
        takes_fusion=True,
        takes_costs=True,
        default_for_own=lambda: find_device("nvidia-h100"),
    ),
    node_costs=NODE_COSTS,
    parameters=(
        IntegerParameter("k", "number of stages", least=1, default=None),
        ChoiceParameter(
            "phase",
            "training (each stage runs forward and backward) or inference (forward times alone) of "
            "a profile that has the times of both; as-given is training if there is a backward "
            "pass",
            (AS_GIVEN, TRAINING, INFERENCE),
            AS_GIVEN,
        ),
    ),
    instance=PipelineInstance.of,
    instance_from_json=PipelineInstance.from_json,
    solution_from_json=Partition.from_json,
    # Many models are narrow: their optimum is found and proven before anything else is imported.
    immediate={
        "balanced-work": {},
        "max-work": {},
        "mean-work": {},
        "ideal-dp": {"ideals": 4000},
        "uniform": {},
        "pippy": {},
    },
    # `certify` begins with the exact one for narrow graphs, and the last round uses its time.
    # `fractional-load` takes seconds on 1,000 nodes; `certify` has it where it is strongest.
    rounds=(
        # What many models need before the last round, whose kernels take longest to compile.
        {"slicegraph": {}, "node-cut": {}, "ideal-dp": {"ideals": 20_000}},
        ("memetic", "certify"),
    ),
    precedence=10,
    naming=NAMING,
    table=TABLE,
)

__all__ = ["PROBLEM", "Partition", "PipelineInstance"]
