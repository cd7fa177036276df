"""`layers`: a chain of layers cut into stages, for devices that differ and have limited memory."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from boundmark.problems.arrays import frozen
from boundmark.problems.computation_graph import ComputationGraph
from boundmark.problems.devices import substitutes
from boundmark.problems.devices.device_listing import listed_devices
from boundmark.problems.errors import InvalidInputError, quoted
from boundmark.problems.labels import Naming
from boundmark.problems.layers.chain import MOST_DEVICES, LayerChain, Origin
from boundmark.problems.layers.costs import MEASURED, ROOFLINE, chain_of, cost_words
from boundmark.problems.layers.fleet import EXPECTED, read_fleet
from boundmark.problems.layers.flights import EXPECTED as EXPECTED_IN_FLIGHT
from boundmark.problems.layers.flights import INTERLEAVED, ONE_F_ONE_B, STAGES, read_in_flight
from boundmark.problems.layers.host import check_goal, is_of_hosts, unused, with_host
from boundmark.problems.layers.instance import (
    GOALS,
    LATENCY,
    ORDERS,
    ROUND,
    LayerAssignment,
    LayersInstance,
    Stage,
    StageLoad,
)
from boundmark.problems.layers.measured_stages import EXPECTED as EXPECTED_STAGE_TIMES
from boundmark.problems.layers.measured_stages import scaled_to_stages
from boundmark.problems.layers.model import (
    AS_GIVEN,
    PHASES,
    TRAINING,
    GraphLayers,
    LayerFacts,
    LayerModel,
    Operation,
    Workload,
)
from boundmark.problems.layers.parallel import PARALLEL, Question
from boundmark.problems.layers.tools.formats import (
    FORMS,
    NO_RULES,
    TOOLS,
    read_text,
    tool_of,
    under_rules,
)
from boundmark.problems.parameter import ChoiceParameter, IntegerParameter, TextParameter
from boundmark.problems.problem import Problem, Row, SolutionTable, TextForms
from boundmark.problems.stored_instance import numbers_as_names

MEMORY_PERCENT = 90

# Language models run on this device if none is given.
USUAL_DEVICE = "H100"


class RulesParameter(ChoiceParameter):
    """A choice among more names than a line of `--help` has room for."""

    @property
    def metavar(self) -> str:
        """The placeholder for a choice; the names are in the summary."""
        return "TOOL"


def _adapt(source: ComputationGraph | LayerModel | LayerChain) -> LayerModel | LayerChain:
    return GraphLayers(source) if isinstance(source, ComputationGraph) else source


def _instance(
    source: LayerModel | LayerChain, *, goal: str, device_order: str, micro_batches: int,
    devices: str, memory_percent: int, phase: str, batch: int, context: int, weight_bits: int,
    cache_bits: int, costs: str, layers: str, tensor_parallel: int, rules: str, in_flight: str,
    virtual_stages: int, family: str, measured: str,
) -> LayersInstance:  # fmt: skip
    """Return an instance, together with the options that its chain was made with."""
    taken: list[str] = []
    devices = listed_devices(devices)
    if isinstance(source, LayerModel):
        source = source.read_as(family)
        taken += source.notes if family else ()
    if isinstance(source, LayerModel) and (usual := source.usual_workload()):
        phase, batch, context = _completed(usual, phase, batch, context, taken)
    rule = _in_flight(in_flight, phase, goal, micro_batches, virtual_stages)
    options = (goal, device_order, micro_batches, rule, virtual_stages)
    workload = Workload(phase, batch, context, weight_bits, cache_bits, pattern=layers)
    if not devices and isinstance(source, LayerModel) and source.usual_workload():
        devices = _enough_devices(source, workload, tensor_parallel, memory_percent, rules, options)
        enough = "memory enough" + " for an even split" * (virtual_stages > 1)
        taken.append(f"devices are not given; the fewest with {enough} are taken, {devices}")
    given: dict[str, int | str] = {
        "devices": devices, "memory_percent": memory_percent, "phase": phase, "batch": batch,
        "context": context, "weight_bits": weight_bits, "cache_bits": cache_bits, "costs": costs,
        "layers": layers, "tensor_parallel": tensor_parallel, "family": family,
        "measured": measured,
    }  # fmt: skip
    defaults = {one.name: one.default for one in PROBLEM.parameters}
    made_of = {name: value for name, value in given.items() if value != defaults[name]}
    if isinstance(source, LayerChain):
        if made_of:
            raise InvalidInputError(
                f"{next(iter(made_of))} is given, and the layers come with times; expected none."
            )
        return LayersInstance(under_rules(source, rules, virtual_stages), *options)
    fleet, host = with_host(read_fleet(devices, tensor_parallel), rules)
    check_goal(host, goal)
    taken += unused(fleet, rules)
    if layers and not isinstance(source, GraphLayers):
        raise InvalidInputError(
            f"layers is {quoted(layers)}, and the model's layers are known; expected a graph."
        )
    if costs == MEASURED:
        workload = replace(workload, measured_on=tuple(kind.model for kind in fleet.kinds))
    chain = chain_of(source, workload, fleet, memory_percent, host)
    if not source.has_times and costs != MEASURED:
        for kind in dict.fromkeys(fleet.kinds):
            taken += substitutes(kind, source.dtype)
    words = cost_words(fleet, costs, source, host) + (f", read as {family}" if family else "")
    if rules != NO_RULES and TOOLS[rules].is_input_on_host and is_of_hosts(fleet):
        # A host that is all there is does read the input, so that rules only seem to save.
        words += ", the input layer left out"
    if host is not None and measured:
        raise InvalidInputError(
            "measured is given, and a host is among the devices; expected none of the two, since "
            "what a stage has taken does not say what its host has."
        )
    if measured:
        chain, note = scaled_to_stages(chain, measured)
        words += f", scaled to {measured}"
        taken.append(note)
    notes = *taken, *fleet.notes, *chain.origin.notes
    origin = Origin(
        words, source.describe(workload), notes, phase, batch, context, source.unused(workload),
        source.beside, source.pattern,
    )  # fmt: skip
    chain = under_rules(replace(chain, made_of=made_of, origin=origin), rules, virtual_stages)
    found = LayersInstance(chain, *options)
    found.check_memory()
    return found


def _completed(
    usual: Workload, phase: str, batch: int, context: int, taken: list[str]
) -> tuple[str, int, int]:
    """Return phase, batch and context, the usual ones where none is given, and say so."""
    if phase == AS_GIVEN:
        phase = usual.phase
        taken.append(f"phase is not given; {phase} is taken")
    if not batch:
        batch = usual.batch
        taken.append(f"batch is not given; {batch} is taken, sequences of a micro-batch")
    if not context and usual.context:
        context = usual.context
        taken.append(f"context is not given; {context:,} is taken, tokens of a sequence")
    return phase, batch, context


def _enough_devices(
    source: LayerModel, workload: Workload, tensor_parallel: int, memory_percent: int,
    rules: str, options: tuple[str, str, int, int | str, int],
) -> str:  # fmt: skip
    """Return the fewest of the usual devices that have memory enough."""
    groups = max(1, MOST_DEVICES // tensor_parallel)
    many = read_fleet(f"{groups * tensor_parallel}x{USUAL_DEVICE}", tensor_parallel)
    chain = chain_of(source, workload, many, memory_percent)
    chain = under_rules(chain, rules, options[-1])
    count = LayersInstance(chain, *options).fewest_devices()
    return f"{count * tensor_parallel}x{USUAL_DEVICE}"


def _in_flight(
    given: str, phase: str, goal: str, micro_batches: int, virtual_stages: int
) -> int | str:
    """Return how many micro-batches a stage holds: as given, or what a phase and a goal need."""
    if given:
        return read_in_flight(given)
    if phase == TRAINING:
        return INTERLEAVED if virtual_stages > 1 else ONE_F_ONE_B
    # Every stage has the caches of all that is decoded in turn.
    return {LATENCY: 1, ROUND: micro_batches}.get(goal, STAGES)


def _assignment(rows: Sequence[Row], instance: LayersInstance) -> LayerAssignment:
    found = dict.fromkeys(range(instance.nodes), 0)
    for layer, device in rows:
        found[layer] = device
    return LayerAssignment(frozen(list(found.values())))


def _read(value: Mapping[str, Any]) -> LayersInstance | Question:
    """Return the instance of a document."""
    kind = Question if value.get("question") == PARALLEL else LayersInstance
    return kind.from_json(value)


def _names(instance: LayersInstance | Question) -> Sequence[str]:
    if isinstance(instance, Question):
        return numbers_as_names(instance.layers)
    return instance.chain.names


def _tick(instance: LayersInstance | Question) -> str:
    return "ns" if isinstance(instance, Question) else instance.chain.tick


def _renamed(
    instance: LayersInstance | Question, names: Sequence[str], tick: str
) -> LayersInstance | Question:
    """Return the instance with other names; those of a question's layers are numbers."""
    if isinstance(instance, Question):
        return instance
    return replace(instance, chain=replace(instance.chain, names=tuple(names), tick=tick))


