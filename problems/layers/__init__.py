"""`layers`: a chain of layers cut into stages, for devices that differ and have limited memory."""

from boundmark.problems.layers.assignment import NAMING, TABLE, LayerAssignment, Stage
from boundmark.problems.layers.chain import LayerChain
from boundmark.problems.layers.instance import GOALS, ORDERS, LayersInstance, StageLoad
from boundmark.problems.parameter import ChoiceParameter, IntegerParameter
from boundmark.problems.problem import Problem

PROBLEM = Problem(
    name="layers",
    description="Cut a chain of layers into stages for devices that differ, within their memory.",
    sources=(LayerChain,),
    adapt=lambda source: source,
    parameters=(
        ChoiceParameter(
            "goal",
            "what is minimised: the slowest stage, the time of one input, or that of all "
            "micro-batches",
            GOALS,
            GOALS[0],
        ),
        ChoiceParameter(
            "device_order", "whether stages have to follow the order of the devices", ORDERS, ORDERS[0]
        ),
        IntegerParameter(
            "micro_batches",
            "number of micro-batches of a makespan, and at most in flight in training",
            1,
            8,
        ),
    ),
    instance=LayersInstance,
    instance_from_json=LayersInstance.from_json,
    solution_from_json=LayerAssignment.from_json,
    immediate={"layer-reach": {"steps": 400_000}},
    rounds=(("layer-reach",),),
    precedence=60,
    naming=NAMING,
    table=TABLE,
)

__all__ = [
    "PROBLEM",
    "LayerAssignment",
    "LayerChain",
    "LayersInstance",
    "Stage",
    "StageLoad",
]
