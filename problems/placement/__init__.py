"""`placement`: operators of a model on the devices of a cluster ([MOIRAI24])."""

from boundmark.problems.computation_graph import ComputationGraph
from boundmark.problems.devices import Cluster, shipped
from boundmark.problems.measured_graph import MeasuredGraph
from boundmark.problems.parameter import ChoiceParameter
from boundmark.problems.placement.costs import DEFAULT_CLUSTER, placement_graph, placement_graph_of
from boundmark.problems.placement.feasibility import PER_EDGE, PER_TENSOR
from boundmark.problems.placement.fusion import RULE_SETS
from boundmark.problems.placement.graph import UNSUPPORTED, PlacementGraph
from boundmark.problems.placement.instance import (
    AUTOMATIC,
    COSTS,
    KEPT_OUTPUTS,
    LIVE_TENSORS,
    NO_FUSION,
    OPERATORS,
    PlacementInstance,
)
from boundmark.problems.placement.schedule import NAMING, TABLE, PlacementSchedule
from boundmark.problems.problem import CostModel, Problem


def default_cluster() -> Cluster:
    """Return the default cluster."""
    return shipped().clusters[DEFAULT_CLUSTER]


PROBLEM = Problem(
    name="placement",
    description="Place operators on the devices of a cluster and minimise the makespan.",
    sources=(ComputationGraph, PlacementGraph, MeasuredGraph),
    source_words="a model, a graph with costs on each device, or a profile with measured times",
    adapt=placement_graph_of,
    cost_model=CostModel(
        placement_graph,
        default_cluster,
        takes_costs=True,
        default_for_own=lambda: shipped().clusters["dgx-h100"],
    ),
    parameters=(
        ChoiceParameter(
            "transfers",
            "whether the consumers of a tensor on one device share its transfer",
            (PER_TENSOR, PER_EDGE),
            PER_TENSOR,
        ),
        ChoiceParameter(
            "fusion",
            "rules by which operators are fused before they are placed",
            (NO_FUSION, *RULE_SETS),
            NO_FUSION,
        ),
        ChoiceParameter(
            "memory",
            "what takes memory besides parameters: tensors while they are live, or all outputs; "
            "auto is live where the model has the sizes of tensors",
            (AUTOMATIC, LIVE_TENSORS, KEPT_OUTPUTS),
            AUTOMATIC,
        ),
        ChoiceParameter(
            "features",
            "what instances hold: costs only, or types and output shapes of operators too, which "
            "some learned methods need",
            (COSTS, OPERATORS),
            COSTS,
        ),
    ),
    instance=PlacementInstance.of,
    instance_from_json=PlacementInstance.from_json,
    solution_from_json=PlacementSchedule.from_json,
    immediate={"critical-path": {}, "single-device": {}},
    rounds=(
        (
            "assignment-load",
            "interval-load",
            "m-topo",
            "m-etf",
            "heft",
        ),
        ("placement-search", "placement-certify"),
    ),
    precedence=30,
    naming=NAMING,
    table=TABLE,
)

__all__ = [
    "PROBLEM",
    "UNSUPPORTED",
    "PlacementGraph",
    "PlacementInstance",
    "PlacementSchedule",
]
