"""`layers`: a chain of layers cut into stages, for devices that differ and have limited memory."""

from dataclasses import dataclass, replace

from boundmark.problems.computation_graph import ComputationGraph
from boundmark.problems.errors import InvalidInputError, quoted
from boundmark.problems.layers.assignment import NAMING, TABLE, LayerAssignment, Stage
from boundmark.problems.layers.chain import LayerChain
from boundmark.problems.layers.costs import chain_of
from boundmark.problems.layers.fleet import EXPECTED, read_fleet
from boundmark.problems.layers.graph_cuts import GraphLayers
from boundmark.problems.layers.instance import GOALS, ORDERS, LayersInstance, StageLoad
from boundmark.problems.layers.model import (
    AS_GIVEN,
    PHASES,
    LayerFacts,
    LayerModel,
    Operation,
    Workload,
)
from boundmark.problems.parameter import ChoiceParameter, IntegerParameter
from boundmark.problems.problem import Problem

MEMORY_PERCENT = 90

ROOFLINE, MEASURED = "roofline", "measured"


@dataclass(frozen=True)
class TextParameter:
    """Devices in a line, or a cluster; or a pattern."""

    name: str
    summary: str
    metavar: str
    expected: str
    default_text: str
    default: str = ""

    separator = ";"

    def read(self, text: str) -> str:
        """Return the text."""
        return self.check(text)

    def check(self, value: object) -> str:
        """Return the value if it is a text; its content is checked when the model is read."""
        if not isinstance(value, str) or len(value) > 1000:
            raise InvalidInputError(f"{self.name} is {quoted(value)}; expected {self.expected}.")
        return value


def _adapt(source: ComputationGraph | LayerModel | LayerChain) -> LayerModel | LayerChain:
    return GraphLayers(source) if isinstance(source, ComputationGraph) else source


def _instance(
    source: LayerModel | LayerChain, *, goal: str, device_order: str, micro_batches: int,
    devices: str, memory_percent: int, phase: str, batch: int, context: int, weight_bits: int,
    cache_bits: int, costs: str, layers: str,
) -> LayersInstance:  # fmt: skip
    """Return an instance, together with the given options that its chain was made with."""
    given: dict[str, int | str] = {
        "devices": devices, "memory_percent": memory_percent, "phase": phase, "batch": batch,
        "context": context, "weight_bits": weight_bits, "cache_bits": cache_bits, "costs": costs,
        "layers": layers,
    }  # fmt: skip
    defaults = {one.name: one.default for one in PROBLEM.parameters}
    made_of = {name: value for name, value in given.items() if value != defaults[name]}
    if isinstance(source, LayerChain):
        if made_of:
            raise InvalidInputError(
                f"{next(iter(made_of))} is given, and the layers come with times; expected none."
            )
        return LayersInstance(source, goal, device_order, micro_batches)
    fleet = read_fleet(devices)
    measured_on = tuple(kind.name for kind in fleet.kinds) if costs == MEASURED else ()
    if layers and not isinstance(source, GraphLayers):
        raise InvalidInputError(
            f"layers is {quoted(layers)}, and the model's layers are known; expected a graph."
        )
    workload = Workload(phase, batch, context, weight_bits, cache_bits, measured_on, layers)
    chain = chain_of(source, workload, fleet, memory_percent)
    return LayersInstance(replace(chain, made_of=made_of), goal, device_order, micro_batches)


PROBLEM = Problem(
    name="layers",
    description="Cut a chain of layers into stages for devices that differ, within their memory.",
    sources=(LayerModel, LayerChain, ComputationGraph),
    source_words="a language model's configuration (config.json or GGUF), a table of layers, or a "
    "model",
    adapt=_adapt,
    parameters=(
        ChoiceParameter(
            "goal",
            "what is minimised: the slowest stage, the time of one input, or that of all "
            "micro-batches",
            GOALS,
            GOALS[0],
        ),
        ChoiceParameter(
            "device_order",
            "whether stages have to follow the order of the devices",
            ORDERS,
            ORDERS[0],
        ),
        IntegerParameter(
            "micro_batches",
            "number of micro-batches of a makespan, and the most in flight in training",
            1,
            8,
        ),
        TextParameter(
            "devices",
            "devices that stages run on, such as 2xA100-80GB,4xA10, or a cluster",
            "DEVICES",
            EXPECTED,
            "those of the model's file",
        ),
        IntegerParameter(
            "memory_percent",
            "percent of each device's memory that layers may take",
            1,
            MEMORY_PERCENT,
        ),
        ChoiceParameter(
            "phase",
            "which phase of a language model runs; as-given for graphs and tables, which have "
            "their times",
            PHASES,
            AS_GIVEN,
        ),
        IntegerParameter(
            "batch",
            "number of sequences in a micro-batch; needed with a language model's configuration",
            1,
            0,
            "none",
        ),
        IntegerParameter(
            "context",
            "number of tokens of a sequence, or of those in the cache when decoding; needed with a "
            "language model's configuration",
            1,
            0,
            "none",
        ),
        IntegerParameter(
            "weight_bits", "bits of each parameter", 1, 0, "those of the model's file"
        ),
        IntegerParameter("cache_bits", "bits of each number in the key-value cache", 1, 0, "16"),
        ChoiceParameter(
            "costs",
            "where times of a model's layers come from; measured ones need aiconfigurator-core",
            (ROOFLINE, MEASURED),
            ROOFLINE,
        ),
        TextParameter(
            "layers",
            "regular expression for the names of operators that are one layer, for graphs",
            "PATTERN",
            "a regular expression",
            "cut where one tensor passes",
        ),
    ),
    instance=_instance,
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
    "LayerFacts",
    "LayerModel",
    "LayersInstance",
    "Operation",
    "Stage",
    "StageLoad",
    "Workload",
]
