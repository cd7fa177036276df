"""Models as chains of layers with operations, traffic and memory, before a device is chosen."""

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from boundmark.problems.computation_graph import ComputationGraph
from boundmark.problems.errors import InvalidInputError, quoted
from boundmark.problems.operator_types import FREE_OP_TYPES

PREFILL, DECODE, TRAINING = "prefill", "decode", "training"
AS_GIVEN = "as-given"
PHASES = (AS_GIVEN, PREFILL, DECODE, TRAINING)

# Bytes in training in mixed precision with Adam ([ZERO20], Section 3.1): those of a parameter
# with its gradient, and those of its states of the optimiser.
PARAMETER_BYTES, OPTIMIZER_BYTES = 4, 12

# A backward pass takes twice the arithmetic of a forward pass.
TRAINING_FACTOR = 3


@dataclass(frozen=True)
class Workload:
    """The workload of a model: those of its options that the user has given.

    Attributes
    ----------
    phase
        One of `PHASES`.
    batch
        Sequences of a micro-batch; 0 if nobody says.
    context
        Tokens of a sequence: all of them in prefill and training, those in the cache in decoding; 0
        if nobody says.
    weight_bits, cache_bits
        Bits of a parameter and of an entry of the cache; 0 for what the model's file says, and for
        16.
    measured_on
        Names of devices for which measured times are asked for; none for those of the roofline.
    pattern
        Regular expression of what operators of one layer have in their names, for graphs; empty for
        layers between places that a single tensor passes.
    tensor_parallel
        Over how many devices each layer is split.
    experts_over
        Over how many replicas of the model its experts are divided, each of which runs such a
        batch.
    optimizer_over
        Over how many replicas the states of an optimiser are divided in training.
    recomputes
        Whether training keeps no more of each layer than its input, and runs it again.
    """

    phase: str = AS_GIVEN
    batch: int = 0
    context: int = 0
    weight_bits: int = 0
    cache_bits: int = 0
    measured_on: tuple[str, ...] = ()
    pattern: str = ""
    tensor_parallel: int = 1
    experts_over: int = 1
    optimizer_over: int = 1
    recomputes: bool = False

    def require(self, needs_context: bool = True) -> None:
        """Refuse a workload without an option that a transformer's costs depend on."""
        if self.phase == AS_GIVEN:
            raise InvalidInputError(
                "phase is not given; expected prefill, decode or training for a model's "
                "configuration."
            )
        if self.batch == 0:
            raise InvalidInputError("batch is not given; expected the sequences of a micro-batch.")
        if self.context == 0 and needs_context:
            raise InvalidInputError("context is not given; expected the tokens of a sequence.")


# Nothing is given: the bits of a model's file count.
USUAL = Workload()


class Operation(NamedTuple):
    """A launched kernel's arithmetic operations, and the bytes that it reads and writes.

    `weights` counts the bytes that are parameters.
    """

    flops: float
    moved: float
    weights: float = 0.0


@dataclass(frozen=True)
class LayerFacts:
    """The operations, traffic and memory of a layer in one pass.

    If it is split over several devices (tensor parallelism), they are those of all together, so
    that what each of them does or keeps whole counts as often as there are devices.

    Attributes
    ----------
    operations
        One after another.
    weights
        Bytes that stay: parameters, state of an optimiser, cache.
    held
        Bytes for each micro-batch in flight.
    output
        Bytes that go to the next layer, in all directions together.
    parameters
        Bytes of its parameters alone, as a tool that loads it counts them.
    seconds
        By name of a device: measured times, which count instead of operations.
    operators
        Names of a graph's operators in it, for devices with measured times of operators.
    reductions
        All-reduces of a pass, if the layer is split over several devices.
    reduced
        Bytes of the tensors that they add up, all of them together.
    experts
        What the last operation does with experts that not all tokens meet, where there are some.
    expert_weights
        Bytes that stay of these.
    expert_count
        How many experts it has; 0 for none.
    exchanges, exchanged
        How often a pass sends tokens to their experts or back, and the bytes of all of them
        together.
    gradients
        How many parameters a replica has a gradient of, in training.
    live
        Bytes that it needs while it runs again for its backward pass.
    """

    name: str
    operations: tuple[Operation, ...]
    weights: int
    held: int
    output: int
    parameters: int = 0
    seconds: Mapping[str, float] = field(default_factory=dict)
    operators: tuple[str, ...] = ()
    reductions: int = 0
    reduced: float = 0.0
    experts: Operation | None = None
    expert_weights: int = 0
    expert_count: int = 0
    exchanges: int = 0
    exchanged: float = 0.0
    gradients: int = 0
    live: int = 0


