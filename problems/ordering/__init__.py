"""`ordering`: in which order one device runs the operators of a model ([MEMORIANOVA24])."""

from boundmark.problems.computation_graph import ComputationGraph
from boundmark.problems.ordering.graph import OrderingGraph, ordering_graph
from boundmark.problems.ordering.instance import (
    IN_PLACE,
    METRICS,
    WEIGHTS,
    OrderingInstance,
)
from boundmark.problems.ordering.order import NAMING, TABLE, ExecutionOrder
from boundmark.problems.parameter import ChoiceParameter
from boundmark.problems.problem import Problem


def _adapt(source: ComputationGraph | OrderingGraph) -> OrderingGraph:
    return ordering_graph(source) if isinstance(source, ComputationGraph) else source


PROBLEM = Problem(
    name="ordering",
    description="Order the operators of a model so that its tensors take little memory.",
    sources=(ComputationGraph, OrderingGraph),
    source_words="a model, or a graph with the sizes of its tensors",
    adapt=_adapt,
    parameters=(
        ChoiceParameter(
            "metric",
            "what is minimised: the largest memory while any operator runs, or the sum over all "
            "operators",
            METRICS,
            METRICS[0],
        ),
        ChoiceParameter(
            "in_place",
            "whether operators overwrite an input where they can",
            IN_PLACE,
            IN_PLACE[0],
        ),
        ChoiceParameter(
            "weights",
            "when parameters take memory: never, while their operator runs, or always",
            WEIGHTS,
            WEIGHTS[0],
        ),
    ),
    instance=OrderingInstance,
    instance_from_json=OrderingInstance.from_json,
    solution_from_json=ExecutionOrder.from_json,
    immediate={"operator-memory": {}, "default-order": {}},
    rounds=(
        ("live-cut", "bfs-order", "dfs-order", "greedy-order", "downset-dp"),
        ("reorder", "brkga-orders"),
    ),
    precedence=40,
    naming=NAMING,
    table=TABLE,
)

__all__ = ["PROBLEM", "ExecutionOrder", "OrderingGraph", "OrderingInstance"]
