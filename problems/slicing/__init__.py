"""`slicing`: operators of a model cut into parts for edge devices ([MEMORIANOVA24], 3.3)."""

from boundmark.problems.computation_graph import ComputationGraph
from boundmark.problems.devices import Cluster, shipped
from boundmark.problems.parameter import IntegerParameter
from boundmark.problems.problem import CostModel, Problem
from boundmark.problems.slicing.costs import DEFAULT_CLUSTER, slicing_graph
from boundmark.problems.slicing.graph import CHANNELS, HEIGHT, Edge, SlicingGraph
from boundmark.problems.slicing.instance import SlicingInstance
from boundmark.problems.slicing.plan import NAMING, TABLE, SlicingPlan


def default_cluster() -> Cluster:
    """Return the default cluster."""
    return shipped().clusters[DEFAULT_CLUSTER]


PROBLEM = Problem(
    name="slicing",
    description="Slice the operators of a model over edge devices and minimise the latency.",
    sources=(ComputationGraph, SlicingGraph),
    source_words="a model, or a graph with costs on edge devices",
    adapt=lambda graph: graph,
    cost_model=CostModel(slicing_graph, default_cluster),
    parameters=(
        IntegerParameter(
            "edge_devices",
            "number of edge devices: the first ones of the cluster",
            1,
            0,
            "all of the cluster",
        ),
        IntegerParameter(
            "memory_percent",
            "memory of each device, as a percentage of what the model takes on one device alone",
            1,
            0,
            "all that it has",
        ),
    ),
    instance=SlicingInstance.of,
    instance_from_json=SlicingInstance.from_json,
    solution_from_json=SlicingPlan.from_json,
    immediate={"slice-compute": {}, "one-device": {}},
    rounds=(
        ("equal-slices", "speed-slices", "slice-memory"),
        ("slice-search",),
    ),
    precedence=50,
    naming=NAMING,
    table=TABLE,
)

__all__ = [
    "CHANNELS",
    "HEIGHT",
    "PROBLEM",
    "Edge",
    "SlicingGraph",
    "SlicingInstance",
    "SlicingPlan",
]