class LayerModel(ABC):
    """A model, as read from a file, whose layers depend on the workload.

    Attributes
    ----------
    dtype
        In which it computes.
    notes
        What was taken for granted, as sentences.
    beside
        Modules with parameters that are in no layer, before the repeated ones and behind.
    """

    dtype: str = "float16"
    notes: tuple[str, ...] = ()
    beside: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())

    @property
    def pattern(self) -> tuple[str, ...]:
        """Each repeated layer in the letters of Megatron-LM's patterns; empty if one has none."""
        return ()

    @property
    def has_times(self) -> bool:
        """Whether its layers come with times on devices."""
        return False

    @property
    def outer(self) -> tuple[int, int]:
        """The number of layers before and after the repeated ones."""
        return (0, 0)

    def outer_in(self, workload: Workload) -> tuple[int, int]:
        """Return the same for a workload, if it depends on one."""
        return self.outer

    def unused(self, workload: Workload) -> int:
        """Return how many layers behind the repeated ones a workload does without."""
        return 0

    def usual_workload(self) -> Workload | None:
        """Return what is taken of the workload where nobody says; None if it has its own."""
        return None

    def read_as(self, family: str) -> "LayerModel":
        """Return the model, read as of a family if one is named; for models without their own.

        Raises
        ------
        InvalidInputError
            If the model's own family is known.
        """
        if family:
            raise InvalidInputError(
                f"family is {quoted(family)}, and what the model's layers have is known; expected "
                "none."
            )
        return self

    def describe(self, workload: Workload = USUAL) -> dict[str, str]:
        """Return what people ask of the model before they run it, in words; may be empty."""
        return {}

    @abstractmethod
    def layers(self, workload: Workload) -> tuple[LayerFacts, ...]:
        """Return the layers in their order.

        Raises
        ------
        InvalidInputError
            If the workload leaves something open, or the model cannot do it.
        """

    def tied(self, workload: Workload) -> tuple[tuple[int, int, int], ...]:
        """Return pairs of layers that share parameters, with the number of bytes."""
        return ()

    def joined(self) -> tuple[int, ...]:
        """Return the layers that have to share a stage with the layer before them."""
        return ()


@dataclass(frozen=True, eq=False)
class GraphLayers(LayerModel):
    """Operators in topological order, cut wherever one tensor passes, or by their names."""

    graph: ComputationGraph

    @property
    def dtype(self) -> str:  # type: ignore[override]
        """The graph's main element type."""
        return self.graph.dtype

    @property
    def notes(self) -> tuple[str, ...]:  # type: ignore[override]
        """Assumptions made when the graph was read."""
        return self.graph.notes

    def layers(self, workload: Workload) -> tuple[LayerFacts, ...]:
        """Return a layer for each run of operators between two such places, or for each name."""
        if workload.phase != AS_GIVEN or workload.batch or workload.context or workload.measured_on:
            raise InvalidInputError(
                "phase, batch, context or costs are given, and a graph has its own; expected none."
            )
        if workload.pattern:
            return self._by_pattern(workload.pattern)
        graph = self.graph
        order = graph.dag.topological_order.tolist()
        place = {node: at for at, node in enumerate(order)}
        last = list(range(len(order)))
        for u, w in graph.dag.edge_pairs().tolist():
            last[place[u]] = max(last[place[u]], place[w])
        found, first = [], 0
        waiting: set[int] = set()
        for at, node in enumerate(order):
            waiting = {p for p in waiting if last[p] > at}
            if last[at] > at:
                waiting.add(at)
            is_end = at == len(order) - 1
            if is_end or len(waiting) == 1:
                through = 0 if is_end else int(graph.output_bytes[order[next(iter(waiting))]])
                found.append(self._layer(order[first : at + 1], through, graph.names[node]))
                first = at + 1
        return tuple(found)

    def _by_pattern(self, pattern: str) -> tuple[LayerFacts, ...]:
        """Return a layer for each text that the pattern finds in names, in the order of the graph.

        Operators whose names have none are in the last layer that they read something of; before
        the first one and behind the last one, they are a layer each.
        """
        graph = self.graph
        try:
            found = [re.search(pattern, name) for name in graph.names]
        except re.error as error:
            raise InvalidInputError(
                f"layers is {quoted(pattern)}; expected a regular expression: {error}."
            ) from error
        order = graph.dag.topological_order.tolist()
        number: dict[str, int] = {}
        for v in order:
            if match := found[v]:
                number.setdefault(match[0], 1 + len(number))
        if not number:
            raise InvalidInputError(
                f"layers is {quoted(pattern)}, which is in no operator's name; expected a pattern "
                f"for names such as {quoted(graph.names[order[-1]])}."
            )
        last = len(number)
        is_before = [match is not None for match in found]
        for v in reversed(order):
            is_before[v] |= any(is_before[w] for w in graph.dag.consumers_of(v).tolist())
        layer = [0] * len(order)
        for v in order:
            read = [layer[u] for u in graph.dag.producers_of(v).tolist()]
            match = found[v]
            layer[v] = number[match[0]] if match else max(read, default=0)
            if not is_before[v] and layer[v] == last:
                layer[v] = last + 1
            if max(read, default=0) > layer[v]:
                raise InvalidInputError(
                    f"operator {quoted(graph.names[v])} reads what a later layer computes; "
                    "expected layers that run one after another."
                )
        crossing = [0] * (last + 2)
        for u in order:
            until = max((layer[w] for w in graph.dag.consumers_of(u).tolist()), default=0)
            for at in range(layer[u], until):
                crossing[at] += int(graph.output_bytes[u])
        names = ["begin", *number, "end"]
        members: list[list[int]] = [[] for _ in names]
        for v in order:
            members[layer[v]].append(v)
        return tuple(
            self._layer(nodes, out, name)
            for nodes, out, name in zip(members, crossing, names, strict=True)
            if nodes
        )

    def _layer(self, nodes: list[int], output: int, name: str) -> LayerFacts:
        graph = self.graph
        operations = tuple(
            Operation(
                float(graph.flops[v]),
                float(graph.read_bytes[v] + graph.param_bytes[v] + graph.output_bytes[v]),
            )
            for v in nodes
            if graph.op_types[v] not in FREE_OP_TYPES
        )
        weights = sum(int(graph.param_bytes[v]) for v in nodes)
        operators = tuple(graph.names[v] for v in nodes)
        return LayerFacts(name, operations, weights, 0, output, weights, operators=operators)