TABLE = SolutionTable(
    columns=("layer", "device"),
    largest=MOST_DEVICES,
    solution=_assignment,
    rows=lambda solution: enumerate(solution.devices.tolist()),
    value_names=lambda instance: {"device": instance.chain.device_names},
    says_all=lambda solution: not solution.configuration,
    texts=TextForms(read_text, FORMS, lambda text: {"rules": tool_of(text) or NO_RULES}),
)

NAMING = Naming(
    names=_names,
    rename=_renamed,
    tick=_tick,
)

PROBLEM = Problem(
    name="layers",
    description="Cut a chain of layers into stages for devices that differ, within their memory.",
    sources=(LayerModel, LayerChain, ComputationGraph, Question),
    source_words="a language model's configuration (config.json or GGUF), a table of layers, or a "
    "model",
    adapt=_adapt,
    parameters=(
        ChoiceParameter(
            "goal",
            "what is minimised: the slowest stage, the time of one input, that of all "
            "micro-batches, or the time between two tokens of as many micro-batches as are decoded "
            "in turn",
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
            "number of micro-batches of a makespan or round, and the most in flight",
            1,
            8,
        ),
        TextParameter(
            "in_flight",
            "micro-batches in flight that each stage has memory for: a number; stages, one for "
            "each stage; 1f1b, zb-h2 or interleaved, schedules of training",
            "NUMBER|RULE",
            EXPECTED_IN_FLIGHT,
            "stages; 1 if the goal is latency, all if it is round; 1f1b or interleaved in training",
            check_text=read_in_flight,
        ),
        IntegerParameter(
            "virtual_stages",
            "stages of each device, which take turns, as in interleaved schedules of training",
            1,
            1,
        ),
        TextParameter(
            "devices",
            "devices that stages run on, such as 2xA100-80GB,4xA10 or 3090,cpu:64GiB, or a cluster",
            "DEVICES",
            EXPECTED,
            "for a language model, as many H100 as it needs",
        ),
        IntegerParameter(
            "tensor_parallel",
            "number of equal devices in a row that act as one and split each layer among them",
            1,
            1,
        ),
        IntegerParameter(
            "memory_percent",
            "percent of each device's memory that layers may take",
            1,
            MEMORY_PERCENT,
        ),
        ChoiceParameter(
            "phase",
            "which phase of a language model runs, by default decode; as-given for graphs and "
            "tables, which have their times",
            PHASES,
            AS_GIVEN,
        ),
        IntegerParameter(
            "batch",
            "number of sequences in a micro-batch of a language model",
            1,
            0,
            "1",
        ),
        IntegerParameter(
            "context",
            "number of tokens of a sequence, or of those in the cache when decoding, of a language "
            "model",
            1,
            0,
            "4096",
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
        RulesParameter(
            "rules",
            "tool whose rules splits have to follow, e.g. that the embedding is with a layer: "
            f"{', '.join(TOOLS)}",
            (NO_RULES, *TOOLS),
            NO_RULES,
        ),
        TextParameter(
            "layers",
            "regular expression for the names of operators that are one layer, for graphs",
            "PATTERN",
            "a regular expression",
            "cut where one tensor passes",
        ),
        TextParameter(
            "family",
            "family, such as llama, that a language model's configuration is read as, for one "
            "whose model_type is not known",
            "NAME",
            "a known model_type",
            "the model's own",
        ),
        TextParameter(
            "measured",
            "file with what stages have taken, by which each device's times are scaled: columns "
            "layers and seconds, a row for each stage, and perhaps device",
            "FILE",
            EXPECTED_STAGE_TIMES,
            "times as predicted",
        ),
    ),
    instance=_instance,
    instance_from_json=_read,
    solution_from_json=LayerAssignment.from_json,
    immediate={
        "layer-reach": {"steps": 400_000},
        "layer-choices": {"steps": 400_000},
        "interleave": {},
        "layer-load": {},
    },
    rounds=(("layer-reach", "layer-choices", "interleave", "layer-load"),),
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
    "Question",
    "Stage",
    "StageLoad",
    "Workload",
]
